"""What docs/front-end.md promises of a stream and of a player's seats."""

import asyncio

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated
from wallet_service.servicer import WalletServicer


async def answers(stream: Stream, **command) -> tuple[list[int], pb.CommandResult]:
    """Sends a command; returns the versions of the updates that come before its result, and the result."""
    stream.requests.put_nowait(pb.PlayRequest(**command))
    versions = []
    async with asyncio.timeout(30):
        while not (answer := await stream.answers.get()).HasField("result"):
            versions.append(answer.update.version)
    return versions, answer.result


@simulated
async def test_the_update_of_an_accepted_command_comes_before_its_result(tmp_path):
    """Whatever it is; a repetition has a result only, and its update came with the first."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        streams = {name: Stream(game, name) for name in ("ada", "bea", "cleo")}
        seen = {name: (await stream.update()).version for name, stream in streams.items()}
        for number in range(12):
            who = game.on_turn
            act = game.act_request(game.choose({option.verb: 1 for option in game.hand.options}))
            act.table, act.request_id = game.id, f"n{number}"
            versions, result = await answers(streams[who], act=act)
            assert not result.reason, result
            seen[who] = max(seen[who], *versions)
            assert result.version in versions
            again, repeated = await answers(streams[who], act=act)
            assert (repeated.version, result.version in again) == (result.version, False)
            await game.until(lambda t: t.hand is not None and t.hand.turn_seat and t.hand.hand_no >= 1)
        who = game.on_turn
        for name, command in (
            ("set_preferences", pb.SetPreferencesRequest(table=game.id, auto_post=False, request_id="p")),
            ("sit_out", pb.SitOutRequest(table=game.id, request_id="o")),
            ("sit_in", pb.SitInRequest(table=game.id, request_id="i")),
            ("leave_seat", pb.LeaveSeatRequest(table=game.id, request_id="l")),
        ):
            versions, result = await answers(streams[who], **{name: command})
            assert not result.reason, result
            assert result.version in versions
        nothing = pb.SetPreferencesRequest(table=game.id, request_id="same")
        other = next(name for name in streams if name != who and game.table.of(name))
        await asyncio.sleep(0.01)
        while not streams[other].answers.empty():
            streams[other].answers.get_nowait()
        assert (await answers(streams[other], set_preferences=nothing))[0] == []
        for stream in streams.values():
            await stream.close()


@simulated
async def test_who_ends_their_side_of_a_stream_goes_on_receiving(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        who = await game.until_turn()
        stream = Stream(game, who)
        await stream.update()
        stream.requests.put_nowait(None)
        await game.act()
        assert (await stream.update()).version == game.actor.head.version
        await stream.close()


@simulated
async def test_a_players_seats_are_found_in_their_account(tmp_path):
    """Every table where his chips are, with the sitting that the table shows as his own; none where he left."""
    async with MemorySystem(tmp_path) as system:
        games = [Game(system, table) for table in ("t-1", "t-2", "t-3")]
        for game in games:
            await game.open()
            await game.operate(pb.PauseTableRequest(reason="seating"))
        await games[0].seat("bea")
        for game in games:
            await game.seat("ada")
        await games[1].send("ada", pb.LeaveSeatRequest())
        await games[1].until(lambda table: not table.sittings)
        app = system.service("wallet")
        servicer = WalletServicer(app._runtime.log, app.books, app)
        request = wallet.GetAccountRequest(currency="EUR")
        account = await system.calls(servicer, "GetAccount", request, "ada")
        found = {escrow.table: escrow.sitting_no for escrow in account.escrows}
        assert set(found) == {"t-1", "t-3"}
        for game in (games[0], games[2]):
            stream = Stream(game, "ada")
            update = await stream.update()
            assert update.mine.sitting_no == found[game.id]
            assert update.view.seats[update.mine.seat - 1].sitting_no == found[game.id]
            await stream.close()

"""A log that refuses, may lose what it takes, or is nearly full: everybody is told, and nobody is folded for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_core import events as ev
from stud_core.presets import WILLIAM_HILL
from stud_eventlog import keys
from stud_service.refusals import Refused
from stud_topology.services import SERVICES
from stud_wire.commits import decode_commit
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated
from wallet_service.servicer import WalletServicer

CLOCK_MS = WILLIAM_HILL.action_clock_ms
REFUSALS = {
    "READONLY": "LOG_READONLY",
    "OOM": "LOG_OUT_OF_MEMORY",
    "MISCONF": "LOG_DISK",
    "NOREPLICAS": "LOG_NO_REPLICAS",
    "NOPERM": "LOG_NOT_PERMITTED",
    "WHATEVER": "LOG_REFUSES_WRITES",
}
EACH = pytest.mark.parametrize("code", REFUSALS)
NOTICED_S = 5


@asynccontextmanager
async def playing(tmp_path: Path, **fields: Any) -> AsyncIterator[Game]:
    system = MemorySystem(tmp_path)
    system.watching = True
    async with system:
        game = Game(system)
        await game.begin(3, **fields)
        yield game
        system.store.refusal, system.store.problems, system.store.used_ratio = None, [], 0.0


async def shown(game: Game) -> set[tuple[str, str]]:
    """Why the table stands, as GetTable and the lobby say it."""
    view = (await game.system.call("GetTable", pb.GetTableRequest(table=game.id), "eve")).update.view
    (line,) = (await game.system.call("ListTables", pb.ListTablesRequest(), "eve")).tables
    assert line.paused == view.paused
    return {(view.paused, view.waiting_for)}


def timeouts(game: Game) -> list[Any]:
    stored = game.system.store.data.logs[game.actor.stream]
    events = [event for commit, _ in stored for event in decode_commit(commit.body).events]
    return [e for e in events if isinstance(e, ev.ActionTaken) and e.by is ev.By.TIMEOUT]


@EACH
def test_a_log_that_refuses_is_told_where_nobody_acts_and_folds_nobody(tmp_path, code):
    @simulated
    async def run() -> None:
        async with playing(tmp_path) as game:
            await game.until_turn(street=4)
            eve = Stream(game, "eve", watch=True)
            await eve.update()
            game.system.store.refusal = (code, "no more")
            with capture_logs() as lines:
                async with asyncio.timeout(NOTICED_S):
                    told = await eve.update()
                assert (told.view.paused, told.view.waiting_for) == (REFUSALS[code], "PAUSED")
                assert (told.version, told.reset, told.current) == (game.actor.head.version, True, True)
                assert await shown(game) == {(REFUSALS[code], "PAUSED")}
                await asyncio.sleep(150)  # long after every deadline
            critical = [line for line in lines if line["event"] == "log_trouble" and line["log_level"] == "critical"]
            assert {line["code"] for line in critical} == {REFUSALS[code]}
            assert all(code in line["why"] and line["help"] for line in critical)
            assert 2 * len(SERVICES) <= len(critical) <= 3 * len(SERVICES)  # each service, each minute
            game.system.store.refusal = None
            async with asyncio.timeout(NOTICED_S):
                again = await eve.update()
                while not again.events:
                    again = await eve.update()
            assert [event.WhichOneof("body") for event in again.events] == ["clock_restarted"]
            assert CLOCK_MS - 100 <= again.view.turn.deadline_ms - again.sent_at_ms <= CLOCK_MS
            assert (again.view.paused, again.view.waiting_for) == ("", "")
            await game.play(2, STAY)
            assert timeouts(game) == []
            await eve.close()

    run()


@simulated
async def test_who_acts_meanwhile_is_told_why_and_their_bet_counts_when_they_send_it_again(tmp_path):
    async with playing(tmp_path) as game:
        who = await game.until_turn(street=4)
        game.system.store.refusal = ("READONLY", "You can't write against a read only replica.")
        await asyncio.sleep(NOTICED_S)
        request = game.act_request(game.choose(STAY))
        request.request_id = "again"
        with pytest.raises(Refused) as refused:
            await game.send(who, request)
        assert refused.value.reason == "LOG_UNAVAILABLE"
        assert "LOG_READONLY" in refused.value.text
        assert "replica" not in refused.value.text  # the server's own words are for operators
        game.system.store.refusal = None
        await asyncio.sleep(NOTICED_S)
        assert (await game.send(who, request)).version == game.actor.head.version
        await game.play(1, STAY)


@EACH
def test_between_hands_none_starts_and_none_is_tried(tmp_path, code):
    @simulated
    async def run() -> None:
        async with playing(tmp_path, hand_pause_ms=3000) as game:
            await game.play(1, STAY)
            game.system.store.refusal = (code, "no more")
            await asyncio.sleep(NOTICED_S)
            assert await shown(game) == {(REFUSALS[code], "PAUSED")}
            with capture_logs() as lines:
                await asyncio.sleep(100)
            assert len(lines) < 4 * 12 + 4 * 60  # the other services' readers go on trying, with growing pauses
            assert not [line for line in lines if line["event"] == "own_command_refused"]
            game.system.store.refusal = None
            await game.play(2, STAY)

    run()


HELD: dict[str, dict[str, Any]] = {
    "LOG_MEMORY": {"used_ratio": 0.86},
    "LOG_VOLATILE": {"problems": ["appendonly is no, must be yes"]},
}


@pytest.mark.parametrize("code", HELD)
def test_where_it_may_not_keep_more_the_hand_is_finished_and_none_begun(tmp_path, code):
    @simulated
    async def run() -> None:
        async with playing(tmp_path) as game:
            await game.until_turn(street=4)
            for name, value in HELD[code].items():
                setattr(game.system.store, name, value)
            await asyncio.sleep(NOTICED_S)
            assert await shown(game) == {(code, "")}
            await game.play(1, STAY)
            await asyncio.sleep(60)
            assert await shown(game) == {(code, "PAUSED")}
            assert game.table.ended_hand == game.table.hand_no == 1
            await game.send("ada", pb.SitOutRequest())  # what is no hand goes on
            game.system.store.used_ratio, game.system.store.problems = 0.84, []
            await game.send("ada", pb.SitInRequest())
            await game.play(2, STAY)

    run()


@simulated
async def test_an_operators_pause_and_a_halt_are_not_hidden_for_longer_than_the_trouble(tmp_path):
    async with playing(tmp_path) as game:
        await game.operate(pb.PauseTableRequest(reason="lunch"))
        game.system.store.refusal = ("OOM", "command not allowed")
        await asyncio.sleep(NOTICED_S)
        assert await shown(game) == {("LOG_OUT_OF_MEMORY", "PAUSED")}
        game.system.store.refusal = None
        await asyncio.sleep(NOTICED_S)
        assert {paused for paused, _ in await shown(game)} == {"lunch"}


@simulated
async def test_a_log_that_is_away_is_told_to_who_watches(tmp_path):
    async with playing(tmp_path) as game:
        await game.until_turn(street=4)
        eve = Stream(game, "eve", watch=True)
        await eve.update()
        game.system.store.stop()
        async with asyncio.timeout(NOTICED_S):
            told = await eve.update()
        assert (told.view.paused, told.view.waiting_for) == ("LOG_AWAY", "PAUSED")
        await asyncio.sleep(60)
        game.system.store.start()
        await game.play(1, STAY)
        assert timeouts(game) == []
        await eve.close()


@simulated
async def test_the_wallet_refuses_at_once_and_keeps_its_memory(tmp_path):
    async with playing(tmp_path) as game:
        await game.operate(pb.PauseTableRequest(reason="lunch"))
        game.system.store.refusal = ("OOM", "command not allowed")
        await asyncio.sleep(NOTICED_S)
        app = game.system.service("wallet")
        book, servicer = app.books["EUR"], WalletServicer(app._runtime.log, app.books, app)
        state = book.state
        deposit = wallet.DepositRequest(currency="EUR", account="ada", amount=5)
        for number in range(3):
            deposit.request_id = f"d-{number}"
            with pytest.raises(Refused) as refused:
                await game.system.calls(servicer, "Deposit", deposit, "carl", ("cashier",))
            assert refused.value.reason == "LOG_UNAVAILABLE"
        account = wallet.GetAccountRequest(currency="EUR")
        assert (await game.system.calls(servicer, "GetAccount", account, "ada")).balance == 1_000_000 - 10_000
        assert book.state is state
        game.system.store.refusal = None
        await asyncio.sleep(NOTICED_S)
        await game.system.calls(servicer, "Deposit", deposit, "carl", ("cashier",))


OF_A_KEY = {"WRONGTYPE": "LOG_WRONG_TYPE", "NOPERM": "LOG_NOT_PERMITTED", "ERR": "LOG_REFUSES_WRITES"}


async def act_on(game: Game) -> None:
    """Until somebody may not."""
    while True:
        await game.act(STAY)


@pytest.mark.parametrize("code", OF_A_KEY)
@pytest.mark.parametrize("key", [keys.table_feed(keys.shard_of("t-1")), keys.table_log(keys.shard_of("t-1"), "t-1")])
def test_a_key_that_is_refused_is_told_where_it_is_needed_and_nobody_is_folded(tmp_path, code, key):
    """The server takes everything else, and whoever tries whether it can be written sees nothing."""

    @simulated
    async def run() -> None:
        async with playing(tmp_path) as game:
            await game.until_turn(street=4)
            other = Game(game.system, "t-9")
            await other.open()
            eve = Stream(game, "eve", watch=True)
            await eve.update()
            game.system.store.refusals[key] = code, f"{key} is a string, must be a stream"
            with capture_logs() as lines:
                with pytest.raises(Refused, match=OF_A_KEY[code]):
                    await act_on(game)
                while True:
                    told = await eve.update()
                    if told.view.paused:
                        break
                assert (told.view.paused, told.view.waiting_for) == (OF_A_KEY[code], "PAUSED")
                await asyncio.sleep(150)
                found = (await game.system.call("ListTables", pb.ListTablesRequest(), "eve")).tables
                assert {line.table: line.paused for line in found} == {"t-1": OF_A_KEY[code], "t-9": ""}
            critical = [line for line in lines if line["log_level"] == "critical"]
            assert {(line["event"], line["code"], line["stream"]) for line in critical} == {
                ("log_refuses", OF_A_KEY[code], game.actor.stream)
            }
            assert all(key in line["why"] and line["help"] for line in critical)
            assert 2 <= len(critical) <= 3  # each minute
            del game.system.store.refusals[key]
            async with asyncio.timeout(NOTICED_S):
                while told.view.paused:
                    told = await eve.update()
            await game.play(2, STAY)
            assert timeouts(game) == []

    run()


@pytest.mark.parametrize("code", OF_A_KEY)
def test_a_ledger_that_is_refused_says_so(tmp_path, code):
    @simulated
    async def run() -> None:
        async with playing(tmp_path) as game:
            key = keys.ledger_log("EUR")
            game.system.store.refusals[key] = code, f"{key} is a string"
            with capture_logs() as lines, pytest.raises(Refused, match=OF_A_KEY[code]):
                await game.operate_wallet("Deposit", account="ada", amount=5)
            (line,) = [line for line in lines if line["event"] == "log_refuses"]
            assert (line["code"], line["stream"], line["log_level"]) == (OF_A_KEY[code], key, "critical")
            game.system.store.refusals.clear()
            await game.operate_wallet("Deposit", account="ada", amount=5)

    run()


OTHER = next(name for name in (f"t-{n}" for n in range(2, 99)) if keys.shard_of(name) != keys.shard_of("t-1"))
OTHER_SHARD = keys.shard_of(OTHER)
KEYS_OF_ANOTHER = {
    "table": keys.table_log(OTHER_SHARD, OTHER),
    "deck": keys.deck_log(OTHER_SHARD, OTHER),
    "verdicts": keys.verdicts(OTHER_SHARD),
    "ledger feed": keys.ledger_feed("EUR", OTHER_SHARD),
}


@pytest.mark.parametrize("key", KEYS_OF_ANOTHER)
def test_a_key_of_another_shard_that_is_refused_stops_nobody_here(tmp_path, key):
    """Whichever service needs it: its work for tables of other shards goes on, and there too when the key is mended."""

    @simulated
    async def run() -> None:
        async with playing(tmp_path) as game:
            other = Game(game.system, OTHER)
            await other.begin(3)
            await other.until_turn()
            game.system.store.refusals[KEYS_OF_ANOTHER[key]] = "WRONGTYPE", "it is a string"

            async def ask_there() -> None:
                """What every service is needed for is asked for, and refused."""
                with suppress(Refused):
                    await other.send("ada", pb.AddChipsRequest(amount=50))
                while True:
                    with suppress(Refused, TimeoutError):
                        await other.step(STAY)
                    await asyncio.sleep(0.1)

            with capture_logs() as lines:
                asking = asyncio.create_task(ask_there())
                async with asyncio.timeout(240):
                    while not any("it is a string" in str(line) for line in lines):
                        await game.step(STAY)
                    await game.play(game.table.verified_hand + 4, STAY)
                    assert (await game.seat("hal")).outcome == pb.SEAT_OUTCOME_SEATED
                    await game.play(game.table.verified_hand + 4, STAY)
                assert not asking.done()
                asking.cancel()
            assert game.table.paused == ""
            game.system.store.refusals.clear()
            async with asyncio.timeout(120):
                for name in ("ada", "bea", "cleo"):  # whoever was away meanwhile
                    with suppress(Refused):
                        await other.send(name, pb.SitInRequest())
                await other.play(other.table.verified_hand + 1, STAY)

    run()

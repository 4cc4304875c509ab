"""Several tables on one Play stream: each as on a stream of its own, and one ends without the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_client.plain import ACCEPTS
from stud_service.identity import Caller, set_caller
from stud_service.refusals import Refused
from table_service import hub as hubs
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated

SEVERAL = pb.CAPABILITY_SEVERAL_TABLES
LIMITS: dict[str, Any] = {"commands_per_s": 10_000, "calls_per_s": 100_000, "calls_burst": 100_000}


class Both(Stream):
    """A stream that begins at the first table."""

    def __init__(self, game: Game, account: str, accepts: tuple[int, ...] = (), **subscribe: Any) -> None:
        set_caller(Caller(account, frozenset({"player"})))
        super().__init__(game, account, accepts=[SEVERAL, *accepts], **subscribe)

    def subscribe(self, game: Game, **more: Any) -> None:
        self.requests.put_nowait(pb.PlayRequest(subscribe=pb.Subscribe(table=game.id, **more)))

    def unsubscribe(self, table: str) -> None:
        self.requests.put_nowait(pb.PlayRequest(unsubscribe=pb.Unsubscribe(table=table)))

    async def of(self, table: str) -> pb.TableUpdate:
        async with asyncio.timeout(30):
            while (update := await self.update()).table != table:
                pass
            return update

    async def result(self) -> pb.CommandResult:
        async with asyncio.timeout(30):
            while not (answer := await self.answers.get()).HasField("result"):
                pass
            return answer.result


@asynccontextmanager
async def two(tmp_path: Path, **settings: Any) -> AsyncIterator[tuple[Game, Game]]:
    """Two tables at which it is somebody's turn; ada, bea and cleo sit at both."""
    async with MemorySystem(tmp_path, **LIMITS | settings) as system:
        games = Game(system), Game(system, "t-2", seed=1)
        for game in games:
            await game.begin(3)
        for game in games:
            await game.until_turn()
        yield games


@simulated
async def test_updates_of_both_tables_come_and_name_them(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        assert (await stream.update()).table == first.id
        stream.subscribe(second)
        full = await stream.update()
        assert (full.table, full.reset, full.current, full.mine.seat) == (second.id, True, True, 1)
        for game in (first, second, first):
            await game.act()
            update = await stream.of(game.id)
            assert update.events[0].WhichOneof("body") == "action_taken"
        await stream.close()
        assert not len(first.actor.hub)
        assert not len(second.actor.hub)


@pytest.mark.parametrize("accepts", [(), ACCEPTS], ids=["plain", "all"])
@simulated
async def test_whole_hands_are_played_at_both_tables_over_one_stream_each(tmp_path: Path, accepts: tuple[int, ...]):
    async with two(tmp_path) as games:
        streams = {name: Both(games[0], name, accepts) for name in ("ada", "bea", "cleo")}
        for stream in streams.values():
            stream.subscribe(games[1])
        sent: set[str] = set()
        answered: list[str] = []
        while min(game.table.verified_hand for game in games) < 3:
            await asyncio.sleep(0.01)
            for game in games:
                hand = game.table.hand
                if hand is not None and hand.turn_seat and f"{game.id} {hand.turn_id}" not in sent:
                    act = game.act_request(game.choose(STAY))
                    act.table, act.request_id = game.id, f"{game.id} {hand.turn_id}"
                    sent.add(act.request_id)
                    streams[game.on_turn].requests.put_nowait(pb.PlayRequest(act=act))
                elif hand is not None and hand.prompts:
                    await game.step(STAY)
        await asyncio.sleep(1)
        versions: dict[tuple[str, str], int] = {}
        for name, stream in streams.items():
            for said in stream.said():
                if isinstance(said, pb.CommandResult):
                    assert said.table
                    assert said.request_id.startswith(f"{said.table} ")
                    assert not said.reason
                    answered.append(said.request_id)
                elif not said.reset:
                    key = (name, said.table)
                    assert said.version == versions.get(key, said.version - 1) + 1
                    versions[key] = said.version
            await stream.close()
        assert sorted(answered) == sorted(sent)
        assert len(sent) > 30


@simulated
async def test_a_command_for_a_table_that_is_not_on_the_stream_is_refused(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        result = await stream.ask(sit_out=pb.SitOutRequest(table=second.id, request_id="r"))
        assert (result.reason, result.table, result.request_id) == ("INVALID_FIELD", second.id, "r")
        assert first.id in result.text
        stream.subscribe(second)
        result = await stream.ask(sit_out=pb.SitOutRequest(table=second.id, request_id="r"))
        assert (result.reason, result.table) == ("", second.id)
        await stream.close()


@simulated
async def test_a_later_subscribe_that_is_refused_ends_nothing(tmp_path: Path):
    async with two(tmp_path, streams_per_account=1) as (first, second):
        stream = Both(first, "ada")
        unknown = Game(first.system, "none")
        with first.system.runtimes["table"].limits.streams.hold("ada"):
            for game, reason in ((unknown, "UNKNOWN_TABLE"), (second, "RATE_LIMITED"), (first, "INVALID_FIELD")):
                stream.subscribe(game)
                result = await stream.result()
                assert (result.reason, result.table, result.request_id) == (reason, game.id, "")
        stream.subscribe(second, after_version=-1)
        assert (await stream.result()).reason == "INVALID_FIELD"
        assert not len(second.actor.hub)
        stream.subscribe(second)
        await stream.of(second.id)
        assert len(first.system.runtimes["table"].limits.streams) == 1
        await stream.close()
        assert not len(first.system.runtimes["table"].limits.streams)


@simulated
async def test_who_unsubscribes_is_answered_what_they_asked_before_and_hears_no_more(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        stream.subscribe(second)
        await stream.of(second.id)
        stream.requests.put_nowait(pb.PlayRequest(sit_out=pb.SitOutRequest(table=second.id, request_id="r")))
        stream.unsubscribe(second.id)
        assert (await stream.result()).table == second.id
        await asyncio.sleep(1)
        assert not len(second.actor.hub)
        stream.said()
        await second.act()
        await first.act()
        await asyncio.sleep(1)
        assert {said.table for said in stream.said()} == {first.id}
        stream.subscribe(second)
        assert (await stream.of(second.id)).reset
        stream.unsubscribe("none")
        assert (await stream.result()).reason == "INVALID_FIELD"
        for table in (second.id, first.id):
            stream.unsubscribe(table)
        await asyncio.wait_for(stream.task, 30)


@simulated
async def test_a_table_that_closes_leaves_the_others_and_the_last_ends_the_stream(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        stream.subscribe(second)
        await second.close()
        await stream.of(second.id)
        assert not stream.task.done()
        await first.act()
        await stream.of(first.id)
        await first.close()
        await asyncio.wait_for(stream.task, 30)
        await asyncio.sleep(120)  # both are forgotten but for their rows
        again = Both(first, "ada")
        assert (await again.update()).view.life == pb.TABLE_LIFE_CLOSED
        await asyncio.wait_for(again.task, 30)


@simulated
async def test_who_comes_back_goes_on_at_each_table_where_they_were(tmp_path: Path):
    async with two(tmp_path) as games:
        heads = [game.actor.head for game in games]
        for game in games:
            await game.act()
        stream = Both(games[0], "ada", after_version=heads[0].version, head_hash=heads[0].hash)
        stream.subscribe(games[1], after_version=heads[1].version, head_hash=heads[1].hash)
        for game, head in zip(games, heads, strict=True):
            update = await stream.of(game.id)
            assert (update.version, update.current) == (head.version + 1, False)
        await stream.close()


@simulated
async def test_who_reads_too_slowly_loses_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hubs.Viewer.__init__, "__defaults__", (5,))
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        stream.subscribe(second)
        await stream.of(second.id)
        stream.blocked.clear()
        await second.play(1, STAY)
        stream.blocked.set()
        assert (await stream.end()).reason == "RESUME_FROM_VERSION"
        assert not len(first.actor.hub)
        assert not len(second.actor.hub)


@simulated
async def test_what_waits_at_one_table_waits_for_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        stream.subscribe(second)
        await stream.of(second.id)
        stuck = asyncio.Event()
        submit = type(second.actor).submit

        async def slow(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self is second.actor:
                await stuck.wait()
            return await submit(self, *args, **kwargs)

        monkeypatch.setattr(type(second.actor), "submit", slow)
        for game in (second, first):
            sit_out = pb.SitOutRequest(table=game.id, request_id=game.id)
            stream.requests.put_nowait(pb.PlayRequest(sit_out=sit_out))
        assert (await stream.result()).table == first.id
        stuck.set()
        assert (await stream.result()).table == second.id
        await stream.close()


@simulated
async def test_the_last_stream_at_a_table_takes_the_choice_ahead_with_it(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        brought_in = second.on_turn
        await second.act(STAY)
        await second.until_turn()
        other = next(name for name in ("ada", "bea", "cleo") if name not in {brought_in, second.on_turn})
        stream = Both(first, other)
        stream.subscribe(second)
        await stream.of(second.id)
        hand = second.hand
        choice = pb.SetPreActionRequest(
            table=second.id, hand_no=1, street=hand.street, price=hand.level, verb=seat_pb2.VERB_CALL, request_id="c"
        )
        result = await stream.ask(set_pre_action=choice)
        assert not result.reason
        assert second.actor.ahead.of(other) is not None
        stream.unsubscribe(second.id)
        await asyncio.sleep(0.1)
        assert second.actor.ahead.of(other) is None
        await stream.close()


@simulated
async def test_a_service_that_stops_and_a_message_that_is_none_end_the_stream(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        stream.subscribe(second)
        await stream.of(second.id)
        stream.requests.put_nowait(Refused("MALFORMED_MESSAGE", "no message"))
        assert (await stream.end()).reason == "MALFORMED_MESSAGE"
        again = Both(first, "ada")
        again.subscribe(second)
        await again.of(second.id)
        await first.system.stop("table")
        assert (await again.end()).reason == "STOPPING"


@simulated
async def test_without_asking_for_it_a_stream_is_of_one_table(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        stream = Stream(first, "ada")
        result = await stream.ask(subscribe=pb.Subscribe(table=second.id))
        assert (result.reason, result.table) == ("INVALID_FIELD", "")
        result = await stream.ask(unsubscribe=pb.Unsubscribe(table=first.id))
        assert result.reason == "INVALID_FIELD"
        await stream.close()


@simulated
async def test_who_sends_no_more_goes_on_receiving(tmp_path: Path):
    async with two(tmp_path) as (first, second):
        stream = Both(first, "ada")
        stream.subscribe(second)
        await stream.of(second.id)
        stream.requests.put_nowait(None)
        await second.act()
        assert (await stream.of(second.id)).events
        await stream.close()

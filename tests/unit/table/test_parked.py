"""A table of which a message was parked: it stands for that, and goes on by itself when its line is free again."""

import asyncio

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_core import deck_events as de
from stud_core import events as ev
from stud_eventlog import keys
from stud_eventlog.types import Head
from stud_topology.services import NAMES
from stud_wire.commits import decode_commit, encode_event
from table_service import inbound
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated

SHARD = keys.shard_of("t-1")


def plant(game: Game, version: int = 900) -> None:
    """Puts cards into the dealer's feed that nobody asked for."""
    ref = de.LogRef("stream", 1, 2, bytes(32))
    nonsense = de.DeckCardsDealt(game.table.hand_no + 1, 9, ref, (), (ev.UpCard(1, 3),), (), None, None, (3,))
    plant_bytes(game, encode_event(nonsense), version)


def plant_bytes(game: Game, event: bytes, version: int = 900) -> None:
    store = game.system.store
    store._put(keys.dealer_feed(SHARD), keys.deck_log(SHARD, "t-1"), Head(version, bytes(32)), 0, event)
    store.wake_readers()


async def stands(game: Game) -> None:
    await game.until(lambda table: table.parked)
    await asyncio.sleep(5)
    assert game.table.stands_for in {"UNEXPECTED_CARDS", "NO_HAND"}


async def drop_first(game: Game, service: str = "table") -> None:
    """As `stud dead discard --first` and `stud dead retry` do it."""
    log = game.system.runtimes["dealer"].log
    line = await log.dead_take(service, SHARD, "t-1")
    await log.dead_discard(service, SHARD, "t-1", up_to=line[0].number)
    if len(line) > 1:
        await log.request_retry(service, SHARD, "t-1")


@simulated
async def test_after_the_first_is_dropped_and_the_rest_retried_the_table_goes_on_by_itself(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn(street=4)
        plant(game)
        await stands(game)
        while game.table.hand is not None and game.hand.deal is None:
            await game.act(STAY)  # the dealer's answer queues up behind what is parked
        await asyncio.sleep(2)
        assert len(await system.runtimes["table"].log.dead_list("table")) == 2
        await drop_first(game)
        await game.until(lambda table: not table.stands_for)
        await game.play(2, STAY)


@simulated
async def test_where_nothing_is_left_to_retry_it_goes_on_too_and_after_a_restart(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3, hand_pause_ms=20_000)
        await game.play(1, STAY)
        plant(game)
        await stands(game)
        await drop_first(game)
        await game.until(lambda table: not table.stands_for)
        plant(game, 901)
        await stands(game)
        await system.crash("table")
        log = system.runtimes["dealer"].log
        (letter,) = await log.dead_take("table", SHARD, "t-1")
        await log.dead_discard("table", SHARD, "t-1", up_to=letter.number)
        await system.start("table")
        await system.actor("t-1")
        await game.until(lambda table: not table.stands_for)
        await game.play(2, STAY)


@simulated
async def test_what_else_pauses_it_stays(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3, hand_pause_ms=20_000)
        await game.play(1, STAY)
        for first in (True, False):
            if first:
                await game.operate(pb.PauseTableRequest(reason="lunch"))
            plant(game, 900 if first else 901)
            await game.until(lambda table: table.parked)
            if not first:
                await game.operate(pb.PauseTableRequest(reason="lunch"))
            await asyncio.sleep(5)
            await drop_first(game)
            await game.until(lambda table: not table.parked)
            await asyncio.sleep(5)
            assert game.table.stands_for == "lunch"
            await game.operate(pb.ResumeTableRequest())


@simulated
async def test_an_operator_may_let_it_go_on_before_the_line_is_free(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3, hand_pause_ms=20_000)
        await game.play(1, STAY)
        plant(game)
        await stands(game)
        await game.operate(pb.ResumeTableRequest())
        assert game.table.stands_for == ""


async def shown(game: Game) -> tuple[str, str]:
    """Why the table stands, as its view and its line in the lobby say it."""
    view = (await game.system.call("GetTable", pb.GetTableRequest(table="t-1"), "eve")).update.view
    (line,) = (await game.system.call("ListTables", pb.ListTablesRequest(), "eve")).tables
    return view.paused, line.paused


@pytest.mark.parametrize("when", ["a hand runs", "between hands", "cards are missing", "the dealer was called silent"])
def test_a_message_that_is_none_is_said_to_be_why_the_table_stands(tmp_path, when):
    """Not the dealer's silence, which comes of it: his answer waits behind what is parked."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3, hand_pause_ms=20_000)
            if when == "between hands":
                await game.play(1, STAY)
            else:
                await game.until_turn(street=4)
            if when in {"cards are missing", "the dealer was called silent"}:
                await system.crash("dealer")
                while game.hand.deal is None:
                    await game.act(STAY)
            if when == "the dealer was called silent":
                await game.until(lambda table: table.stands_for == "DEALER_SILENT")
            plant_bytes(game, b"\xff\xff no event")
            await game.until(lambda table: table.parked)
            if when == "a hand runs":
                while game.hand.deal is None:
                    await game.act(STAY)
            await asyncio.sleep(60)
            assert await shown(game) == ("MALFORMED_MESSAGE", "MALFORMED_MESSAGE")
            if "dealer" not in system.runtimes:
                await system.start("dealer")
                await asyncio.sleep(2)
            await drop_first(game, "rules")  # the referee hears the dealer too
            await drop_first(game)
            await game.until(lambda table: not table.stands_for)
            await game.play(2, STAY)

    run()


@simulated
async def test_a_fault_of_ours_that_parks_a_line_pauses_its_table_too(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3, hand_pause_ms=20_000)
        await game.play(1, STAY)
        with monkeypatch.context() as broken:
            broken.setattr(inbound, "command_for", lambda fact: 1 // 0)
            plant(game)
            await game.until(lambda table: table.parked)
        assert await shown(game) == ("INTERNAL", "INTERNAL")
        await game.operate(pb.ResumeTableRequest())
        await system.runtimes["dealer"].log.request_retry("table", SHARD, "t-1")
        await game.until(lambda table: table.parked)  # it is tried again, and refused
        assert game.table.stands_for in {"UNEXPECTED_CARDS", "NO_HAND"}


@pytest.mark.parametrize("service", NAMES)
def test_a_message_is_judged_on_what_the_log_says_before_it_is_called_poison(tmp_path, service):
    """Another instance takes over and writes: what the first one hears meanwhile is not parked; its memory is old."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3)
            await game.until_turn(street=3)
            old_app, old_runtime = system.apps.pop(service), system.runtimes.pop(service)
            await system.start(service)
            await system.actor("t-1")
            await game.send("ada", pb.AddChipsRequest(amount=500))
            await game.play(2, STAY)
            await game.send("bea", pb.LeaveSeatRequest())
            await game.play(3, STAY)
            assert await system.runtimes[service].log.dead_list() == []
            assert game.table.stands_for == ""
            await old_app.stop()
            await old_runtime.tasks.cancel_all()
            stored = system.store.data.logs[keys.table_log(SHARD, "t-1")]
            kinds = [type(e).__name__ for commit, _ in stored for e in decode_commit(commit.body).events]
            assert "TablePaused" not in kinds[kinds.index("HandStarted") :]

    run()


async def says_that_it_is_behind(game: Game) -> None:
    view = (await game.system.call("GetTable", pb.GetTableRequest(table="t-1"), "eve")).update.view
    assert view.paused == "LOG_BEHIND"


@simulated
async def test_a_log_that_ends_before_what_the_lobby_was_told_is_behind_from_the_start(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn(street=5)
        await system.crash("table")
        rows = system.store.data.logs[keys.table_log(SHARD, "t-1")]
        while not isinstance(decode_commit(rows[-1][0].body).events[0], ev.AntesOpened):
            rows.pop()
        rows.pop()
        await system.start("table")
        await says_that_it_is_behind(game)


def test_a_log_that_lacks_what_the_dealer_has_answered_is_behind(tmp_path):
    """The request for cards is gone, and something else is written in its place: clocks start afresh."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3)
            await game.until_turn(street=4)
            await system.crash("dealer")
            while game.hand.deal is None:
                await game.act(STAY)
            await system.crash("table")
            await system.start("dealer")
            await asyncio.sleep(2)
            rows = system.store.data.logs[keys.table_log(SHARD, "t-1")]
            while not any(isinstance(e, ev.DealRequested) for e in decode_commit(rows[-1][0].body).events):
                rows.pop()
            rows.pop()
            await system.start("table")
            await system.actor("t-1")
            await game.until(lambda table: table.parked)
            await says_that_it_is_behind(game)
            assert (await system.runtimes["table"].log.dead_list("table"))[0].reason.endswith("LOG_BEHIND")

    run()

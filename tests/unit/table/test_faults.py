"""What a table does when something is wrong: with its chips, its log, another writer, itself."""

import asyncio
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.commands import Act, PauseTable, StartHand
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import Append, Head, LogUnavailable, NotInitialised
from stud_service.feeds import Poison
from stud_service.refusals import Refused
from stud_wire.commits import Meta, encode_commit
from table_service import actor as actor_module
from table_service import commits
from table_service.commits import NotConserved
from table_service.hub import Viewer
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import update_of
from tests.support.system_memory import MemorySystem, simulated


class FailingLog:
    """A log whose next appends raise."""

    def __init__(self, log: Any, *faults: Exception) -> None:
        self._log = log
        self.faults = list(faults)
        self.tried = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, append: Append) -> Head:
        self.tried += 1
        if self.faults:
            raise self.faults.pop(0)
        head: Head = await self._log.append(append)
        return head


def failing(game: Game, *faults: Exception) -> FailingLog:
    log = FailingLog(game.system.runtimes["table"].log, *faults)
    game.system.runtimes["table"].log = log
    return log


async def refusal(awaitable: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        await awaitable
    return refused.value


async def somebody_else_writes(game: Game, *events: Any) -> Head:
    """Another process appends to this table's log."""
    log = MemoryEventLog(game.system.store)
    head = await log.head(game.actor.stream)
    body = encode_commit(events, Meta(0, "else"))
    return await log.append(Append(game.actor.stream, head.version, head.hash, b"somebody-else-00", body))


# --- chips ------------------------------------------------------------------------------------------------------------


@simulated
async def test_what_would_make_chips_is_not_written_and_the_table_pauses(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        head, state = game.actor.head, game.table
        real = commits.prepare

        def forged(before: Any, command: Any, *rest: Any) -> Any:
            if isinstance(command, Act):
                raise NotConserved("12 at the table, but 10 paid in and 0 paid out")
            return real(before, command, *rest)

        monkeypatch.setattr(actor_module, "prepare", forged)
        refused = await refusal(game.act())
        assert (refused.reason, refused.text) == ("INTERNAL", "the table was paused to protect its chips")
        await game.until(lambda t: t.paused)
        assert game.table.paused == "NOT_CONSERVED"
        assert game.actor.head.version == head.version + 1
        monkeypatch.undo()
        assert (game.on_turn, game.hand.paid) == (ada, state.running.paid)
        await game.act()  # the running hand goes on


@simulated
async def test_chips_out_of_nowhere_are_seen_before_they_are_written(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        head = game.actor.head
        wrong = msgspec.structs.replace(game.table, rake_taken=5)
        game.actor.table = wrong
        assert (await refusal(game.act())).reason == "INTERNAL"
        assert (await system.runtimes["table"].log.head(game.actor.stream)).version == head.version
        assert (await refusal(game.operate(pb.PauseTableRequest(reason="look")))).reason == "INTERNAL"


# --- another writer --------------------------------------------------------------------------------------------------


@simulated
async def test_after_a_conflict_the_table_is_folded_anew_and_the_command_judged_again(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        viewer = Viewer("ada")
        game.actor.hub.add(viewer)
        version = game.actor.head.version
        await somebody_else_writes(game, ev.PreferencesSet(1, 1, auto_post=False, muck_losing=False))
        accepted = await game.act()
        assert accepted.version == game.actor.head.version == version + 2
        assert not game.table.sittings[1].muck_losing
        full, update = [update_of(viewer.queue.get_nowait()) for _ in range(2)]
        assert (full.reset, full.version, update.version) == (True, version + 1, version + 2)
        assert game.actor.hub.since(version, b"") is None  # what was kept has a gap
        assert game.on_turn != ada


@simulated
async def test_the_answer_to_a_repeated_request_may_have_been_written_by_somebody_else(tmp_path):
    """The same request reached another process first: the conflict shows it, and its result is the answer."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        request = game.act_request(game.choose(STAY))
        request.request_id = "the-one"
        elsewhere = MemorySystem(tmp_path, "table")
        elsewhere.store = system.store
        async with elsewhere:
            rival = Game(elsewhere)
            await rival.until(lambda t: t.version > game.actor.head.version)  # its fresh clock
            first = await rival.send(ada, request)
        assert game.actor.head.version < first.version
        assert await game.send(ada, request) == first
        assert game.actor.head.version == first.version


@simulated
async def test_a_table_that_somebody_keeps_writing_to_gives_up_and_says_so(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(1)
        log = system.runtimes["table"].log

        class Rival(FailingLog):
            async def append(self, append: Append) -> Head:
                await somebody_else_writes(game, ev.SatOut(1, 1, ev.OutReason.REQUESTED), ev.SatIn(1, 1))
                return await log.append(append)

        system.runtimes["table"].log = Rival(log)
        assert (await refusal(game.send("ada", pb.SitOutRequest()))).reason == "LOG_UNAVAILABLE"
        system.runtimes["table"].log = log
        await game.send("ada", pb.SitOutRequest())


# --- outcomes nobody knows -------------------------------------------------------------------------------------------


@simulated
async def test_while_an_append_has_no_answer_the_table_takes_no_other_decision(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        head = game.actor.head
        request = game.act_request(game.choose(STAY))
        request.request_id = "the-one"
        acting = asyncio.create_task(game.send(ada, request))
        system.store.stop()
        sitting_out = asyncio.create_task(game.send("bea", pb.SitOutRequest()))
        for task in (acting, sitting_out):
            assert (await refusal(task)).reason == "OUTCOME_UNKNOWN"
        assert game.actor.head == head
        retry = asyncio.create_task(game.send(ada, request))
        system.store.start()
        first = await retry
        assert first.version == head.version + 1
        await game.until(lambda t: any(s.account == "bea" and s.sitting_out for s in t.sittings.values()))
        rows = system.store.data.logs[game.actor.stream]
        mine = [c.version for c, _ in rows if b"the-one" in c.body]
        assert mine == [first.version]


@simulated
async def test_a_caller_that_goes_away_changes_nothing(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        version = game.actor.head.version
        acting = asyncio.create_task(game.act())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        acting.cancel()
        await game.until(lambda t: t.version > version)


@simulated
async def test_a_log_that_takes_nothing_now_is_said_to_be_unavailable_and_left_alone_for_a_while(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        head = game.actor.head
        log = failing(game, LogUnavailable("no memory"), NotInitialised())
        for _ in range(2):
            assert (await refusal(game.act())).reason == "LOG_UNAVAILABLE"
        assert game.actor.head == head
        assert log.tried == 2
        await game.until(lambda t: t.version > head.version, 2)  # nobody's clock runs for it
        assert (game.on_turn, game.hand.turn_id) == (ada, head.version)
        await game.act()


@simulated
async def test_a_table_whose_own_commands_fail_does_not_try_all_the_time(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2, hand_pause_ms=100)
        await game.play(1)
        log = failing(game, *[LogUnavailable("no memory") for _ in range(1000)])
        await asyncio.sleep(10)
        assert 5 <= log.tried <= 12
        log.faults.clear()
        await game.until(lambda t: t.hand is not None, 3)


# --- a log that went back ---------------------------------------------------------------------------------------------


@simulated
async def test_a_log_older_than_what_was_acknowledged_stops_the_table_and_no_other(tmp_path):
    """Its messages are parked for operators; after they looked, the table goes on from what the log holds."""
    async with MemorySystem(tmp_path) as system:
        game, other = Game(system, "t-1"), Game(system, "t-2")
        await other.open()
        await game.begin()
        await game.until_turn()
        rows = system.store.data.logs[game.actor.stream]
        lost = rows[-1:]
        rows[-1:] = []
        log: Any = system.runtimes["table"].log
        log._writer.acknowledged._held.clear()  # the bytes are not held any more
        assert (await refusal(game.act())).reason == "LOG_BEHIND"
        assert (await refusal(game.operate(pb.PauseTableRequest(reason="what is this")))).reason == "LOG_BEHIND"
        assert not game.actor._timer.is_set
        await other.begin_seats(3)
        await other.play(1)
        await game.deposit("late", 50_000)
        entry = (await system.runtimes["table"].log.read_feeds({keys.dealer_feed(game.actor.shard): "0-0"}, 1, 0))[0]
        with pytest.raises(Poison, match="LOG_BEHIND"):
            await system.tables.handle([entry])
        rows.extend(lost)  # operators found the rest
        await system.crash("table")
        await system.start("table")
        await game.until(lambda t: t.hand is not None and t.hand.turn_seat and t.version > lost[0][0].version)
        await game.act()


# --- faults of our own ------------------------------------------------------------------------------------------------


@simulated
async def test_an_unexpected_fault_tells_an_incident_and_nothing_else_and_the_table_goes_on(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        head, real = game.actor.head, commits.prepare

        def broken(before: Any, command: Any, *rest: Any) -> Any:
            if isinstance(command, Act):
                raise ZeroDivisionError("the card is 51")
            return real(before, command, *rest)

        monkeypatch.setattr(actor_module, "prepare", broken)
        with capture_logs() as lines:
            refused = await refusal(game.act())
        assert (refused.reason, refused.text) == ("INTERNAL", "something unexpected happened")
        (line,) = [line for line in lines if line["event"] == "command_failed"]
        assert line["incident"] == refused.metadata["incident"]
        assert game.actor.head == head
        monkeypatch.undo()
        await game.act()


@simulated
async def test_a_fault_at_one_table_parks_its_line_and_the_others_play_on(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        bad, good = Game(system, "t-1"), Game(system, "t-2")
        await good.open()
        real = commits.prepare

        def broken(before: Any, command: Any, *rest: Any) -> Any:
            if type(command).__name__ == "RecordCards" and before.rules.table_id == "t-1":
                raise ZeroDivisionError
            return real(before, command, *rest)

        monkeypatch.setattr(actor_module, "prepare", broken)
        with capture_logs():
            await bad.begin()
            await bad.until(lambda t: t.hand is not None)
            await good.begin_seats(3)
            await good.play(2)
            letters = await system.runtimes["table"].log.dead_list("table")
        assert {letter.table_id for letter in letters} == {"t-1"}
        monkeypatch.undo()
        await system.runtimes["table"].log.request_retry("table", keys.shard_of("t-1"), "t-1")
        await bad.play(1)


@simulated
async def test_a_hand_that_cannot_start_is_tried_again_a_little_later(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        real, tried = commits.prepare, []

        def broken(before: Any, command: Any, *rest: Any) -> Any:
            if isinstance(command, StartHand):
                tried.append(command)
                if len(tried) < 4:
                    raise ZeroDivisionError
            return real(before, command, *rest)

        monkeypatch.setattr(actor_module, "prepare", broken)
        with capture_logs():
            await game.begin()
            await game.until(lambda t: t.hand is not None, 10)
        assert len(tried) == 4


# --- stopping ---------------------------------------------------------------------------------------------------------


@simulated
async def test_stopping_finishes_what_is_queued_and_takes_nothing_new(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        actor, viewer = game.actor, Viewer("ada")
        actor.hub.add(viewer)
        request = game.act_request(game.choose(STAY))
        acting = asyncio.create_task(game.send(ada, request))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await actor.stop()
        assert (await acting).version == actor.head.version
        assert (await refusal(actor.submit(PauseTable("late", "olga")))).reason == "STOPPING"
        assert viewer.dropped
        assert not actor._timer.is_set


@simulated
async def test_what_cannot_be_finished_in_time_is_refused_with_stopping(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        system.store.stop()
        first = asyncio.create_task(game.act())
        second = asyncio.create_task(game.operate(pb.PauseTableRequest(reason="late")))
        await asyncio.sleep(0.1)
        await game.actor.stop()
        for task in (first, second):
            assert (await refusal(task)).reason == "STOPPING"

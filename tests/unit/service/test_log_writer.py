"""The one writer of a log: memory in doubt is folded again, drafts follow one another, conflicts are decided anew."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import (
    Append,
    ChainBroken,
    EventLogError,
    FeedItem,
    Head,
    LobbyRow,
    LogBehind,
    LogUnavailable,
    NotInitialised,
    VersionConflict,
)
from stud_service.log_writer import MAX_CONFLICTS, Contended, LogWriter, refusal_of
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from stud_wire.codec import WireError

STREAM = keys.table_log(7, "t-1")
FEED = keys.table_feed(7)


class Counter:
    """Counts what is in its log; every commit adds one."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.log = log
        self.count = 0
        self.folds = 0
        self.writer = LogWriter(Runtime("table", ServiceSettings(), log), STREAM, self.fold)

    async def fold(self) -> Head:
        self.folds += 1
        head, self.count = Head(), 0
        async for stored in self.log.read_all(STREAM):
            self.count += 1
            head = stored.head
        return head

    async def add(self) -> int:
        async def work() -> int:
            await self.writer.write(self.writer.draft(b"one"))
            self.count += 1
            return self.count

        return await self.writer.decided(work)


@pytest.fixture
async def log() -> MemoryEventLog:
    made = MemoryEventLog()
    await made.initialise()
    return made


async def test_memory_is_folded_once_and_kept_up(log: MemoryEventLog):
    mine = Counter(log)
    assert mine.writer.in_doubt
    assert [await mine.add() for _ in range(3)] == [1, 2, 3]
    assert (mine.folds, mine.writer.head) == (1, await log.head(STREAM))


async def test_a_draft_tells_feeds_and_lobby(log: MemoryEventLog):
    mine = Counter(log)
    await mine.writer.know()
    row = LobbyRow(keys.lobby(7), "t-1", b"row")
    await mine.writer.write(mine.writer.draft(b"one", [FeedItem(FEED, b"told")], row))
    (entry,) = await log.read_feeds({FEED: "0-0"}, block_ms=0)
    assert (entry.event, entry.version) == (b"told", 1)
    assert await log.lobby(7) == {"t-1": b"row"}


async def test_drafts_follow_one_another_and_are_written_at_once(log: MemoryEventLog):
    mine = Counter(log)
    await mine.writer.know()
    drafts = [mine.writer.draft(b"one") for _ in range(5)]
    assert (mine.writer.head.version, mine.writer.tip.version) == (0, 5)
    answers = await mine.writer.write_all(drafts)
    assert answers[-1] == mine.writer.head == mine.writer.tip == await log.head(STREAM)
    assert not mine.writer.in_doubt


async def test_who_was_first_is_seen_before_it_is_decided_again(log: MemoryEventLog):
    mine, other = Counter(log), Counter(log)
    await mine.add()
    assert [await other.add(), await other.add()] == [2, 3]
    assert await mine.add() == 4
    assert mine.folds == 2


async def test_of_several_drafts_those_behind_a_conflict_are_not_written(log: MemoryEventLog):
    mine, other = Counter(log), Counter(log)
    await mine.writer.know()
    await other.add()
    answers = await mine.writer.write_all([mine.writer.draft(b"one") for _ in range(2)])
    assert [type(answer) for answer in answers] == [VersionConflict, VersionConflict]
    assert mine.writer.in_doubt
    assert await mine.add() == 2


async def test_catching_up_folds_only_what_has_changed(log: MemoryEventLog):
    mine, other = Counter(log), Counter(log)
    assert await mine.writer.catch_up()  # nothing was known
    assert not await mine.writer.catch_up()
    await other.add()
    assert await mine.writer.catch_up()
    assert mine.count == 1


async def test_a_writer_that_never_stops_is_given_up(log: MemoryEventLog):
    mine, other = Counter(log), Counter(log)
    asked = 0

    async def work() -> None:
        nonlocal asked
        asked += 1
        draft = mine.writer.draft(b"one")
        await other.add()
        await mine.writer.write(draft)

    with pytest.raises(Contended, match="another writer keeps changing it"):
        await mine.writer.decided(work)
    assert asked == MAX_CONFLICTS
    assert mine.writer.in_doubt


Fault = Callable[[], Exception]
SURELY_NOT: list[Fault] = [lambda: LogUnavailable("away"), NotInitialised]
DOUBTFUL: list[Fault] = [lambda: LogBehind(STREAM, Head(2), Head(1)), lambda: EventLogError("x"), lambda: OSError("x")]


def failing(log: MemoryEventLog, monkeypatch: pytest.MonkeyPatch, fault: Fault, *, written: bool = False) -> None:
    real: Callable[[Append], Awaitable[Head]] = log.append

    async def append(one: Append) -> Head:
        if written:
            await real(one)
        raise fault()

    async def append_many(many: Any) -> Any:
        for one in many:
            await append(one)

    monkeypatch.setattr(log, "append", append)
    monkeypatch.setattr(log, "append_many", append_many)


@pytest.mark.parametrize("fault", SURELY_NOT)
async def test_what_was_surely_not_written_costs_no_fold(log, monkeypatch, fault: Fault):
    mine = Counter(log)
    await mine.add()
    with monkeypatch.context() as patched:
        failing(log, patched, fault)
        with pytest.raises((LogUnavailable, NotInitialised)):
            await mine.add()
    assert (mine.writer.in_doubt, mine.writer.tip) == (False, mine.writer.head)
    assert await mine.add() == 2
    assert mine.folds == 1


@pytest.mark.parametrize("fault", [*DOUBTFUL, *SURELY_NOT])
@pytest.mark.parametrize("written", [False, True])
async def test_after_any_other_fault_only_the_log_knows(log, monkeypatch, fault: Fault, written: bool):
    """Several drafts at once are among them, whatever the fault: some may be there."""
    mine = Counter(log)
    await mine.add()
    with monkeypatch.context() as patched:
        failing(log, patched, fault, written=written)
        with pytest.raises((EventLogError, OSError)):
            await mine.writer.write_all([mine.writer.draft(b"one"), mine.writer.draft(b"one")])
    assert mine.writer.in_doubt
    assert await mine.add() == (3 if written else 2)
    assert mine.folds == 2


@pytest.mark.parametrize("fault", DOUBTFUL)
async def test_so_it_is_of_a_single_draft(log, monkeypatch, fault: Fault):
    mine = Counter(log)
    await mine.add()
    with monkeypatch.context() as patched:
        failing(log, patched, fault, written=True)
        with pytest.raises((EventLogError, OSError)):
            await mine.add()
    assert await mine.add() == 3


async def test_who_goes_away_while_it_is_written_leaves_a_doubt(log: MemoryEventLog):
    mine = Counter(log)
    await mine.add()
    log.store.stop()
    task = asyncio.create_task(mine.add())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert mine.writer.in_doubt
    log.store.start()
    await log.wait_available()
    await asyncio.sleep(0.1)
    assert await mine.add() == (await log.head(STREAM)).version


async def test_a_log_that_cannot_be_read_again_stays_in_doubt(log: MemoryEventLog, monkeypatch):
    mine, other = Counter(log), Counter(log)
    await mine.add()
    await other.add()

    async def broken() -> Head:
        raise ChainBroken(STREAM, 2)

    with monkeypatch.context() as patched:
        patched.setattr(mine.writer, "_fold", broken)
        with pytest.raises(ChainBroken):
            await mine.add()
        with pytest.raises(ChainBroken):
            await mine.add()
    assert await mine.add() == 3


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (LogBehind(STREAM, Head(2), Head(1)), "LOG_BEHIND"),
        (ChainBroken(STREAM, 1), "LOG_BROKEN"),
        (WireError("x"), "LOG_BROKEN"),
        (LogUnavailable("x"), "LOG_UNAVAILABLE"),
        (NotInitialised(), "LOG_UNAVAILABLE"),
        (Contended(STREAM), "LOG_UNAVAILABLE"),
        (VersionConflict(STREAM, 1, 2), "LOG_UNAVAILABLE"),
    ],
)
def test_what_callers_are_told_of_a_fault(fault: Exception, reason: str):
    refused = refusal_of(fault, "LOG_READ_ONLY")
    assert refused is not None
    assert (refused.reason, refused.__cause__) == (reason, fault)
    assert ("LOG_READ_ONLY" in refused.text) == (reason == "LOG_UNAVAILABLE")


def test_what_is_no_fault_of_a_log_is_not_explained_as_one():
    assert refusal_of(OSError("x")) is None
    assert refusal_of(ValueError("x")) is None

"""One verdict per hand, whatever happens between deciding and writing."""

from __future__ import annotations

import asyncio

import pytest

from rules_service.verdict_log import VerdictLog
from rules_service.verdicts import TableVerdicts
from stud_core.deck_events import HandOutcome, LogRef
from stud_core.verdict_events import HandVerified
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import Head, LogBehind
from stud_service.mailbox import STOP_WITHIN_S
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from stud_wire.commits import Meta
from tests.support.referee_court import Court

REF = LogRef("{s01}:table:x", 1, 2, bytes(32))


def verified(table: str, hand_no: int) -> HandVerified:
    return HandVerified(table, hand_no, HandOutcome.ENDED, "XTS", REF, REF, (), 0, "test")


class Writer:
    """A verdict log and its ids."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.ids = 0
        self.verdicts = VerdictLog(1, Runtime("rules", ServiceSettings(), log, new_id=self.new_id))

    def new_id(self) -> bytes:
        self.ids += 1
        return id(self).to_bytes(12, "big") + self.ids.to_bytes(4, "big")

    async def write(self, table: str, hand_no: int) -> int | None:
        def make(book: TableVerdicts) -> tuple[HandVerified, Meta] | None:
            return None if book.is_judged(hand_no) else (verified(table, hand_no), Meta(1))

        return await self.verdicts.write(table, make)


@pytest.fixture
async def log() -> MemoryEventLog:
    log = MemoryEventLog()
    await log.initialise()
    return log


async def test_verdicts_of_many_tables_share_a_pipeline_and_keep_their_order(log: MemoryEventLog):
    writer = Writer(log)
    versions = await asyncio.gather(*[writer.write(f"t-{n}", 1) for n in range(20)])
    assert sorted(v for v in versions if v) == list(range(1, 21))
    assert writer.verdicts.book.head.version == 20
    again = Writer(log)
    await again.verdicts.load()
    assert again.verdicts.book.head == writer.verdicts.book.head
    assert again.verdicts.book.tables == writer.verdicts.book.tables


async def test_a_verdict_that_is_there_is_not_written_again(log: MemoryEventLog):
    writer = Writer(log)
    first, second = await asyncio.gather(writer.write("t-1", 1), writer.write("t-1", 1))
    assert (first, second) == (1, None)
    assert await writer.write("t-1", 2) == 2
    assert list(writer.verdicts.book.table("t-1").hands) == [1, 2]


async def test_another_writer_makes_it_read_the_log_again(log: MemoryEventLog):
    mine, other = Writer(log), Writer(log)
    await other.write("t-1", 1)
    await other.write("t-2", 1)
    versions = await asyncio.gather(mine.write("t-1", 1), mine.write("t-3", 1))
    assert tuple(versions) == (None, 3)
    assert mine.verdicts.book.table("t-2").final_hand == 1


async def test_what_cannot_be_made_concerns_its_asker_alone(log: MemoryEventLog):
    writer = Writer(log)

    def refuse(_: TableVerdicts) -> None:
        raise ValueError("no")

    results = await asyncio.gather(writer.verdicts.write("t-1", refuse), writer.write("t-2", 1), return_exceptions=True)
    assert isinstance(results[0], ValueError)
    assert results[1] == 1


async def test_a_log_that_went_back_fails_the_batch_and_not_the_next_one(log: MemoryEventLog):
    writer = Writer(log)
    await writer.write("t-1", 1)
    real = log.append_many

    async def fail(appends: object) -> list[Head]:
        raise LogBehind(writer.verdicts.stream, Head(2), Head(1))

    log.append_many = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(LogBehind):
        await writer.write("t-1", 2)
    log.append_many = real  # type: ignore[method-assign]
    assert await writer.write("t-1", 2) == 2


async def test_a_caller_that_goes_away_does_not_stop_the_write(log: MemoryEventLog):
    writer = Writer(log)
    task = asyncio.create_task(writer.write("t-1", 1))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await writer.verdicts.close()
    assert writer.verdicts.book.table("t-1").final_hand == 1


async def test_stopping_while_a_write_hangs_is_bounded(log: MemoryEventLog):
    writer = Writer(log)
    await writer.verdicts.load()
    log.store.stop()
    task = asyncio.create_task(writer.write("t-1", 1))
    await asyncio.sleep(0.01)
    async with asyncio.timeout(STOP_WITHIN_S + 1):
        await writer.verdicts.close()
    with pytest.raises(Refused, match="STOPPING"):
        await task
    log.store.start()


async def test_a_notice_that_comes_twice_gives_one_verdict():
    """Killed between the append and the cursor: the new process reads the notice again."""
    court = Court()
    await court.open()
    await court.hand()
    for _ in range(2):
        court.appoint()
        await court.referee.load()
        court.heard = "0-0"
        await court.hear()
        assert len(await court.verdicts()) == 1


async def test_two_referees_at_once_give_one_verdict():
    court = Court()
    await court.open()
    await court.rig.play_hand(mischief=0)
    first = court.referee
    court.appoint()
    await court.referee.load()
    entry, _ = await court.rig.notice(1)
    await asyncio.gather(first.handle([entry]), court.referee.handle([entry]))
    assert len(await court.verdicts()) == 1
    assert first.verdicts[court.rig.shard].book.head == court.referee.verdicts[court.rig.shard].book.head

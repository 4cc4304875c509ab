"""One worker takes what is asked, in order, whoever goes away; and a stop is bounded."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from stud_eventlog.memory import MemoryEventLog
from stud_service import mailbox as mailbox_module
from stud_service.mailbox import Mail, Mailbox
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings


class Number(Mail):
    number: int


class Desk:
    """Answers ten times the number, once the gate is open."""

    def __init__(self, most: int = 1) -> None:
        self.runtime = Runtime("table", ServiceSettings(), MemoryEventLog())
        self.gate = asyncio.Event()
        self.gate.set()
        self.batches: list[list[int]] = []
        self.idled = 0
        self.box = Mailbox(self.take, most=most, idle=self.idle)

    def idle(self) -> None:
        self.idled += 1

    async def take(self, batch: Sequence[Number]) -> None:
        self.batches.append([mail.number for mail in batch])
        await self.gate.wait()
        for mail in batch:
            mail.done(10 * mail.number)

    async def ask(self, number: int, within_s: float | None = 5) -> object:
        return await self.box.answer(self.box.post(Number(number)), within_s)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    made.box.start(made.runtime, "desk")
    yield made
    made.gate.set()
    await made.runtime.tasks.cancel_all()


async def test_one_at_a_time_and_in_order(desk: Desk):
    assert await asyncio.gather(*(desk.ask(n) for n in range(5))) == [0, 10, 20, 30, 40]
    assert desk.batches == [[n] for n in range(5)]
    assert desk.idled == 1


async def test_what_has_arrived_is_taken_together_up_to_the_most():
    desk = Desk(most=3)
    mails = [desk.box.post(Number(n)) for n in range(5)]
    desk.box.start(desk.runtime, "desk")
    assert [await mail.future for mail in mails] == [0, 10, 20, 30, 40]
    assert desk.batches == [[0, 1, 2], [3, 4]]
    await desk.box.stop()


async def test_who_goes_away_changes_nothing(desk: Desk):
    desk.gate.clear()
    task = asyncio.create_task(desk.ask(1))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    desk.gate.set()
    assert await desk.ask(2) == 20
    assert desk.batches == [[1], [2]]


async def test_who_has_waited_too_long_is_told_that_nobody_knows_and_may_ask_again(desk: Desk):
    desk.gate.clear()
    with pytest.raises(Refused, match=r"OUTCOME_UNKNOWN.*same request_id"):
        await desk.ask(1, within_s=0.01)
    desk.gate.set()
    assert await desk.ask(2) == 20
    assert desk.batches == [[1], [2]]


async def test_an_answer_is_given_once(desk: Desk):
    mail = Number(1)
    mail.done(1)
    mail.fail(ValueError())
    mail.done(2)
    assert await mail.future == 1


async def test_a_stop_finishes_what_is_queued_and_takes_nothing_new(desk: Desk):
    desk.gate.clear()
    asked = [asyncio.create_task(desk.ask(n)) for n in range(3)]
    await asyncio.sleep(0)
    stop = asyncio.create_task(desk.box.stop())
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="STOPPING"):
        await desk.ask(9)
    own = desk.box.put(Number(4))  # what follows from what is queued
    desk.gate.set()
    await stop
    assert [await task for task in asked] == [0, 10, 20]
    assert await own.future == 40


async def test_a_stop_is_bounded_and_leaves_nobody_waiting(desk: Desk, monkeypatch):
    monkeypatch.setattr(mailbox_module, "STOP_WITHIN_S", 0.05)
    desk.gate.clear()
    asked = [asyncio.create_task(desk.ask(n)) for n in range(3)]
    await asyncio.sleep(0)
    async with asyncio.timeout(1):
        await desk.box.stop()
    for task in asked:
        with pytest.raises(Refused, match="STOPPING"):
            await task
    assert not desk.runtime.tasks.crashed.is_set()


async def test_a_box_that_was_never_opened_stops_as_well():
    desk = Desk()
    mail = desk.box.post(Number(1))
    await desk.box.stop()
    with pytest.raises(Refused, match="STOPPING"):
        await mail.future


async def test_a_fault_of_who_takes_ends_the_service_and_leaves_nobody_waiting():
    desk = Desk()

    async def take(_: Sequence[Number]) -> None:
        raise RuntimeError("a fault of ours")

    box = Mailbox(take)
    box.start(desk.runtime, "desk")
    with pytest.raises(Refused, match="STOPPING"):
        await box.answer(box.post(Number(1)))
    await asyncio.wait_for(desk.runtime.tasks.crashed.wait(), 1)

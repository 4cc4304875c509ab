"""A ledger is summed once for all who ask, from its entries, in a part of the loop's time."""

import asyncio
import secrets
from collections.abc import Sequence

import pytest

from stud_core.ledger import events as ev
from stud_core.ledger.postings import trial_balance
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.types import Append, ChainBroken, Head
from stud_service.limits import Share
from stud_wire.commits import Meta, encode_commit
from tests.support.system_memory import simulated
from wallet_service import sums as module
from wallet_service.sums import Sums

STREAM = keys.ledger_log("EUR")


async def write(log: MemoryEventLog, amounts: Sequence[int], head: Head = Head()) -> Head:  # noqa: B008  (a value)
    for number, amount in enumerate(amounts):
        event = ev.Deposited(f"p{number % 7}", amount, "", f"r-{head.version}", "carl")
        body = encode_commit([event], Meta(0, "carl", f"r-{head.version}", b"", None, "test"))
        head = await log.append(Append(STREAM, head.version, head.hash, secrets.token_bytes(16), body))
    return head


@pytest.fixture
def summed(monkeypatch) -> list[int]:
    """How many entries were added up."""
    counted = [0]

    def counting(events, onto):
        counted[0] += 1
        return trial_balance(events, onto)

    monkeypatch.setattr(module, "trial_balance", counting)
    return counted


def made(log: MemoryEventLog) -> Sums:
    return Sums(log, STREAM, Share(100), 64)


@simulated
async def test_each_entry_is_added_once_however_many_ask(summed):
    log = MemoryEventLog()
    await log.initialise()
    head = await write(log, [5] * 300)
    sums = made(log)
    answers = await asyncio.gather(*[sums.now() for _ in range(10)])
    assert {id(answer) for answer in answers} == {id(answers[0])}
    assert (answers[0].head, answers[0].total, answers[0].liabilities) == (head, 0, 1500)
    assert summed == [300]
    head = await write(log, [7] * 10, head)
    answer = await sums.now()
    assert (answer.head, answer.liabilities, summed) == (head, 1570, [310])
    assert await sums.at(300) is answers[0]  # its further pages
    assert (await sums.at(100)).liabilities == 500  # of long ago: from the beginning
    assert summed == [410]
    assert (await sums.at(10_000)).head == head  # there is none so high


@simulated
async def test_who_gives_up_has_not_asked_in_vain(summed):
    log = MemoryEventLog()
    await log.initialise()
    await write(log, [5] * 300)
    sums = Sums(log, STREAM, Share(10), 64)
    sums._share._owed_until = asyncio.get_running_loop().time() + 30
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await sums.now()
    await asyncio.sleep(60)
    assert summed == [300]
    assert (await sums.now()).liabilities == 1500
    assert summed == [300]


@simulated
async def test_a_log_that_is_another_one_by_now_is_summed_anew():
    log = MemoryEventLog()
    await log.initialise()
    await write(log, [5] * 30)
    sums = made(log)
    assert (await sums.now()).liabilities == 150
    other = MemoryEventLog()
    await other.initialise()
    head = await write(other, [6] * 40)
    sums._log = other
    answer = await sums.now()
    assert (answer.head, answer.liabilities) == (head, 240)


@simulated
async def test_only_the_last_versions_are_kept():
    log = MemoryEventLog()
    await log.initialise()
    sums, head = made(log), Head()
    for _ in range(20):
        head = await write(log, [1], head)
        await sums.now()
    assert len(sums._kept) == module.KEPT
    assert not sums._under_way


@simulated
async def test_a_fault_of_the_log_is_told_and_not_kept():
    store = MemoryStore()
    log = MemoryEventLog(store)
    await log.initialise()
    await write(log, [5] * 3)
    sums = made(log)
    rows = store.data.logs[STREAM]
    rows[1], second = rows[0], rows[1]
    with pytest.raises(ChainBroken):
        await sums.now()
    rows[1] = second
    assert (await sums.now()).liabilities == 15

"""One writer per ledger: order, conflicts, an unknown outcome, a rebuild (architecture.md, "Appending")."""

import asyncio
import os

import pytest

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.types import Append, LogUnavailable
from stud_service.refusals import Refused
from stud_wire.commits import Meta, decode_commit, encode_commit
from tests.support.waiting import until
from tests.support.wallet import Floor, Office, buy_in, working
from wallet_service.table_queue import TableQueue

LEDGER = keys.ledger_log("EUR")
T = "t-1"


def deposit(number: int, amount: int = 10) -> cmd.Deposit:
    return cmd.Deposit("ann", amount, "", f"d-{number}", "cash")


async def deposits(log: MemoryEventLog) -> list[str]:
    return [event.request_id for event in await Floor(log).entries() if isinstance(event, ev.Deposited)]


async def somebody_else_writes(log: MemoryEventLog, *events: object) -> None:
    head = await log.head(LEDGER)
    body = encode_commit(list(events), Meta(at_ms=1))  # type: ignore[arg-type]
    await log.append(Append(LEDGER, head.version, head.hash, os.urandom(16), body))


async def test_commands_that_come_together_are_decided_in_order_and_written_together():
    log = MemoryEventLog()
    async with working(log) as office:
        await office.fund(ann=0)
        withdraw = cmd.Withdraw("ann", 30, "", "w", "cash")
        calls: list[cmd.Command] = [deposit(1), deposit(2), deposit(3), withdraw, deposit(1)]
        done = await asyncio.gather(*map(office.submit, calls))
        assert [len(answer.events) for answer in done] == [1, 1, 1, 1, 0]
        assert await deposits(log) == ["d-1", "d-2", "d-3"]
    await log.close()


async def test_a_ledger_is_what_its_log_says_after_a_restart():
    log = MemoryEventLog()
    floor = Floor(log)
    async with working(log) as office:
        await office.fund(ann=1000)
        await floor.say(T, buy_in(1, "ann"))
        await floor.hears(T, ev.BuyInFunded)
        live = office.app.books["EUR"].state
        assert live.version == (await log.head(LEDGER)).version
    async with working(log) as office:
        assert office.app.books["EUR"].state == live
        assert not (await office.submit(cmd.Deposit("ann", 1000, "", "first-ann", "cash"))).events
    await log.close()


async def test_after_a_conflict_everything_is_decided_again_on_what_the_log_says():
    log = MemoryEventLog()
    async with working(log) as office:
        await office.fund(ann=100)
        await somebody_else_writes(log, ev.Withdrawn("ann", 60, "", "theirs", "other"))
        with pytest.raises(Refused) as refused:
            await office.submit(cmd.Withdraw("ann", 100, "", "ours", "cash"))
        assert (refused.value.reason, refused.value.metadata["balance"]) == ("INSUFFICIENT_FUNDS", "40")
        await somebody_else_writes(log, ev.Withdrawn("ann", 10, "", "theirs-2", "other"))
        done = await asyncio.gather(*[office.submit(deposit(number)) for number in range(5)])
        assert all(answer.events for answer in done)
        assert await deposits(log) == ["first-ann", *[f"d-{number}" for number in range(5)]]
    await log.close()


async def test_what_follows_a_message_that_failed_fails_too_though_nobody_waits_any_more(monkeypatch):
    """An operator's call ends while his table's requests are on their way; the first of them is not written."""
    log = MemoryEventLog()
    async with working(log) as office:
        await office.fund(ann=0)
        book, line = office.app.books["EUR"], TableQueue(T)
        append_many, go_on = log.append_many, asyncio.Event()

        async def refuses_the_first(appends):
            monkeypatch.setattr(log, "append_many", append_many)
            await go_on.wait()
            raise LogUnavailable("OOM")

        monkeypatch.setattr(log, "append_many", refuses_the_first)
        for number in (1, 2):
            await line.post(book, deposit(number), (T, number))
            await asyncio.sleep(0.01)  # the second is not of the same batch
        waiting = asyncio.create_task(line.durable())
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        go_on.set()
        await office.submit(deposit(3))
        assert await deposits(log) == ["d-3"]
    await log.close()


async def test_while_an_outcome_is_unknown_the_ledger_decides_nothing_else():
    store = MemoryStore()
    log = MemoryEventLog(store)
    async with working(log) as office:
        await office.fund(ann=100)
        book = office.app.books["EUR"]
        store.stop()
        first = asyncio.create_task(book.submit(deposit(1), within_s=0.05))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(book.submit(deposit(2), within_s=0.05))
        for call in (first, second):
            with pytest.raises(Refused) as refused:
                await call
            assert refused.value.reason == "OUTCOME_UNKNOWN"
        store.start()
        done = await asyncio.gather(office.submit(deposit(1)), office.submit(deposit(2)))
        assert [len(answer.events) for answer in done] == [0, 0]
        assert await deposits(log) == ["first-ann", "d-1", "d-2"]
    await log.close()


async def test_other_currencies_go_on_while_one_ledger_waits():
    log = MemoryEventLog()
    async with working(log) as office:
        await office.submit(cmd.OpenAccount("ann", "r"), "XTS")
        await office.submit(cmd.Deposit("ann", 5, "", "d", "cash"), "XTS")
        assert office.app.books["EUR"].state.version == 0
        assert office.app.books["XTS"].state.balance("player:ann") == 5
    await log.close()


async def test_a_log_that_surely_did_not_write_is_told_to_the_caller_and_the_feed_tries_again():
    class Moody(MemoryEventLog):
        moody = False

        async def append_many(self, appends):
            if self.moody:
                from stud_eventlog.types import LogUnavailable

                raise LogUnavailable("refused for now")
            return await super().append_many(appends)

    log = Moody()
    floor = Floor(log)
    async with working(log) as office:
        await office.fund(ann=1000)
        log.moody = True
        with pytest.raises(Refused) as refused:
            await office.submit(deposit(1))
        assert refused.value.reason == "LOG_UNAVAILABLE"
        await floor.say(T, buy_in(1, "ann"))
        await asyncio.sleep(0.05)
        assert await floor.told(T) == []
        log.moody = False
        await floor.hears(T, ev.BuyInFunded)
        assert len((await office.submit(deposit(1))).events) == 1
        assert await log.dead_list() == []
    await log.close()


async def test_a_log_that_lost_what_was_acknowledged_stops_the_ledger():
    store = MemoryStore()
    log = MemoryEventLog(store)
    async with working(log) as office:
        await office.fund(ann=100)
        old = store.snapshot()
        for number in range(10):
            await office.submit(deposit(number))
        store.restore(old)
        with pytest.raises(Refused) as refused:
            await office.submit(deposit(99))
        assert refused.value.reason == "LOG_BEHIND"
    await log.close()


async def test_a_stopped_service_takes_nothing_new_and_finishes_what_it_has():
    log = MemoryEventLog()
    office = Office(log)
    await office.app.start()
    await office.fund(ann=0)
    calls = [asyncio.create_task(office.submit(deposit(number))) for number in range(3)]
    await asyncio.sleep(0)
    await office.close()
    assert all(done.events for done in await asyncio.gather(*calls))
    await log.close()


async def test_who_cannot_be_answered_when_stopping_is_told_so():
    store = MemoryStore()
    log = MemoryEventLog(store)
    office = Office(log)
    await office.app.start()
    await office.fund(ann=0)
    store.stop()
    call = asyncio.create_task(office.submit(deposit(1)))
    await asyncio.sleep(0.02)
    await office.close()
    with pytest.raises(Refused) as refused:
        await call
    assert refused.value.reason == "STOPPING"
    await log.close()


async def test_a_commit_says_who_when_and_why():
    log = MemoryEventLog()
    floor = Floor(log)
    async with working(log) as office:
        await office.fund(ann=1000)
        await floor.say(T, buy_in(1, "ann"))
        await floor.hears(T, ev.BuyInFunded)

        async def last() -> Meta:
            head = await log.head(LEDGER)
            (stored,) = await log.read(LEDGER, head.version - 1)
            return decode_commit(stored.body).meta

        meta = await until(last, "the last commit")
        assert meta.at_ms == office.now_ms
        assert meta.cause == (keys.table_log(keys.shard_of(T), T), 1)
    await log.close()

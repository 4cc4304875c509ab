"""Who has an interest, as a table's log says it to services that keep no table."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from stud_core import events as ev
from stud_core.deck_events import LogRef
from stud_eventlog import keys
from stud_eventlog.log import PAGE
from stud_eventlog.memory import MemoryEventLog
from stud_service.interests import Interests, dealt_into
from stud_service.refusals import Refused
from tests.support.dealer import Tables, started
from tests.support.wallet import buy_in, cash_out

T = "t-1"
STREAM = keys.table_log(keys.shard_of(T), T)


class Counting(MemoryEventLog):
    """Counts the commits that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0
        self.begun = asyncio.Event()

    async def read(self, stream: str, after: int = 0, limit: int = 500) -> list[Any]:
        page = await super().read(stream, after, limit)
        self.commits += len(page)
        self.begun.set()
        return page


@pytest.fixture
def log() -> Counting:
    return Counting()


@pytest.fixture
def tables(log: Counting) -> Tables:
    return Tables(log)


async def seated(interests: Interests, account: str, table: str = T) -> bool:
    try:
        await interests.refuse_seated(account, table)
    except Refused as refused:
        return refused.reason == "OWN_INTEREST"
    return False


async def test_a_sitting_is_one_until_it_is_final(log: Counting, tables: Tables):
    interests = Interests(log)
    assert not await seated(interests, "ann")
    said: list[tuple[tuple[Any, ...], bool]] = [
        ((buy_in(1, "bob"),), False),
        ((buy_in(2, "ann"),), True),
        ((ev.PlayerSeated(2, 1, 500),), True),
        ((cash_out(2, "ann", 500),), True),
        ((ev.CashOutHeld(2, "CLAIM_MISMATCH"),), True),
        ((ev.PlayerLeft(1, 500),), True),
        ((ev.PlayerLeft(2, 500),), False),
        ((buy_in(3, "ann"),), True),
        ((ev.SeatReleased(3, 1, "INSUFFICIENT_FUNDS", 0),), False),
        ((buy_in(4, "ann"),), True),
        ((ev.SeatReleased(4, 1, "RESERVATION_EXPIRED", None), cash_out(4, "ann", None)), True),
        ((ev.PlayerLeft(4, 0),), False),
    ]
    for events, expected in said:
        await tables.say(T, *events)
        assert await seated(interests, "ann") is expected, events
        assert await seated(Interests(log), "ann") is expected, events


async def test_a_log_is_read_once_and_then_what_is_new(log: Counting, tables: Tables):
    interests = Interests(log)
    for sitting_no in range(1, PAGE + 100):
        await tables.say(T, buy_in(sitting_no, f"a{sitting_no}"))
    assert await seated(interests, "a1")
    assert log.commits == PAGE + 99
    for _ in range(3):
        assert await seated(interests, f"a{PAGE + 99}")
    await tables.say(T, buy_in(PAGE + 100, "new"))
    assert await seated(interests, "new")
    assert log.commits <= PAGE + 99 + 8


async def test_who_gives_up_while_a_long_log_is_read_finds_it_further_read(log: Counting, tables: Tables):
    interests = Interests(log)
    for sitting_no in range(1, 3 * PAGE):
        await tables.say(T, buy_in(sitting_no, f"a{sitting_no}"))
    asked = asyncio.create_task(seated(interests, "a1"))
    await log.begun.wait()
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    assert log.commits < 3 * PAGE
    assert await seated(interests, "a1")
    assert log.commits < 4 * PAGE


async def test_only_so_many_tables_are_kept(log: Counting, tables: Tables):
    interests = Interests(log, capacity=2)
    for table in ("t-1", "t-2", "t-3"):
        await tables.say(table, buy_in(1, table))
    for table in ("t-1", "t-2", "t-3", "no-such-table"):
        assert await seated(interests, table, table) is (table != "no-such-table")
    assert list(interests._known) == ["t-2", "t-3"]
    assert await seated(interests, "t-1", "t-1")


async def test_a_log_that_was_put_back_is_read_anew(log: Counting, tables: Tables):
    interests = Interests(log)
    rows = log.store.data.logs
    await tables.say(T, ev.PlayerLeft(9, 0))
    kept = list(rows[STREAM])
    await tables.say(T, buy_in(1, "ann"))
    assert await seated(interests, "ann")
    rows[STREAM][:] = kept
    assert not await seated(interests, "ann")
    other = MemoryEventLog()
    await Tables(other).say(T, buy_in(1, "bob"))
    rows[STREAM][:] = other.store.data.logs[STREAM]  # as long as what was read, and another
    assert await seated(interests, "bob")


async def test_what_cannot_be_read_hides_nothing_else(log: Counting, tables: Tables):
    await tables.say(T, buy_in(1, "ann"))
    await tables.say(T, ev.LeaveRequested(1, 1))
    await tables.say(T, started(1))
    rows = log.store.data.logs[STREAM]
    commit, stored_hash = rows[1]
    rows[1] = (replace(commit, body=b"\xff\xff"), stored_hash)
    assert await Interests(log).of_hand(T, 1) == {"ann", "p1", "p2", "p3"}
    assert await Interests(log).of_hand(T, 2) == {"ann"}


async def test_the_players_of_a_hand_stand_in_its_range(log: Counting, tables: Tables):
    for hand_no in (1, 2, 3):
        await tables.say(T, started(hand_no, range(1, hand_no + 1)))
        await tables.say(T, ev.HandEnded(hand_no, 1, (), (), 0))

    async def players(first: int, last: int, hand_no: int) -> set[str] | None:
        found = await dealt_into(log, LogRef(STREAM, first, last, bytes(32)), hand_no)
        return None if found is None else set(found)

    assert await players(1, 2, 1) == {"p1"}
    assert await players(3, 4, 2) == {"p1", "p2"}
    assert await players(3, 4, 3) is None
    assert await players(5, 9, 3) == {"p1", "p2", "p3"}
    assert await players(7, 9, 4) is None

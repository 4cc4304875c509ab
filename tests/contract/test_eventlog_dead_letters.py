"""Dead letters: the parked line of a table, in order, until it is discarded."""

import pytest

from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import DeadLetter, FeedEntry


def entry(number: int, feed: str = keys.dealer_feed(7)) -> FeedEntry:
    return FeedEntry(feed, f"{number}-0", keys.deck_log(7, "t-1"), number, 2, b"h" * 32, b"event %d\x00\xff" % number)


async def test_a_line_is_kept_in_the_order_of_parking(log: EventLog):
    feeds = [keys.dealer_feed(7), keys.verdicts(7), keys.ledger_feed("EUR", 7)]
    for n in range(12):
        assert await log.park("table", 7, "t-1", entry(100 - n, feeds[n % 3]), f"because of {n}: ü")
        await log.park("table", 7, "t-2", entry(n), "other table")
    line = await log.dead_take("table", 7, "t-1")
    assert [letter.entry for letter in line] == [entry(100 - n, feeds[n % 3]) for n in range(12)]
    assert [letter.reason for letter in line] == [f"because of {n}: ü" for n in range(12)]
    assert sorted(letter.number for letter in line) == [letter.number for letter in line]
    assert {(letter.service, letter.shard, letter.table_id) for letter in line} == {("table", 7, "t-1")}


async def test_parking_a_message_twice_keeps_one(log: EventLog):
    assert await log.park("table", 7, "t-1", entry(1), "first reason")
    assert not await log.park("table", 7, "t-1", entry(1), "second reason")
    (letter,) = await log.dead_take("table", 7, "t-1")
    assert letter.reason == "first reason"


async def test_taking_leaves_the_line_parked_until_it_is_discarded(log: EventLog):
    for n in range(4):
        await log.park("table", 7, "t-1", entry(n), "why")
    await log.park("table", 7, "t-2", entry(9), "why")
    assert await log.parked_tables("table", 7) == {"t-1", "t-2"}
    line = await log.dead_take("table", 7, "t-1")
    assert await log.dead_take("table", 7, "t-1") == line
    assert await log.dead_discard("table", 7, "t-1", up_to=line[1].number) == 2
    assert await log.dead_take("table", 7, "t-1") == line[2:]
    assert await log.dead_discard("table", 7, "t-1") == 2
    assert await log.dead_discard("table", 7, "t-1") == 0
    assert await log.parked_tables("table", 7) == {"t-2"}
    await log.park("table", 7, "t-1", entry(50), "again")
    assert [letter.entry for letter in await log.dead_take("table", 7, "t-1")] == [entry(50)]


async def test_services_and_shards_do_not_see_each_others(log: EventLog):
    await log.park("table", 7, "t-1", entry(1), "why")
    await log.park("wallet", 7, "t-1", entry(2), "why")
    await log.park("table", 8, "t-9", entry(3), "why")
    assert await log.parked_tables("table", 9) == set()
    assert await log.parked_tables("dealer", 7) == set()
    assert [letter.entry for letter in await log.dead_list("table")] == [entry(1), entry(3)]

    def place(letter: DeadLetter) -> tuple[int, str, str]:
        return letter.shard, letter.service, letter.table_id

    assert [place(letter) for letter in await log.dead_list()] == [
        (7, "table", "t-1"),
        (7, "wallet", "t-1"),
        (8, "table", "t-9"),
    ]
    await log.dead_discard("table", 7, "t-1")
    await log.dead_discard("wallet", 7, "t-1")
    await log.dead_discard("table", 8, "t-9")
    assert await log.dead_list() == []


async def test_a_retry_is_asked_for_by_anybody_and_cleared_by_the_reader(log: EventLog):
    assert await log.retry_requests("table", 7) == set()
    await log.request_retry("table", 7, "t-1")
    await log.request_retry("table", 7, "t-1")
    await log.request_retry("table", 7, "t-2")
    assert await log.retry_requests("table", 7) == {"t-1", "t-2"}
    assert await log.retry_requests("table", 8) == set()
    await log.clear_retry("table", 7, "t-1")
    await log.clear_retry("table", 8, "t-1")
    assert await log.retry_requests("table", 7) == {"t-2"}


async def test_what_is_no_table_cannot_be_parked(log: EventLog):
    with pytest.raises(ValueError, match="table id"):
        await log.park("table", 7, "T 1", entry(1), "why")
    with pytest.raises(ValueError, match="table id"):
        await log.request_retry("table", 7, "")

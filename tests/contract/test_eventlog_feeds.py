"""Feeds: order, waiting, cursors that only move forward, trimming below the slowest reader, lost positions."""

import asyncio
import time

import pytest

from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import FeedEntry, FeedItem, Head
from tests.support.eventlogs import World, an_append, write

STREAM = keys.table_log(7, "t-1")
FEED = keys.table_feed(7)
OTHER = keys.dealer_feed(7)


async def now(log: EventLog, positions: dict[str, str], limit: int = 256) -> list[FeedEntry]:
    return await log.read_feeds(positions, limit, block_ms=0)


def events(entries: list[FeedEntry]) -> list[bytes]:
    return [entry.event for entry in entries]


async def test_a_feed_gives_all_streams_of_its_shard_in_the_order_of_commits(log: EventLog):
    other_stream = keys.table_log(7, "t-2")
    for n in range(10):
        await write(log, (STREAM, other_stream)[n % 2], b"%d" % n, feed=FEED)
    entries = await now(log, {FEED: "0-0"})
    assert events(entries) == [b"%d" % n for n in range(10)]
    assert [entry.stream for entry in entries] == [STREAM, other_stream] * 5
    assert [entry.version for entry in entries] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert await log.last_id(FEED) == entries[-1].entry_id


async def test_reading_goes_on_behind_a_position_and_within_a_limit(log: EventLog):
    await write(log, STREAM, *(b"%d" % n for n in range(20)), feed=FEED)
    position, read = "0-0", []
    while entries := await now(log, {FEED: position}, limit=3):
        assert len(entries) <= 3
        read += events(entries)
        position = entries[-1].entry_id
    assert read == [b"%d" % n for n in range(20)]


async def test_several_feeds_are_read_together_and_none_starves(log: EventLog):
    feeds = {keys.table_feed(shard): "0-0" for shard in range(8)}
    for shard in range(8):
        await write(log, keys.table_log(shard, "t"), *(b"%d" % n for n in range(30)), feed=keys.table_feed(shard))
    read: dict[str, list[bytes]] = {feed: [] for feed in feeds}
    calls = 0
    while entries := await now(log, feeds, limit=16):
        assert len(entries) <= 16
        calls += 1
        for entry in entries:
            read[entry.feed].append(entry.event)
            feeds[entry.feed] = entry.entry_id
    assert all(of_feed == [b"%d" % n for n in range(30)] for of_feed in read.values())
    assert calls < 60


async def test_a_log_is_read_as_a_feed(log: EventLog):
    verdicts = keys.verdicts(7)
    head = await write(log, verdicts, b"verdict 1", b"verdict 2")
    await write(log, STREAM, b"event", feed=FEED)
    entries = await now(log, {verdicts: "0-0", FEED: "0-0"})
    assert sorted(events(entries)) == [b"event", b"verdict 1", b"verdict 2"]
    last = next(entry for entry in entries if entry.event == b"verdict 2")
    assert last == FeedEntry(verdicts, "2-0", verdicts, 2, 0, head.hash, b"verdict 2")
    assert await now(log, {verdicts: "2-0"}) == []
    assert await now(log, {verdicts: "1-0"}) == [last]
    assert events(await now(log, {verdicts: "0-0"}, limit=1)) == [b"verdict 1"]
    assert await log.last_id(verdicts) == "2-0"


async def test_waiting_ends_with_the_first_entry(world: World):
    reader, writer = await world.open(), await world.open()
    waiting = asyncio.create_task(reader.read_feeds({FEED: "0-0", OTHER: "0-0"}, block_ms=2500))
    await asyncio.sleep(0.05)
    await write(writer, STREAM, b"at last", feed=OTHER)
    await asyncio.wait({waiting}, timeout=1.5)
    assert waiting.done()
    assert events(await waiting) == [b"at last"]


async def test_waiting_in_vain_ends_empty(log: EventLog):
    start = time.monotonic()
    assert await log.read_feeds({FEED: "0-0"}, block_ms=100) == []
    assert time.monotonic() - start > 0.05


async def test_reading_no_feeds_at_all_gives_nothing(log: EventLog):
    start = time.monotonic()
    assert await log.read_feeds({}, block_ms=50) == []
    assert time.monotonic() - start > 0.03


async def test_reading_does_not_hold_up_appending(log: EventLog):
    waiting = asyncio.create_task(log.read_feeds({FEED: "0-0"}, block_ms=2500))
    await asyncio.sleep(0.02)
    await write(log, STREAM, b"1", b"2")
    assert not waiting.done()
    await write(log, STREAM, b"3", feed=FEED)
    assert events(await waiting) == [b"3"]


async def test_cancelling_a_waiting_reader_loses_nothing(log: EventLog):
    for n in range(3):
        waiting = asyncio.create_task(log.read_feeds({FEED: "0-0"}, block_ms=1000))
        await asyncio.sleep(0.01 * n)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await write(log, STREAM, b"event", feed=FEED)
    assert events(await now(log, {FEED: "0-0"})) == [b"event"]


async def test_cursors_start_at_zero_and_belong_to_one_service(log: EventLog):
    await write(log, STREAM, b"1", b"2", feed=FEED)
    first, second = await now(log, {FEED: "0-0"})
    ledger = keys.ledger_feed("EUR", 7)
    assert await log.load_cursors("wallet", [FEED, ledger]) == {FEED: "0-0", ledger: "0-0"}
    await log.store_cursors("wallet", {FEED: first.entry_id, ledger: "0-0"})
    await log.store_cursors("dealer", {FEED: second.entry_id})
    await log.store_cursors("dealer", {})
    assert await log.load_cursors("wallet", [FEED]) == {FEED: first.entry_id}
    assert await log.load_cursors("dealer", [FEED, OTHER]) == {FEED: second.entry_id, OTHER: "0-0"}
    assert await log.load_cursors("dealer", []) == {}


async def test_a_cursor_moves_forward_only(log: EventLog):
    await write(log, STREAM, b"1", b"2", b"3", feed=FEED)
    ids = [entry.entry_id for entry in await now(log, {FEED: "0-0"})]
    for stored, then in ((ids[1], ids[1]), (ids[0], ids[1]), ("0-0", ids[1]), (ids[2], ids[2]), (ids[1], ids[2])):
        await log.store_cursors("dealer", {FEED: stored})
        assert await log.load_cursors("dealer", [FEED]) == {FEED: then}


@pytest.mark.parametrize("nonsense", ["garbage", "5", "-1-0", "1-2-3", "é-0", "99999999999999999999-0", " 1-0", ""])
async def test_a_cursor_that_is_no_position_counts_as_none(world: World, nonsense: str):
    """Whoever wrote it: its reader starts over, its neighbours go on, and the next position to be stored mends it."""
    log = await world.open()
    await write(log, STREAM, b"1", b"2", feed=FEED)
    first, second = await now(log, {FEED: "0-0"})
    await log.store_cursors("wallet", {FEED: second.entry_id})
    await world.set_cursor(keys.cursor("dealer", FEED), nonsense)
    assert await log.load_cursors("dealer", [OTHER, FEED]) == {OTHER: "0-0", FEED: "0-0"}
    assert await log.load_cursors("wallet", [FEED]) == {FEED: second.entry_id}
    assert await log.trim_feed(FEED, ["dealer", "wallet"]) == 0
    await log.store_cursors("dealer", {FEED: first.entry_id})
    assert await log.load_cursors("dealer", [FEED]) == {FEED: first.entry_id}


async def test_the_cursor_of_a_log_moves_forward_only(log: EventLog):
    verdicts = keys.verdicts(7)
    await write(log, verdicts, *(b"%d" % n for n in range(12)))
    for stored, then in (("9-0", "9-0"), ("10-0", "10-0"), ("9-0", "10-0"), ("2-0", "10-0"), ("12-0", "12-0")):
        await log.store_cursors("table", {verdicts: stored})
        assert await log.load_cursors("table", [verdicts]) == {verdicts: then}


async def test_what_is_no_position_is_refused(log: EventLog):
    for wrong in ("$", "5", "5-", "-5", "5-x", "", "²-0"):
        with pytest.raises(ValueError, match="expected two numbers"):
            await log.store_cursors("dealer", {FEED: wrong})


async def test_trimming_stops_below_the_slowest_reader(log: EventLog):
    await write(log, STREAM, *(b"%d" % n for n in range(10)), feed=FEED)
    ids = [entry.entry_id for entry in await now(log, {FEED: "0-0"})]
    assert await log.trim_feed(FEED, ["dealer", "wallet"]) == 0
    await log.store_cursors("dealer", {FEED: ids[8]})
    assert await log.trim_feed(FEED, ["dealer", "wallet"]) == 0  # the wallet's missing cursor counts as zero
    await log.store_cursors("wallet", {FEED: ids[3]})
    assert await log.trim_feed(FEED, ["dealer", "wallet"]) == 3
    assert events(await now(log, {FEED: "0-0"})) == [b"%d" % n for n in range(3, 10)]
    assert events(await now(log, {FEED: ids[3]})) == [b"%d" % n for n in range(4, 10)]
    assert await log.trim_feed(FEED, ["dealer"]) == 5
    await log.store_cursors("dealer", {FEED: ids[9]})
    assert await log.trim_feed(FEED, ["dealer"]) == 1
    assert await log.last_id(FEED) == ids[9]
    assert await log.trim_feed(keys.dealer_feed(9), ["table"]) == 0


async def test_a_log_is_never_trimmed(log: EventLog):
    for stream in (keys.verdicts(7), STREAM, keys.deck_log(7, "t-1"), keys.ledger_log("EUR")):
        with pytest.raises(ValueError, match="only feeds are trimmed"):
            await log.trim_feed(stream, ["table"])
    with pytest.raises(ValueError, match="must be named"):
        await log.trim_feed(FEED, [])


async def test_a_cursor_above_the_feed_is_told_and_read_from_the_start(world: World):
    told: list[tuple[str, str, str]] = []
    log = await world.open(on_cursor_ahead=lambda *what: told.append(what))
    await write(log, STREAM, b"1", b"2", feed=FEED)
    last = await log.last_id(FEED)
    ahead = "9999999999999-0"
    assert events(await now(log, {FEED: ahead, OTHER: "0-0"})) == [b"1", b"2"]
    assert told == [(FEED, ahead, last)]
    assert await now(log, {FEED: last}) == []  # sound: nothing to tell
    assert len(told) == 1


async def test_a_cursor_in_an_empty_feed_is_told(world: World):
    told: list[tuple[str, str, str]] = []
    log = await world.open(on_cursor_ahead=lambda *what: told.append(what))
    verdicts = keys.verdicts(7)
    assert await now(log, {OTHER: "5-0", verdicts: "3-0"}) == []
    assert told == [(OTHER, "5-0", "0-0"), (verdicts, "3-0", "0-0")]


async def test_without_a_callback_a_lost_position_is_rewound_all_the_same(log: EventLog):
    await write(log, STREAM, b"1", feed=FEED)
    assert events(await now(log, {FEED: "9999999999999-0"})) == [b"1"]


async def test_a_stored_cursor_of_a_lost_past_can_move_back(world: World):
    log = await world.open()
    verdicts = keys.verdicts(7)
    await write(log, STREAM, b"1", b"2", feed=FEED)
    await write(log, verdicts, b"1", b"2", b"3")
    await log.store_cursors("table", {FEED: await log.last_id(FEED), verdicts: "3-0", OTHER: "77-7"})
    first = (await now(log, {FEED: "0-0"}))[0].entry_id
    await log.store_cursors("table", {OTHER: "5-0"})  # nothing there: any move is right
    assert await log.load_cursors("table", [OTHER]) == {OTHER: "5-0"}
    await log.store_cursors("table", {FEED: "9999999999999-0", verdicts: "30-0"})
    assert await log.trim_feed(FEED, ["table"]) == 0  # would have dropped what nobody has read
    await log.store_cursors("table", {FEED: first, verdicts: "2-0"})
    assert await log.load_cursors("table", [FEED, verdicts]) == {FEED: first, verdicts: "2-0"}


async def test_a_ledger_has_a_feed_for_each_shard_in_its_own_slot(log: EventLog):
    ledger, to_7, to_8 = keys.ledger_log("EUR"), keys.ledger_feed("EUR", 7), keys.ledger_feed("EUR", 8)
    await log.append(an_append(ledger, Head(), b"x", FeedItem(to_7, b"7"), FeedItem(to_8, b"8"), FeedItem(to_7, b"77")))
    entries = await now(log, {to_7: "0-0"})
    assert events(entries) == [b"7", b"77"]
    await log.store_cursors("table", {to_7: entries[1].entry_id})
    assert await log.trim_feed(to_7, ["table"]) == 1
    assert await log.trim_feed(to_8, ["table"]) == 0

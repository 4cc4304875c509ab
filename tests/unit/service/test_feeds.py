"""The feed reader on a log in memory: order, poison, patience, cursors."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import structlog

from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.types import ChainBroken, Head, LogBehind, LogUnavailable, VersionConflict
from stud_service import feeds as feeds_module
from stud_service import parking
from stud_service.feeds import FeedReader
from stud_service.refusals import Refused
from stud_service.retrying import Poison
from stud_topology.services import Service
from stud_wire.codec import UnknownEventError, WireError
from tests.support.echo import SERVICE, Echo, count, feed_of, key, parse, reader_for
from tests.support.runtime import logged, until

# Two tables of one shard, so that they share a feed, and one of another.
T1 = "t-1"
T2 = next(name for name in (f"u-{n}" for n in range(1000)) if keys.shard_of(name) == keys.shard_of(T1))
T3 = next(name for name in (f"v-{n}" for n in range(1000)) if keys.shard_of(name) != keys.shard_of(T1))
TABLES = [T1, T2, T3]
SHARD = keys.shard_of(T1)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch):
    """Waits less, and logs as a service does: drawing tracebacks for people takes seconds on a busy machine."""
    monkeypatch.setattr(parking, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(feeds_module, "STALL_RETRY_S", 0.05)
    with logged("dealer"):
        yield


@pytest.fixture
async def store():
    return MemoryStore()


@pytest.fixture
async def log(store):
    return MemoryEventLog(store)


@pytest.fixture
async def echo(log):
    return Echo(log)


@asynccontextmanager
async def running(reader: FeedReader) -> AsyncIterator[FeedReader]:
    task = asyncio.create_task(reader.run())
    try:
        yield reader
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def cursor(log: MemoryEventLog, table: str) -> str:
    return (await log.load_cursors(SERVICE, [feed_of(table)]))[feed_of(table)]


async def saved(log: MemoryEventLog, table: str) -> None:
    """Waits until the cursor stands at the feed's end."""

    async def at_the_end() -> bool:
        return await cursor(log, table) == await log.last_id(feed_of(table))

    await until(at_the_end)


def at(table: str, number: int, fault: Exception) -> Callable[[str, int], None]:
    def check(that_table: str, that_number: int) -> None:
        if (that_table, that_number) == (table, number):
            raise fault

    return check


# The plain way


async def test_every_table_s_messages_come_in_order_and_its_cursor_follows(log, echo):
    for table in TABLES:
        await count(log, table, 5)
    async with running(reader_for(echo, TABLES)) as reader:
        for table in TABLES:
            await echo.until(table, 5)
            await saved(log, table)
            assert reader.caught_up_to(feed_of(table)) == await log.last_id(feed_of(table))
    for table in TABLES:
        assert [number for name, number in echo.handled if name == table] == [1, 2, 3, 4, 5]
    assert reader.counts.read == 15


async def test_what_comes_while_it_runs_is_read_at_once(log, echo):
    async with running(reader_for(echo, TABLES, block_ms=60_000)):
        for number in range(1, 4):
            await count(log, T1, number)
            await echo.until(T1, number)


async def test_a_batch_is_grouped_by_table_and_bounded(log, echo):
    await count(log, T1, 7)
    await count(log, T2, 7)
    async with running(reader_for(echo, TABLES, limit=6)):
        await echo.until(T2, 7)
    assert all(len({table for table, _ in batch}) == 1 for batch in echo.batches)
    assert max(map(len, echo.batches)) <= 6


async def test_tables_of_a_batch_are_handled_at_the_same_time(log):
    both = asyncio.Barrier(2)

    async def handle(entries):
        async with asyncio.timeout(5):
            await both.wait()

    echo = Echo(log)
    echo.handle = handle  # type: ignore[method-assign]
    await count(log, T1, 1)
    await count(log, T2, 1)
    async with running(reader_for(echo, TABLES)):
        await saved(log, T1)


async def test_messages_for_nobody_are_skipped(log, echo):
    await count(log, T1, 1, "skip")
    await count(log, T2, 1)
    async with running(reader_for(echo, TABLES)) as reader:
        await echo.until(T2, 1)
        await saved(log, T1)
    assert reader.counts.skipped == 1


async def test_a_restart_goes_on_where_it_was(log, echo):
    await count(log, T1, 3)
    async with running(reader_for(echo, TABLES)):
        await echo.until(T1, 3)
        await saved(log, T1)
    await count(log, T1, 5)
    async with running(reader_for(echo, TABLES)):
        await echo.until(T1, 5)
    assert [number for _, number in echo.handled] == [1, 2, 3, 4, 5]


async def test_the_cursor_does_not_move_before_the_effects_are_durable(log):
    go_on = asyncio.Event()
    echo = Echo(log)

    async def handle(entries):
        await go_on.wait()

    echo.handle = handle  # type: ignore[method-assign]
    await count(log, T1, 2)
    async with running(reader_for(echo, TABLES)) as reader:
        await asyncio.sleep(0.05)
        assert await cursor(log, T1) == "0-0" == reader.caught_up_to(feed_of(T1))
        go_on.set()
        await saved(log, T1)


async def test_a_process_that_ends_between_effect_and_cursor_repeats_and_doubles_nothing(log, echo, store):
    await count(log, T1, 3)
    reader = reader_for(echo, TABLES)
    reader._save = _never  # type: ignore[method-assign]
    async with running(reader):
        await echo.until(T1, 3)
    assert await cursor(log, T1) == "0-0"
    again = Echo(MemoryEventLog(store))
    async with running(reader_for(again, TABLES)):
        await saved(log, T1)
    assert [number for _, number in again.handled] == [1, 2, 3]
    assert await again.echoed(T1) == 3


async def _never() -> None:
    await asyncio.Event().wait()


async def test_a_stop_saves_what_is_done(log, echo):
    await count(log, T1, 1)
    reader = reader_for(echo, TABLES)
    reader._save_on = _never  # type: ignore[method-assign]
    async with running(reader):
        await until(lambda: reader.caught_up_to(feed_of(T1)) != "0-0")
    assert await cursor(log, T1) == await log.last_id(feed_of(T1))


# Poison


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Poison("refused by the rules"), "refused by the rules"),
        (ValueError("37 is no card"), "ValueError at test_feeds.py:"),
        (KeyError(37), "KeyError at"),
        (TypeError("x"), "TypeError at"),
        (ZeroDivisionError("x"), "ZeroDivisionError at"),
        (Refused("UNKNOWN_SITTING", "no such sitting"), "refused: UNKNOWN_SITTING"),
        (ChainBroken(keys.table_log(SHARD, T1), 3), "ChainBroken"),
        (LogBehind(keys.deck_log(SHARD, T1), Head(3), Head(2)), "LogBehind"),
        (RuntimeError("nobody foresaw this"), "RuntimeError at"),
    ],
)
async def test_poison_parks_its_table_s_line_and_no_other(log, fault, told, monkeypatch):
    monkeypatch.setattr("stud_service.retrying.FIRST_PAUSE_S", 0.001)
    echo = Echo(log, at(T1, 2, fault))
    for table in TABLES:
        await count(log, table, 4)
    async with running(reader_for(echo, TABLES)) as reader:
        for table in (T2, T3):
            await echo.until(table, 4)
            await saved(log, table)
        assert await echo.echoed(T1) == 1
        await count(log, T1, 5)
        await saved(log, T1)
        assert reader.parked == {T1}
    letters = await log.dead_list(SERVICE)
    assert [parse(letter.entry) for letter in letters] == [(T1, n) for n in (2, 3, 4, 5)]
    assert told in letters[0].reason
    assert "37" not in letters[0].reason.replace("test_feeds.py:", "")[:20]
    assert {letter.reason for letter in letters[1:]} == {"behind a parked message"}


async def test_a_single_poisoned_message_is_not_tried_twice(log):
    tries = []

    def fault(table: str, number: int) -> None:
        tries.append(number)
        raise Poison("no")

    await count(log, T1, 1)
    async with running(reader_for(Echo(log, fault), TABLES)):
        await saved(log, T1)
    assert tries == [1]


async def test_a_retry_replays_in_order_before_anything_new(log):
    echo = Echo(log, at(T1, 2, Poison("not yet")))
    await count(log, T1, 4)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        echo.fault = None
        await log.request_retry(SERVICE, SHARD, T1)
        await count(log, T1, 6)
        await echo.until(T1, 6)
        await until(lambda: not reader.parked)
    assert reader.counts.replayed >= 3
    assert await log.dead_list() == []
    assert await log.retry_requests(SERVICE, SHARD) == set()
    numbers = [number for _, number in echo.handled]
    assert sorted(set(numbers)) == [1, 2, 3, 4, 5, 6]


async def test_a_retry_that_fails_again_keeps_the_rest_parked(log):
    echo = Echo(log, at(T1, 1, Poison("no")))
    await count(log, T1, 4)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        echo.fault = at(T1, 3, Poison("still no"))
        await log.request_retry(SERVICE, SHARD, T1)
        await echo.until(T1, 2)

        async def answered() -> bool:
            return not await log.retry_requests(SERVICE, SHARD)

        await until(answered)
        assert reader.parked == {T1}
    assert [parse(letter.entry)[1] for letter in await log.dead_list(SERVICE)] == [3, 4]


async def test_who_asks_for_a_retry_while_another_fails_is_not_forgotten(log):
    """What was in the way has been put right after the message was looked at: this replay did not see it."""
    echo = Echo(log, at(T1, 1, Poison("no")))

    def mended_too_late(table: str, number: int) -> None:
        echo.fault = None
        log.store.data.retries[keys.retry(SERVICE, SHARD)].add(T1)
        raise Poison("still no")

    await count(log, T1, 2)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        echo.fault = mended_too_late
        await log.request_retry(SERVICE, SHARD, T1)
        await echo.until(T1, 2)
        await until(lambda: not reader.parked)
    assert await log.dead_list() == []


async def test_a_retry_is_not_forgotten_when_the_log_goes_away_meanwhile(log, store, monkeypatch):
    echo = Echo(log, at(T1, 1, Poison("no")))
    take, taken = log.dead_take, []

    async def away_at_first(*where):
        taken.append(where)
        if len(taken) == 1:
            raise LogUnavailable("away")
        return await take(*where)

    monkeypatch.setattr(log, "dead_take", away_at_first)
    await count(log, T1, 2)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        echo.fault = None
        await log.request_retry(SERVICE, SHARD, T1)
        await echo.until(T1, 2)
        await until(lambda: not reader.parked)


async def test_a_line_is_still_parked_after_a_restart(log):
    echo = Echo(log, at(T1, 1, Poison("no")))
    await count(log, T1, 2)
    async with running(reader_for(echo, TABLES)):
        await saved(log, T1)
    echo.fault = None
    await count(log, T1, 3)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        assert reader.parked == {T1}
        assert await echo.echoed(T1) == 0
        await log.request_retry(SERVICE, SHARD, T1)
        await echo.until(T1, 3)


async def test_a_crash_while_parking_keeps_the_order(log, store):
    """The first message was parked, the cursor not stored: the batch comes again and the line stays in order."""
    await count(log, T1, 3)
    entries = await log.read_feeds({feed_of(T1): "0-0"}, block_ms=0)
    await log.park(SERVICE, SHARD, T1, entries[0], "before the crash")
    async with running(reader_for(Echo(log), TABLES)):
        await saved(log, T1)
    letters = await log.dead_list(SERVICE)
    assert [(parse(letter.entry)[1], letter.number) for letter in letters] == [(1, 1), (2, 2), (3, 3)]


async def test_a_line_that_was_dropped_from_outside_is_let_in_again(log):
    echo = Echo(log, at(T1, 1, Poison("no")))
    await count(log, T1, 1)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        echo.fault = None
        await log.dead_discard(SERVICE, SHARD, T1)
        await until(lambda: not reader.parked)
        await count(log, T1, 2)
        await saved(log, T1)
    assert echo.handled[-1] == (T1, 2)  # which the echo finds poisonous, since it lacks 1


async def test_a_line_dropped_a_moment_ago_is_noticed_with_the_next_message(log, monkeypatch):
    monkeypatch.setattr(parking, "LOOK_EVERY_S", 60)
    echo = Echo(log, at(T1, 1, Poison("no")))
    await count(log, T1, 1)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        await log.dead_discard(SERVICE, SHARD, T1)
        echo.fault = at(T1, 2, Poison("another"))
        await count(log, T1, 2)
        await saved(log, T1)
        assert reader.parked == {T1}
    (letter,) = await log.dead_list(SERVICE)
    assert letter.reason == "another"


async def test_a_message_that_cannot_be_read_is_parked_by_its_stream(log, echo):
    await count(log, T1, 1, "not for us to read")
    await count(log, T2, 1)
    async with running(reader_for(echo, TABLES)) as reader:
        await saved(log, T1)
        await echo.until(T2, 1)
        assert reader.parked == {T1}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Poison("cannot be"), "INTERNAL"),
        (ValueError("who knows"), "INTERNAL"),
        (WireError("no event"), "MALFORMED_MESSAGE"),
        (Refused("UNKNOWN_TABLE", "no"), "UNKNOWN_TABLE"),
        (LogBehind(keys.table_log(SHARD, T1), Head(3), Head(2)), "LOG_BEHIND"),
        (ChainBroken(keys.table_log(SHARD, T1), 3), "LOG_BROKEN"),
    ],
)
async def test_before_a_line_is_parked_its_table_is_told_why(log, fault, reason):
    """Durably: it is told again until that works, and again when a replay fails."""
    told: list[tuple[str, str]] = []

    async def tell(table: str, why: str) -> None:
        assert bool(await log.dead_list(SERVICE)) == (len(told) == 2)
        told.append((table, why))
        if len(told) == 1:
            raise LogUnavailable("not yet")

    echo = Echo(log, at(T1, 2, fault))
    for table in TABLES:
        await count(log, table, 3)
    async with running(reader_for(echo, TABLES, on_poison=tell)) as reader:
        await echo.until(T3, 3)
        await until(lambda: reader.parked == {T1})
        assert told == [(T1, reason)] * 2
        await log.request_retry(SERVICE, SHARD, T1)
        await until(lambda: len(told) == 3)
        assert told[2] == (T1, reason)


# What stops a feed


@pytest.mark.parametrize(
    "fault",
    [
        UnknownEventError("unknown event x"),
        ChainBroken(keys.verdicts(SHARD), 3),
        LogBehind(keys.verdicts(SHARD), Head(3), Head(2)),
    ],
)
async def test_what_is_no_message_s_fault_stalls_its_feed_until_it_is_put_right(log, fault):
    """An event of a newer build; a verdict log, which all tables of the shard share, that cannot be trusted."""
    echo = Echo(log, at(T1, 2, fault))
    for table in TABLES:
        await count(log, table, 3)
    with structlog.testing.capture_logs() as lines:
        async with running(reader_for(echo, TABLES)) as reader:
            await echo.until(T3, 3)
            await until(lambda: reader.counts.stalls > 2)
            assert await echo.echoed(T1) == 1
            assert reader.parked == frozenset()
            assert await log.dead_list() == []
            stands = await cursor(log, T1)
            echo.fault = None  # a newer build, or the bytes are back
            await echo.until(T1, 3)
            await echo.until(T2, 3)
            await saved(log, T1)
            assert reader.stalled == frozenset()
    assert stands != await log.last_id(feed_of(T1))
    assert {line["log_level"] for line in lines if line["event"] == "feed_stalls"} == {"critical"}


async def test_an_unknown_event_seen_by_the_key_stalls_too(log, monkeypatch):
    known = False

    def strict_key(entry):
        if parse(entry)[1] == 2 and not known:
            raise UnknownEventError("unknown event x")
        return key(entry)

    monkeypatch.setattr("tests.support.echo.key", strict_key)
    echo = Echo(log)
    await count(log, T1, 3)
    async with running(reader_for(echo, [T1])) as reader:
        await until(lambda: reader.counts.stalls > 0)
        assert reader.stalled == {feed_of(T1)}
        await echo.until(T1, 1)  # what came before it in the batch is handled when all have been looked at
        known = True
        await echo.until(T1, 3)


async def test_a_message_of_nobody_s_stalls_rather_than_being_lost(log, store):
    from stud_eventlog.types import Append, FeedItem

    feed = keys.ledger_feed("EUR", SHARD)
    append = Append(keys.ledger_log("EUR"), 0, bytes(32), bytes(16), b"x", (FeedItem(feed, b"\xff\xff"),))
    await log.append(append)
    echo = Echo(log)
    from stud_service.runtime import Runtime
    from stud_service.settings import ServiceSettings

    reader = FeedReader(Runtime("table", ServiceSettings(), log), echo.handle, key, feeds=[feed], block_ms=20)
    async with running(reader):
        await until(lambda: reader.counts.stalls > 0)
        assert reader.stalled == {feed}
        assert await log.dead_list() == []


# Patience


@pytest.mark.parametrize(
    "fault",
    [
        LogUnavailable("away"),
        VersionConflict("x", 1, 2),
        ConnectionResetError("x"),
        TimeoutError(),
        Refused("STOPPING", "later"),
        LogBehind(keys.ledger_log("EUR"), Head(3), Head(2)),
        RuntimeError("once"),
    ],
)
async def test_what_is_only_in_the_way_is_waited_out(log, fault):
    tries = 0

    def check(table: str, number: int) -> None:
        nonlocal tries
        if table == T1 and tries < 3:
            tries += 1
            raise fault

    echo = Echo(log, check)
    await count(log, T1, 1)
    async with running(reader_for(echo, TABLES)) as reader:
        await echo.until(T1, 1)
        await saved(log, T1)
        assert reader.parked == frozenset()


async def test_outages_are_waited_out_and_nothing_is_lost_or_doubled(log, echo, store):
    async with running(reader_for(echo, TABLES)):
        for number in range(1, 6):
            await count(log, T1, number)
            store.stop()
            await asyncio.sleep(0.03)
            store.start()
            await log.wait_available()
        await echo.until(T1, 5)
        await saved(log, T1)


async def test_an_outage_at_the_start_is_waited_out(log, echo, store):
    await count(log, T1, 1)
    store.stop()
    async with running(reader_for(echo, TABLES)):
        await asyncio.sleep(0.05)
        store.start()
        await echo.until(T1, 1)


async def test_a_stop_while_the_log_is_away_does_not_hang(log, echo, store):
    await count(log, T1, 1)
    reader = reader_for(echo, TABLES)
    reader._save_on = _never  # type: ignore[method-assign]
    async with running(reader):
        await until(lambda: reader.caught_up_to(feed_of(T1)) != "0-0")
        store.stop()


async def test_a_feed_that_went_back_is_read_again_from_its_start(log, echo, store):
    await count(log, T1, 2)
    before = store.snapshot()
    async with running(reader_for(echo, TABLES)) as reader:
        await count(log, T1, 4)
        await echo.until(T1, 4)
        await saved(log, T1)
        with structlog.testing.capture_logs() as lines:
            store.stop()
            store.restore(before)
            store.start()
            await until(lambda: any(line["event"] == "cursor_ahead" for line in lines))
        await echo.until(T1, 4)  # what was lost is written again, and read
        last = await log.last_id(feed_of(T1))
        await until(lambda: reader.caught_up_to(feed_of(T1)) == last)


async def test_a_rewind_of_somebody_else_s_feed_is_passed_on(log, echo):
    heard = []
    log.on_cursor_ahead = lambda *args: heard.append(args)
    reader = reader_for(echo, [T1])
    log.on_cursor_ahead(feed_of(T3), "9-9", "0-0")
    assert heard == [(feed_of(T3), "9-9", "0-0")]
    log.on_cursor_ahead(feed_of(T1), "9-9", "0-0")
    assert len(heard) == 1
    assert reader.caught_up_to(feed_of(T1)) == "0-0"


async def test_the_feeds_it_writes_are_trimmed_below_their_readers(log, echo):
    await count(log, T1, 5)
    alone = [Service(SERVICE, 1, "deck", "table-events", ("table-events",))]
    async with running(reader_for(echo, TABLES, services=alone, trim_every_s=0.02)):
        await echo.until(T1, 5)
        await saved(log, T1)

        async def trimmed() -> bool:
            return len(await log.read_feeds({feed_of(T1): "0-0"}, block_ms=0)) == 1

        await until(trimmed)


async def test_only_feeds_of_a_shard_can_be_read(log, echo):
    with pytest.raises(ValueError, match="not a feed of a shard"):
        parking.Parking(log, SERVICE, [keys.ledger_log("EUR")])

"""Appending: optimistic versions, idempotence by commit id, atomicity with outbox and lobby, group commit."""

import asyncio
from dataclasses import replace

import pytest

from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import NO_HASH, Append, FeedItem, Head, LobbyRow, LogUnavailable, VersionConflict, head_hash
from tests.support.eventlogs import World, an_append, commit_id, write

STREAM = keys.table_log(7, "t-1")
FEED = keys.table_feed(7)
LOBBY = keys.lobby(7)


async def versions(log: EventLog, stream: str = STREAM) -> list[int]:
    return [commit.version async for commit in log.read_all(stream)]


async def test_an_empty_stream_has_version_0_and_a_hash_of_zeroes(log: EventLog):
    assert await log.head(STREAM) == Head(0, NO_HASH)
    assert await log.read(STREAM) == []


async def test_equal_version_is_written_and_becomes_the_head(log: EventLog):
    append = an_append(STREAM, body=b"first")
    head = await log.append(append)
    assert head == Head(1, head_hash(NO_HASH, 1, append.commit_id, b"first"))
    assert await log.head(STREAM) == head
    (stored,) = await log.read(STREAM)
    assert (stored.stream, stored.version, stored.prev_hash) == (STREAM, 1, NO_HASH)
    assert (stored.commit_id, stored.body, stored.head) == (append.commit_id, b"first", head)


async def test_lower_version_with_the_same_id_succeeds_again_and_writes_nothing(log: EventLog):
    append = an_append(STREAM, Head(), b"first", FeedItem(FEED, b"event"))
    head = await log.append(append)
    await write(log, STREAM, b"second", b"third")
    assert await log.append(append) == head
    assert await versions(log) == [1, 2, 3]
    assert len(await log.read_feeds({FEED: "0-0"}, block_ms=0)) == 1


async def test_the_same_id_with_another_body_returns_what_is_stored(log: EventLog):
    append = an_append(STREAM, body=b"first")
    head = await log.append(append)
    assert await log.append(replace(append, body=b"other")) == head
    assert [commit.body for commit in await log.read(STREAM)] == [b"first"]


async def test_lower_version_with_another_id_conflicts(log: EventLog):
    await write(log, STREAM, b"first", b"second")
    with pytest.raises(VersionConflict, match="expected version 0, but it is at 2") as caught:
        await log.append(an_append(STREAM, body=b"late"))
    assert (caught.value.stream, caught.value.expected, caught.value.actual) == (STREAM, 0, 2)
    assert await versions(log) == [1, 2]


async def test_a_known_id_at_another_version_conflicts(log: EventLog):
    first = an_append(STREAM, body=b"first")
    head = await log.append(first)
    await write(log, STREAM, b"second")
    with pytest.raises(VersionConflict):
        await log.append(an_append(STREAM, head, b"first", id_=first.commit_id))
    assert await versions(log) == [1, 2]


async def test_higher_version_conflicts_and_leaves_no_gap(log: EventLog):
    head = await write(log, STREAM, b"first")
    with pytest.raises(VersionConflict) as caught:
        await log.append(an_append(STREAM, Head(2, head.hash), b"too early"))
    assert (caught.value.expected, caught.value.actual) == (2, 1)
    with pytest.raises(VersionConflict) as caught:
        await log.append(an_append(keys.table_log(7, "t-2"), Head(9, head.hash)))
    assert caught.value.actual == 0
    assert await versions(log) == [1]


async def test_equal_version_with_another_head_hash_conflicts(log: EventLog):
    await write(log, STREAM, b"first")
    with pytest.raises(VersionConflict, match="another hash") as caught:
        await log.append(an_append(STREAM, Head(1, b"\x07" * 32)))
    assert (caught.value.expected, caught.value.actual) == (1, 1)
    with pytest.raises(VersionConflict):
        await log.append(an_append(keys.table_log(7, "t-2"), Head(0, b"\x07" * 32)))


async def test_of_many_writers_at_one_version_exactly_one_wins(world: World):
    logs = [await world.open() for _ in range(4)]
    for round_ in range(10):
        head = await logs[0].head(STREAM)
        appends = [an_append(STREAM, head, b"%d" % n, FeedItem(FEED, b"%d" % n)) for n in range(20)]
        results = await asyncio.gather(
            *(logs[n % 4].append(append) for n, append in enumerate(appends)), return_exceptions=True
        )
        winners = [result for result in results if isinstance(result, Head)]
        assert [winner.version for winner in winners] == [round_ + 1]
        assert all(isinstance(result, (Head, VersionConflict)) for result in results)
    assert await versions(logs[0]) == list(range(1, 11))
    entries = await logs[0].read_feeds({FEED: "0-0"}, block_ms=0)
    assert [entry.version for entry in entries] == list(range(1, 11))
    assert [entry.event for entry in entries] == [commit.body for commit in await logs[0].read(STREAM)]


async def test_outbox_and_lobby_are_written_with_the_commit(log: EventLog):
    other = keys.dealer_feed(7)
    outbox = (FeedItem(FEED, b"a"), FeedItem(other, b"b"), FeedItem(FEED, b"c"))
    head = await log.append(an_append(STREAM, Head(), b"x", *outbox, lobby=LobbyRow(LOBBY, "t-1", b"row 1")))
    entries = await log.read_feeds({FEED: "0-0"}, block_ms=0)
    assert [(e.feed, e.stream, e.version, e.index, e.head_hash, e.event) for e in entries] == [
        (FEED, STREAM, 1, 0, head.hash, b"a"),
        (FEED, STREAM, 1, 2, head.hash, b"c"),
    ]
    assert [e.event for e in await log.read_feeds({other: "0-0"}, block_ms=0)] == [b"b"]
    assert await log.lobby(7) == {"t-1": b"row 1"}
    await log.append(an_append(STREAM, head, b"y", lobby=LobbyRow(LOBBY, "t-1", b"")))
    assert await log.lobby(7) == {"t-1": b""}
    assert await log.lobby(8) == {}


async def test_a_refused_append_leaves_nothing_behind(log: EventLog):
    await write(log, STREAM, b"first")
    with pytest.raises(VersionConflict):
        await log.append(an_append(STREAM, Head(), b"x", FeedItem(FEED, b"x"), lobby=LobbyRow(LOBBY, "t-1", b"x")))
    assert await log.read_feeds({FEED: "0-0"}, block_ms=0) == []
    assert await log.lobby(7) == {}


async def test_append_many_settles_each_by_itself(log: EventLog):
    await write(log, STREAM, b"first")
    other, third = keys.table_log(7, "t-2"), keys.table_log(9, "t-3")
    good, late, far = an_append(other), an_append(STREAM), an_append(third)
    results = await log.append_many([good, late, far])
    assert results[0] == good.head
    assert isinstance(results[1], VersionConflict)
    assert results[2] == far.head
    assert await log.append_many([]) == []


async def test_append_many_may_follow_up_on_itself(log: EventLog):
    verdicts = keys.verdicts(3)
    head, appends = Head(), []
    for n in range(2500):  # more than one pipeline holds
        appends.append(Append(verdicts, head.version, head.hash, commit_id(), b"%d" % n))
        head = appends[-1].head
    assert await log.append_many(appends) == [append.head for append in appends]
    assert await log.head(verdicts) == head
    assert [commit.body async for commit in log.read_all(verdicts)] == [b"%d" % n for n in range(2500)]


async def test_when_the_first_of_a_line_conflicts_the_rest_does_too(log: EventLog):
    await write(log, STREAM, b"somebody else's")
    first = an_append(STREAM, body=b"1")
    second = an_append(STREAM, first.head, b"2")  # its version is right by accident, its hash is not
    results = await log.append_many([first, second])
    assert [type(result) for result in results] == [VersionConflict, VersionConflict]
    assert await versions(log) == [1]


async def test_big_appends_are_cut_into_pipelines(log: EventLog):
    appends = [an_append(keys.table_log(1, f"t-{n}"), body=bytes(1_500_000)) for n in range(8)]
    results = await asyncio.gather(*(log.append(append) for append in appends))
    assert results == [append.head for append in appends]


async def test_appends_to_one_stream_are_sent_in_the_order_of_the_calls(log: EventLog):
    head, calls = Head(), []
    for n in range(50):
        append = an_append(STREAM, head, b"%d" % n)
        calls.append(asyncio.create_task(log.append(append)))
        head = append.head
        if n % 7 == 0:
            await asyncio.sleep(0)
    assert (await asyncio.gather(*calls))[-1] == head


async def test_cancelling_the_caller_does_not_cancel_the_write(log: EventLog):
    append = an_append(STREAM, body=b"kept")
    call = asyncio.create_task(log.append(append))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    many = asyncio.create_task(log.append_many([an_append(STREAM, append.head, b"kept too"), an_append(STREAM)]))
    await asyncio.sleep(0)
    many.cancel()
    with pytest.raises(asyncio.CancelledError):
        await many
    await log.append(an_append(keys.table_log(7, "t-2")))
    await asyncio.sleep(0.05)
    assert [commit.body for commit in await log.read(STREAM)] == [b"kept", b"kept too"]


async def test_a_closed_log_refuses(world: World):
    log = await world.open()
    await log.close()
    with pytest.raises(LogUnavailable, match="closed"):
        await log.append(an_append(STREAM))


async def test_closing_waits_for_what_is_under_way(world: World):
    log, other = await world.open(), await world.open()
    calls = [asyncio.create_task(log.append(an_append(keys.table_log(1, f"t-{n}")))) for n in range(50)]
    await asyncio.sleep(0)
    await log.close()
    assert {head.version for head in await asyncio.gather(*calls)} == {1}
    assert len(await other.scan_streams("table")) == 50

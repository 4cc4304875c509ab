"""The server dies, or comes back with an older file: nothing acknowledged is lost or doubled, or it is told loudly."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
import redis.asyncio

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import FeedItem, Head, LogBehind, LogUnavailable
from stud_eventlog.writing import HELD_PER_STREAM
from tests.support.eventlogs import an_append, write

STREAM = keys.table_log(7, "t-1")
OTHER = keys.table_log(7, "t-2")
FEED = keys.table_feed(7)


class Told(NamedTuple):
    behind: list[tuple[str, Head, Head]]
    ahead: list[tuple[str, str, str]]


@pytest.fixture
def told() -> Told:
    return Told([], [])


@pytest_asyncio.fixture
async def log(fresh_server: EmbeddedServer, told: Told) -> AsyncIterator[RedisEventLog]:
    made = await RedisEventLog.connect(
        fresh_server.url,
        write_timeout_s=0.5,
        on_log_behind=lambda *what: told.behind.append(what),
        on_cursor_ahead=lambda *what: told.ahead.append(what),
    )
    yield made
    await made.close()


async def contents(log: RedisEventLog, stream: str = STREAM) -> list[bytes]:
    return [commit.body async for commit in log.read_all(stream)]


async def keep_a_copy(server: EmbeddedServer, copy: Path, log: RedisEventLog) -> None:
    await server.stop()
    shutil.copytree(server.data_dir, copy)
    await server.start()
    await until_verified(log)


async def bring_back(server: EmbeddedServer, copy: Path) -> None:
    """The server dies and comes back with an older file, as after a wrong restore."""
    await server.kill()
    shutil.rmtree(server.data_dir)
    shutil.copytree(copy, server.data_dir)
    await server.start()


async def until_verified(log: RedisEventLog) -> None:
    """The first call after the restart meets dead connections; then the log looks at what it knows."""
    for _ in range(100):
        try:
            await log.ping()
            break
        except LogUnavailable:
            await asyncio.sleep(0.02)
    await asyncio.wait_for(log.wait_available(), 10)


async def test_what_was_acknowledged_survives_kill_9_exactly_once(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told
):
    streams = [keys.table_log(7, f"t-{n}") for n in range(16)]
    acknowledged: dict[str, list[bytes]] = {stream: [] for stream in streams}
    stop = asyncio.Event()

    async def writer(stream: str) -> None:
        head, n = Head(), 0
        while not stop.is_set():
            body = b"%s %d" % (stream.encode(), n)
            head = await log.append(an_append(stream, head, body, FeedItem(FEED, body)))
            acknowledged[stream].append(body)
            n += 1

    writers = [asyncio.create_task(writer(stream)) for stream in streams]
    for _ in range(3):
        await asyncio.sleep(0.25)
        before = sum(map(len, acknowledged.values()))
        await fresh_server.kill()
        assert before > 0
        await asyncio.sleep(0.1)
        await fresh_server.start()
        await asyncio.wait_for(log.wait_available(), 10)
    await asyncio.sleep(0.1)
    stop.set()
    await asyncio.gather(*writers)
    for stream in streams:
        assert await contents(log, stream) == acknowledged[stream]
    seen, position = [], "0-0"
    while entries := await log.read_feeds({FEED: position}, block_ms=0):
        seen += [entry.event for entry in entries]
        position = entries[-1].entry_id
    assert sorted(seen) == sorted(body for bodies in acknowledged.values() for body in bodies)
    assert told == Told([], [])


async def test_lost_commits_that_are_held_are_written_again(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told, tmp_path: Path
):
    await write(log, STREAM, b"1", b"2", feed=FEED)
    await keep_a_copy(fresh_server, tmp_path / "copy", log)
    head = await write(log, STREAM, b"3", b"4", b"5", feed=FEED)
    await write(log, OTHER, b"all of it")
    commits = await log.read(STREAM)
    await bring_back(fresh_server, tmp_path / "copy")
    await until_verified(log)
    assert await log.read(STREAM) == commits
    assert await log.head(STREAM) == head
    assert await contents(log, OTHER) == [b"all of it"]
    entries = await log.read_feeds({FEED: "0-0"}, block_ms=0)
    assert [(e.version, e.event) for e in entries] == [(n, b"%d" % n) for n in range(1, 6)]
    assert entries[-1].head_hash == head.hash
    assert told.behind == []
    assert (await log.append(an_append(STREAM, head, b"6"))).version == 6


async def test_the_append_that_finds_the_log_behind_restores_it_and_succeeds(
    log: RedisEventLog, fresh_server: EmbeddedServer, tmp_path: Path
):
    await write(log, STREAM, b"1", b"2")
    await keep_a_copy(fresh_server, tmp_path / "copy", log)
    head = await write(log, STREAM, b"3", b"4")
    await bring_back(fresh_server, tmp_path / "copy")
    assert (await log.append(an_append(STREAM, head, b"5"))).version == 5
    assert await contents(log) == [b"1", b"2", b"3", b"4", b"5"]


async def test_lost_commits_that_are_no_longer_held_stop_the_stream(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told, tmp_path: Path
):
    found = await write(log, STREAM, b"1")
    await keep_a_copy(fresh_server, tmp_path / "copy", log)
    acknowledged = await write(log, STREAM, *(b"more" for _ in range(HELD_PER_STREAM + 1)))
    await bring_back(fresh_server, tmp_path / "copy")
    await until_verified(log)
    assert told.behind == [(STREAM, acknowledged, found)]
    for head in (acknowledged, found):
        with pytest.raises(LogBehind, match="should hold at least the acknowledged") as caught:
            await log.append(an_append(STREAM, head))
        assert (caught.value.acknowledged, caught.value.found) == (acknowledged, found)
    good = an_append(OTHER)
    with pytest.raises(LogBehind):
        await log.append_many([an_append(STREAM, acknowledged), good])
    assert await log.head(OTHER) == good.head  # other streams go on, in the same breath
    assert await contents(log) == [b"1"]
    assert len(told.behind) == 1
    started_again = await RedisEventLog.connect(fresh_server.url)  # somebody looked; what is there is what counts now
    assert (await started_again.append(an_append(STREAM, found, b"2 again"))).version == 2
    await started_again.close()


async def test_another_history_in_place_of_what_was_acknowledged_stops_the_stream(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told, tmp_path: Path
):
    streams = [STREAM, OTHER, keys.table_log(7, "t-3")]
    for stream in streams:
        await write(log, stream, b"1")
    await keep_a_copy(fresh_server, tmp_path / "copy", log)
    acked = [await write(log, stream, b"2") for stream in streams]
    await bring_back(fresh_server, tmp_path / "copy")
    stranger = await RedisEventLog.connect(fresh_server.url)
    same_version = await write(stranger, STREAM, b"2, but another")
    longer = await write(stranger, OTHER, b"2, but another", b"3")
    await stranger.close()
    await until_verified(log)
    assert told.behind == [(STREAM, acked[0], same_version), (OTHER, acked[1], longer)]
    assert await contents(log, streams[2]) == [b"1", b"2"]
    with pytest.raises(LogBehind):
        await log.append(an_append(STREAM, acked[0]))


async def test_a_reader_ahead_of_an_older_file_is_told_and_reads_from_the_start(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told, tmp_path: Path
):
    await write(log, STREAM, b"1", b"2", feed=FEED)
    await keep_a_copy(fresh_server, tmp_path / "copy", log)
    stranger = await RedisEventLog.connect(fresh_server.url)
    await write(stranger, OTHER, b"lost for ever", feed=FEED)
    await stranger.close()
    entries = await log.read_feeds({FEED: "0-0"}, block_ms=0)
    cursor = entries[-1].entry_id
    await log.store_cursors("dealer", {FEED: cursor})
    await bring_back(fresh_server, tmp_path / "copy")
    with pytest.raises(LogUnavailable):
        await log.read_feeds({FEED: cursor})
    again = await log.read_feeds({FEED: cursor}, block_ms=0)
    assert [entry.event for entry in again] == [b"1", b"2"]
    assert told.ahead == [(FEED, cursor, again[-1].entry_id)]
    await log.store_cursors("dealer", {FEED: again[0].entry_id})
    assert await log.load_cursors("dealer", [FEED]) == {FEED: again[0].entry_id}


async def test_a_position_below_the_last_id_that_is_gone_is_noticed_too(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told, tmp_path: Path
):
    await write(log, STREAM, b"1", feed=FEED)
    await keep_a_copy(fresh_server, tmp_path / "copy", log)
    stranger = await RedisEventLog.connect(fresh_server.url)
    await write(stranger, OTHER, b"lost for ever", feed=FEED)
    cursor = await log.last_id(FEED)
    await stranger.close()
    await log.read_feeds({FEED: cursor}, block_ms=0)
    await bring_back(fresh_server, tmp_path / "copy")
    stranger = await RedisEventLog.connect(fresh_server.url)
    await write(stranger, OTHER, b"another history", feed=FEED)
    await stranger.close()
    with pytest.raises(LogUnavailable):
        await log.read_feeds({FEED: cursor})
    entries = await log.read_feeds({FEED: cursor}, block_ms=0)
    assert [entry.event for entry in entries] == [b"1", b"another history"]
    assert len(told.ahead) == 1


async def test_an_idle_log_notices_an_older_file_with_its_next_call(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told, tmp_path: Path
):
    await write(log, STREAM, b"1")
    await keep_a_copy(fresh_server, tmp_path / "copy", log)
    await write(log, STREAM, *(b"more" for _ in range(HELD_PER_STREAM + 1)))
    await bring_back(fresh_server, tmp_path / "copy")
    await asyncio.sleep(0.05)  # the closed connections are seen, and made anew without an error
    await log.append(an_append(OTHER))
    await asyncio.wait_for(log.wait_available(), 10)
    assert [stream for stream, _, _ in told.behind] == [STREAM]


async def test_a_reader_waits_through_a_restart(log: RedisEventLog, fresh_server: EmbeddedServer, told: Told):
    await write(log, STREAM, b"1", feed=FEED)
    position = (await log.read_feeds({FEED: "0-0"}, block_ms=0))[-1].entry_id
    waiting = asyncio.create_task(log.read_feeds({FEED: position}, block_ms=2000))
    await asyncio.sleep(0.05)
    await fresh_server.kill()
    with pytest.raises(LogUnavailable):
        await waiting
    await fresh_server.start()
    await asyncio.wait_for(log.wait_available(), 10)
    await write(log, STREAM, b"2", feed=FEED)
    assert [entry.event for entry in await log.read_feeds({FEED: position})] == [b"2"]
    assert told == Told([], [])


async def test_one_death_of_the_server_is_one_loss(log: RedisEventLog, fresh_server: EmbeddedServer):
    """However many connections there were: when they are next used, much later perhaps, nobody is refused again."""

    async def much_at_once(round_no: int) -> None:
        streams = [keys.table_log(7, f"t-{round_no}-{number}") for number in range(6)]
        appends = [log.append(an_append(stream)) for stream in streams]
        await asyncio.gather(*appends, *(log.ping() for _ in range(6)), *(log.head(stream) for stream in streams))
        await log.read_feeds({FEED: "0-0"}, block_ms=1)

    await much_at_once(1)
    await fresh_server.kill()
    await fresh_server.start()
    await until_verified(log)
    losses: list[str] = []
    for wire in log._wires:
        wire.on_lost = losses.append
    await much_at_once(2)
    assert losses == []


async def test_a_log_that_is_put_back_under_its_connections_is_held_to_what_it_acknowledged(
    log: RedisEventLog, fresh_server: EmbeddedServer, told: Told
):
    """By looking at a few streams at a time, without a reconnect: what is held is written again, the rest is behind."""
    streams = [keys.table_log(7, f"t-{number}") for number in range(25)]
    for stream in streams:
        await write(log, stream, b"1", b"2", b"3")
    async with redis.asyncio.Redis.from_url(fresh_server.url) as client:
        kept = {key: await client.dump(key) or b"" for key in await client.keys("*")}
        for number, stream in enumerate(streams):
            await write(log, stream, *[b"x"] * (0, 2, HELD_PER_STREAM + 1)[number % 3])
        acknowledged = [await log.head(stream) for stream in streams]
        async with client.pipeline(transaction=True) as together:
            together.flushall()
            for key, value in kept.items():
                together.restore(key, 0, value)
            await together.execute()
        await client.set(spoiled := keys.table_log(7, "t-0"), "oops")  # it keeps nobody from the others
    assert [await log.verify_next(10) for _ in range(3)] == [False, False, True]
    lost = [stream for number, stream in enumerate(streams) if number % 3 == 2]
    assert [stream for stream, _, _ in told.behind] == lost
    for number, stream in enumerate(streams):
        if stream != spoiled:
            assert (await log.head(stream) == acknowledged[number]) == (stream not in lost)

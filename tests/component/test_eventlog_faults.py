"""The event log on a real server behind a faulty network: an append ends as exactly one commit, whatever gets lost.

The server itself dying, or coming back older, is in test_eventlog_restart.py.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.ports import Port
from stud_eventlog import keys, redis_streams, redis_wire
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import (
    START,
    Append,
    FeedItem,
    Head,
    LobbyRow,
    LogRefuses,
    LogUnavailable,
    UnsafeServer,
    VersionConflict,
)
from tests.support.eventlogs import an_append, write
from tests.support.proxy import Proxy
from tests.support.valkey import command

STREAM = keys.table_log(7, "t-1")
OTHER = keys.table_log(7, "t-2")
FEED = keys.table_feed(7)
TIMEOUT_S = 0.3


@pytest_asyncio.fixture
async def proxy(valkey_server: EmbeddedServer) -> AsyncIterator[Proxy]:
    async with Proxy(valkey_server.port) as made:
        yield made


@pytest_asyncio.fixture
async def log(proxy: Proxy) -> AsyncIterator[RedisEventLog]:
    """Speaks through the proxy."""
    made = await RedisEventLog.connect(proxy.url, write_timeout_s=TIMEOUT_S, connect_timeout_s=TIMEOUT_S)
    yield made
    proxy.heal()
    await made.close()


@pytest_asyncio.fixture
async def direct(valkey_server: EmbeddedServer) -> AsyncIterator[RedisEventLog]:
    """Another process, whose network is fine."""
    made = await RedisEventLog.connect(valkey_server.url)
    yield made
    await made.close()


async def contents(log: RedisEventLog, stream: str = STREAM) -> list[bytes]:
    return [commit.body async for commit in log.read_all(stream)]


async def feed_events(log: RedisEventLog) -> list[bytes]:
    return [entry.event for entry in await log.read_feeds({FEED: "0-0"}, block_ms=0)]


def with_event(body: bytes, head: Head | None = None) -> Append:
    return an_append(STREAM, head, body, FeedItem(FEED, body))


@pytest.mark.parametrize("mode", ["hold", "drop"])
async def test_a_lost_reply_ends_as_exactly_one_commit(
    log: RedisEventLog, direct: RedisEventLog, proxy: Proxy, mode: str
):
    head = await write(log, STREAM, b"before", feed=FEED)
    getattr(proxy.replies, mode)()
    append = with_event(b"in doubt", head)
    call = asyncio.create_task(log.append(append))
    await asyncio.sleep(2.5 * TIMEOUT_S)
    assert not call.done()
    assert not log.available
    assert await contents(direct) == [b"before", b"in doubt"]  # written, but who would know
    proxy.heal()
    assert await call == append.head
    await log.wait_available()
    assert await contents(direct) == [b"before", b"in doubt"]
    assert await feed_events(direct) == [b"before", b"in doubt"]
    assert (await log.append(with_event(b"after", append.head))).version == 3


async def test_a_request_that_arrives_late_is_not_a_second_commit(
    log: RedisEventLog, direct: RedisEventLog, proxy: Proxy
):
    head = await write(log, STREAM, b"before", feed=FEED)
    proxy.requests.hold()
    call = asyncio.create_task(log.append(with_event(b"late", head)))
    await asyncio.sleep(2.5 * TIMEOUT_S)  # by now it has been repeated, and every copy waits in the proxy
    assert proxy.connections > 1
    assert await contents(direct) == [b"before"]
    proxy.heal()
    assert (await call).version == 2
    await asyncio.sleep(TIMEOUT_S)
    assert await contents(direct) == [b"before", b"late"]
    assert await feed_events(direct) == [b"before", b"late"]


async def test_a_request_that_arrives_after_somebody_elses_conflicts(
    log: RedisEventLog, direct: RedisEventLog, proxy: Proxy
):
    head = await write(log, STREAM, b"before", feed=FEED)
    proxy.requests.hold()
    call = asyncio.create_task(log.append(with_event(b"late", head)))
    await asyncio.sleep(1.5 * TIMEOUT_S)
    await write(direct, STREAM, b"somebody else's", feed=FEED)
    proxy.heal()
    with pytest.raises(VersionConflict) as caught:
        await call
    assert (caught.value.expected, caught.value.actual) == (1, 2)
    await asyncio.sleep(TIMEOUT_S)
    assert await contents(direct) == [b"before", b"somebody else's"]
    assert await feed_events(direct) == [b"before", b"somebody else's"]


async def test_an_append_in_doubt_holds_up_no_other_table(log: RedisEventLog, proxy: Proxy):
    head = await write(log, STREAM, b"1")
    proxy.replies.drop()
    in_doubt = asyncio.create_task(log.append(an_append(STREAM, head, b"2")))
    await asyncio.sleep(0.02)
    proxy.replies.release()  # that connection stays deaf until its timeout, new ones are fine
    assert (await log.append(an_append(OTHER))).version == 1
    assert not in_doubt.done()
    assert (await in_doubt).version == 2


async def test_connections_cut_again_and_again_lose_and_double_nothing(
    log: RedisEventLog, direct: RedisEventLog, proxy: Proxy
):
    streams = [keys.table_log(7, f"t-{n}") for n in range(12)]
    written: dict[str, list[bytes]] = {stream: [] for stream in streams}
    stop = asyncio.Event()

    async def writer(stream: str) -> None:
        head, n = Head(), 0
        while not stop.is_set():
            body = b"%s %d" % (stream.encode(), n)
            head = await log.append(an_append(stream, head, body, FeedItem(FEED, body)))
            written[stream].append(body)
            n += 1

    async def saboteur() -> None:
        for n in range(12):
            await asyncio.sleep(0.03 + 0.007 * n)
            proxy.cut()
            if n % 4 == 3:
                proxy.replies.drop()
                await asyncio.sleep(0.05)
                proxy.replies.release()
        stop.set()

    await asyncio.gather(saboteur(), *(writer(stream) for stream in streams))
    assert sum(map(len, written.values())) > 100
    for stream in streams:
        assert await contents(direct, stream) == written[stream]
    told, position = [], "0-0"
    while entries := await direct.read_feeds({FEED: position}, block_ms=0):
        told += [entry.event for entry in entries]
        position = entries[-1].entry_id
    assert len(told) == len(set(told))
    for stream in streams:
        assert [event for event in told if event.split()[0] == stream.encode()] == written[stream]


async def test_a_batch_whose_connection_breaks_is_settled_one_by_one(
    log: RedisEventLog, direct: RedisEventLog, proxy: Proxy
):
    verdicts, head, appends = keys.verdicts(7), Head(), []
    for n in range(3000):
        appends.append(Append(verdicts, head.version, head.hash, n.to_bytes(16), bytes(2000)))
        head = appends[-1].head
    call = asyncio.create_task(log.append_many(appends))
    for _ in range(3):
        await asyncio.sleep(0.03)
        proxy.cut()
    assert await call == [append.head for append in appends]
    assert await direct.head(verdicts) == head
    assert len(await contents(direct, verdicts)) == 3000


async def test_forgotten_scripts_are_loaded_again(log: RedisEventLog, valkey_server: EmbeddedServer):
    head = await write(log, STREAM, b"1")
    for n in range(3):
        await command(valkey_server.url, "SCRIPT", "FLUSH")
        appends = [an_append(STREAM, head, b"next")] + [an_append(keys.table_log(n, f"t-{m}")) for m in range(20)]
        results = await asyncio.gather(*(log.append(append) for append in appends))
        head = results[0]
        await command(valkey_server.url, "SCRIPT", "FLUSH")
        await log.store_cursors("dealer", {FEED: f"{n}-0"})
    assert head.version == 4


async def test_reading_fails_while_nobody_answers_and_works_again(log: RedisEventLog, proxy: Proxy):
    await write(log, STREAM, b"1", feed=FEED)
    proxy.accepting = False
    proxy.cut()
    with pytest.raises(LogUnavailable, match="does not answer"):
        await log.head(STREAM)
    with pytest.raises(LogUnavailable):
        await log.read_feeds({FEED: "0-0"})
    with pytest.raises(LogUnavailable):
        await log.ping()
    assert not log.available
    proxy.heal()
    await asyncio.wait_for(log.wait_available(), 5)
    assert await feed_events(log) == [b"1"]


async def test_a_blocking_read_is_shorter_than_the_socket_timeout(valkey_server: EmbeddedServer):
    log = await RedisEventLog.connect(valkey_server.url, read_timeout_s=3.0)
    start = time.monotonic()
    assert await log.read_feeds({FEED: "0-0"}, block_ms=60_000) == []
    assert time.monotonic() - start > 0.9
    assert log.available  # a read that was given up would have said otherwise
    await log.close()


async def test_closing_gives_up_what_never_gets_an_answer(proxy: Proxy):
    log = await RedisEventLog.connect(proxy.url, write_timeout_s=TIMEOUT_S)
    proxy.replies.drop()
    call = asyncio.create_task(log.append(an_append(STREAM)))
    await asyncio.sleep(0.02)
    waits = asyncio.create_task(log.append(an_append(STREAM)))
    await asyncio.sleep(0.02)
    await log.close()
    with pytest.raises(LogUnavailable, match="may or may not be written"):
        await call
    with pytest.raises(LogUnavailable, match="it is not written"):
        await waits


async def test_a_server_that_is_not_there_or_lets_nobody_in_is_told():
    nowhere = Port()
    with pytest.raises(LogUnavailable):
        await RedisEventLog.connect(f"redis://{nowhere.address}/0", connect_timeout_s=0.5)


async def test_a_wrong_password_is_told(valkey_server: EmbeddedServer):
    with pytest.raises(LogUnavailable, match=r"(?i)password|auth"):
        await RedisEventLog.connect(f"redis://nobody:wrong@127.0.0.1:{valkey_server.port}/0")


async def test_a_key_that_is_something_else_refuses_the_whole_append(log: RedisEventLog, valkey_server: EmbeddedServer):
    """And the trial says the same, without writing."""

    async def refuses(append: Append, why: str) -> None:
        for attempt in (log.append, log.try_append):
            with pytest.raises(LogRefuses, match=why) as refused:
                await attempt(append)
            assert refused.value.code == "WRONGTYPE"

    outbox = (FeedItem(FEED, b"a"), FeedItem(keys.dealer_feed(7), b"b"))
    row = LobbyRow(keys.lobby(7), "t-1", b"x")
    await log.try_append(an_append(STREAM, Head(), b"x", *outbox, lobby=row))
    await command(valkey_server.url, "SET", keys.dealer_feed(7), "oops")
    await command(valkey_server.url, "SET", keys.lobby(7), "oops")
    await refuses(an_append(STREAM, Head(), b"x", *outbox), "must be a stream")
    await refuses(an_append(STREAM, Head(), b"x", outbox[0], lobby=row), "must be a hash")
    await command(valkey_server.url, "SET", STREAM, "oops")
    await refuses(an_append(STREAM, Head(), b"x", outbox[0]), "WRONGTYPE")
    assert await feed_events(log) == []


async def test_a_key_that_nobody_may_write_refuses_the_append_and_the_trial(
    log: RedisEventLog, valkey_server: EmbeddedServer
):
    append = an_append(STREAM, Head(), b"x", FeedItem(FEED, b"a"))
    await log.try_append(append)
    await command(valkey_server.url, "ACL", "SETUSER", "default", "resetkeys", "%R~*", f"~{STREAM}")
    try:
        for attempt in (log.append, log.try_append):
            with pytest.raises(LogRefuses) as refused:
                await attempt(append)
            assert refused.value.code == "NOPERM"
    finally:
        await command(valkey_server.url, "ACL", "SETUSER", "default", "allkeys")
    await log.try_append(append)
    await log.append(append)


async def test_a_feed_that_cannot_be_read_holds_up_no_other(log: RedisEventLog, valkey_server: EmbeddedServer, caplog):
    """A read of many feeds is refused for one of them."""
    other = keys.table_feed(8)
    await log.append(an_append(STREAM, Head(), b"x", FeedItem(FEED, b"a")))
    await command(valkey_server.url, "SET", other, "oops")
    positions = {other: START, FEED: START}
    for _ in range(3):
        assert [entry.event for entry in await log.read_feeds(positions, block_ms=50)] == [b"a"]
    with pytest.raises(LogRefuses, match="WRONGTYPE"):
        await log.read_feeds({other: START}, block_ms=50)
    assert caplog.text.count(f"{other} cannot be read: WRONGTYPE") == 1
    await command(valkey_server.url, "DEL", other)
    assert [entry.event for entry in await log.read_feeds(positions, block_ms=50)] == [b"a"]


class TestServers:
    """Servers with other settings, each of its own."""

    @pytest.mark.parametrize(
        ("setting", "value"),
        [
            ("appendonly", "no"),
            ("appendfsync", "everysec"),
            ("maxmemory-policy", "allkeys-lru"),
            ("aof-load-truncated", "yes"),
        ],
    )
    def test_settings_that_may_lose_commits_are_refused(
        self, server_with: Callable[..., EmbeddedServer], setting: str, value: str
    ):
        url = server_with(**{setting.replace("-", "_"): value}).url

        async def refused() -> None:
            with pytest.raises(UnsafeServer) as caught:
                await RedisEventLog.connect(url)
            (problem,) = caught.value.problems
            assert problem.startswith(f"{setting} is {value}, must be ")
            log = await RedisEventLog.connect(url, allow_volatile=True)
            assert (await log.append(an_append(STREAM))).version == 1
            await log.close()

        asyncio.run(refused())

    def test_settings_that_nobody_may_read_are_refused(self, fresh_server: EmbeddedServer):
        async def refused() -> None:
            await command(fresh_server.url, "ACL", "SETUSER", "blind", "on", ">secret", "~*", "+@all", "-config")
            with pytest.raises(UnsafeServer, match=r"\+config\|get is needed"):
                await RedisEventLog.connect(f"redis://blind:secret@127.0.0.1:{fresh_server.port}/0")

        asyncio.run(refused())

    def test_a_full_server_refuses_and_forgets_nothing(self, server_with: Callable[..., EmbeddedServer]):
        url = server_with(maxmemory="8mb").url

        async def fill() -> None:
            log = await RedisEventLog.connect(url)
            first = with_event(b"first")
            await log.append(first)
            with pytest.raises(LogUnavailable, match="OOM"):
                await write(log, STREAM, *(bytes(100_000) for _ in range(1000)), feed=FEED)
            trouble = await log.trouble("table")
            assert trouble is not None
            assert trouble.code in {"LOG_OUT_OF_MEMORY", "LOG_MEMORY"}  # what is small may still find room
            assert await log.append(first) == first.head  # it is there already: that much can be told
            head = await log.head(STREAM)
            assert head.version > 10
            position, told = "0-0", 0
            while entries := await log.read_feeds({FEED: position}, limit=10, block_ms=0):
                position, told = entries[-1].entry_id, told + len(entries)
            assert told == head.version  # no line in the outbox without its commit
            await log.close()

        asyncio.run(fill())


async def test_however_many_ask_no_append_waits_and_nobody_takes_that_for_a_lost_server(
    direct: RedisEventLog, monkeypatch: pytest.MonkeyPatch
):
    """Every connection for questions is taken: the next question is refused for now, and that is all that happens."""
    monkeypatch.setattr(redis_wire, "POOL_WAIT_S", 0.05)
    head = await write(direct, STREAM, b"before", feed=FEED)
    turns = direct._questions._turns
    for _ in range(redis_streams.QUESTION_CONNECTIONS):
        await turns.acquire()
    for question in (direct.read(STREAM), direct.head(STREAM), direct.lobby(7), direct.scan_streams("table")):
        with pytest.raises(LogUnavailable, match="too many commands wait for a connection"):
            await question
    assert direct.available
    assert (await direct.append(with_event(b"meanwhile", head))).version == 2
    turns.release()
    assert await contents(direct) == [b"before", b"meanwhile"]


async def test_questions_that_are_given_up_do_no_harm_to_others(direct: RedisEventLog):
    """Whoever goes away in the middle, at whatever point: his question ends at once, the next one gets its own answer,
    and nobody takes the closed connection for a lost server.
    """
    head = await write(direct, STREAM, b"before", feed=FEED)
    losses: list[str] = []
    for wire in direct._wires:
        wire.on_lost = losses.append
    for ticks in range(200):
        asking = asyncio.create_task(direct.head(keys.table_log(7, "another")))
        for _ in range(ticks % 40):
            await asyncio.sleep(0)
        asking.cancel()
        (ended,) = await asyncio.gather(asking, return_exceptions=True)
        assert ended == Head() or isinstance(ended, asyncio.CancelledError)
        assert await direct.head(STREAM) == head
    assert losses == []


async def test_readers_that_are_given_up_end_at_once(direct: RedisEventLog):
    """Whatever the cancellation meets; what the client library makes of it (3.11: it may forget it) is not enough."""
    for ticks in range(200):
        reading = asyncio.create_task(direct.read_feeds({FEED: "0-0"}, block_ms=2000))
        for _ in range(ticks % 40):
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_a_question_that_is_given_up_while_its_connection_is_made(log: RedisEventLog, proxy: Proxy):
    head = await write(log, STREAM, b"before", feed=FEED)
    proxy.replies.hold()
    asking = asyncio.create_task(log.head(STREAM))
    await asyncio.sleep(0.05)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    again = asyncio.create_task(log.head(STREAM))
    await asyncio.sleep(0.05)
    proxy.heal()
    assert await again == head


async def test_what_was_let_go_after_a_loss_is_no_further_loss(direct: RedisEventLog):
    await write(direct, STREAM, b"1")
    await asyncio.gather(*(direct.read(STREAM) for _ in range(8)))
    direct._availability.lost("a blip")
    await direct.wait_available()
    losses: list[str] = []
    for wire in direct._wires:
        wire.on_lost = losses.append
    for _ in range(5):
        await asyncio.gather(*(direct.read(STREAM) for _ in range(4)))
        await asyncio.sleep(0.01)
    assert losses == []


async def test_who_asks_while_idle_connections_are_let_go_gets_their_answer(direct: RedisEventLog):
    await write(direct, STREAM, b"1")
    losses: list[str] = []
    for wire in direct._wires:
        wire.on_lost = losses.append

    async def ask(ticks: int) -> int:
        for _ in range(ticks):
            await asyncio.sleep(0)
        return len(await direct.read(STREAM))

    async def renew(ticks: int) -> None:
        for _ in range(ticks):
            await asyncio.sleep(0)
        direct._questions.renew_idle()

    for after in range(40):
        assert await asyncio.gather(*(ask(0) for _ in range(8))) == [1] * 8
        generation = direct._questions.generation
        _, _, *answers = await asyncio.gather(renew(0), renew(after), *(ask(ticks) for ticks in range(8)))
        assert answers == [1] * 8
        assert direct._questions.generation > generation  # they were
    assert losses == []


async def test_a_connection_that_is_just_being_made_is_left_to_who_makes_it(log: RedisEventLog, proxy: Proxy):
    head = await write(log, STREAM, b"before", feed=FEED)
    assert await log.head(STREAM) == head
    proxy.cut()
    with pytest.raises(LogUnavailable):
        await log.head(STREAM)
    await asyncio.wait_for(log.wait_available(), 5)
    proxy.replies.hold()
    asking = asyncio.create_task(log.head(STREAM))
    await asyncio.sleep(0.05)
    log._questions.renew_idle()
    proxy.heal()
    assert await asking == head
    assert await log.head(STREAM) == head

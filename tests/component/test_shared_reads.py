"""Small reads of one turn of the loop share a round trip, against a real server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog import keys, shared_reads
from stud_eventlog.reading import commit_at
from stud_eventlog.redis_streams import RedisBackend, RedisEventLog
from stud_eventlog.redis_wire import Command, RedisWire
from stud_eventlog.shared_reads import SharedReads
from stud_eventlog.types import LogRefuses, LogUnavailable
from tests.support.eventlogs import write
from tests.support.proxy import Proxy


class Counting(RedisWire):
    """A wire that notes how many commands each of its pipelines had."""

    def __init__(self, url: str) -> None:
        super().__init__(url, connections=4, timeout_s=0.5, connect_timeout_s=0.5, client_name="t")
        self.sizes: list[int] = []

    async def pipeline(self, commands: Sequence[Command], timeout_s: float | None = None) -> list[Any]:
        self.sizes.append(len(commands))
        return await super().pipeline(commands, timeout_s)


@pytest_asyncio.fixture
async def proxy(valkey_server: EmbeddedServer) -> AsyncIterator[Proxy]:
    async with Proxy(valkey_server.port) as made:
        yield made


@pytest_asyncio.fixture
async def wire(proxy: Proxy) -> AsyncIterator[Counting]:
    made = Counting(proxy.url)
    yield made
    await made.close()


async def test_commits_that_are_looked_up_in_one_turn_come_in_one_pipeline(valkey_server, wire):
    log = await RedisEventLog.connect(valkey_server.url)
    streams = [keys.table_log(shard, f"t-{shard}") for shard in range(20)]
    for stream in streams:
        await write(log, stream, b"1", b"2", b"3")
    log._reads = RedisBackend(wire)
    found = await asyncio.gather(*(commit_at(log, stream, 2) for stream in streams))
    assert [commit and (commit.stream, commit.version) for commit in found] == [(stream, 2) for stream in streams]
    assert wire.sizes == [20]
    assert await commit_at(log, streams[0], 9) is None
    await log.close()


async def test_no_pipeline_is_longer_than_is_said(wire):
    shared = SharedReads(wire)
    assert await asyncio.gather(*(shared.ask(("ECHO", str(n))) for n in range(300))) == [b"%d" % n for n in range(300)]
    assert wire.sizes == [shared_reads.MOST, shared_reads.MOST, 300 - 2 * shared_reads.MOST]


async def test_one_that_is_refused_and_one_that_is_cancelled_are_their_own_trouble(wire):
    shared = SharedReads(wire)
    fine, wrong, gone = (asyncio.ensure_future(shared.ask((word, "x"))) for word in ("ECHO", "NOSUCH", "ECHO"))
    await asyncio.sleep(0)
    gone.cancel()
    assert await fine == b"x"
    with pytest.raises(LogRefuses):
        await wrong
    assert wire.sizes == [3]


async def test_a_server_that_does_not_answer_is_told_to_each_and_the_next_read_is_tried(proxy, wire):
    shared = SharedReads(wire)
    assert await shared.ask(("ECHO", "x")) == b"x"
    proxy.replies.drop()
    both = await asyncio.gather(shared.ask(("ECHO", "a")), shared.ask(("ECHO", "b")), return_exceptions=True)
    assert [type(why) for why in both] == [LogUnavailable, LogUnavailable]
    proxy.heal()
    assert await shared.ask(("ECHO", "y")) == b"y"

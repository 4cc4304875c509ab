"""The feed reader against a real server: kills, restarts, poison, retries."""

import asyncio
import functools
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import EventLogError
from stud_service.feeds import FeedReader, Poison
from tests.support.echo import SERVICE, Echo, count, deck_of, feed_of, parse, reader_for
from tests.support.runtime import logged, until
from tests.support.valkey import command, fresh_server, session_server, valkey_server

__all__ = ["fresh_server", "session_server", "valkey_server"]

ROOT = Path(__file__).parents[2]
TABLES = ["t-1", "t-2", "t-3"]
SHARD = keys.shard_of("t-1")


@pytest.fixture(autouse=True)
def _logs_as_a_service_does():
    with logged("dealer"):
        yield


@asynccontextmanager
async def log_at(url: str) -> AsyncIterator[RedisEventLog]:
    log = await RedisEventLog.connect(url)
    try:
        yield log
    finally:
        await log.close()


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


async def saved(log: RedisEventLog, table: str) -> None:
    feed = feed_of(table)
    async with asyncio.timeout(15):
        while True:
            with suppress(EventLogError):  # a connection from before the server was killed
                if (await log.load_cursors(SERVICE, [feed]))[feed] == await log.last_id(feed):
                    return
            await asyncio.sleep(0.02)


@pytest.fixture
async def url(session_server: EmbeddedServer) -> str:
    await command(session_server.url, "FLUSHALL")
    return session_server.url


async def test_poison_parks_one_line_and_a_retry_from_another_process_replays_it(url):
    def fault(table: str, number: int) -> None:
        if (table, number) == ("t-1", 2):
            raise Poison("not yet")

    async with log_at(url) as log, log_at(url) as tool:
        echo = Echo(log, fault)
        for table in TABLES:
            await count(tool, table, 20)
        async with running(reader_for(echo, TABLES)) as reader:
            for table in TABLES[1:]:
                await echo.until(table, 20)
            await saved(tool, "t-1")
            assert await echo.echoed("t-1") == 1
            letters = await tool.dead_list()
            assert [parse(letter.entry) for letter in letters] == [("t-1", n) for n in range(2, 21)]
            echo.fault = None
            await tool.request_retry(SERVICE, SHARD, "t-1")
            await count(tool, "t-1", 25)
            await echo.until("t-1", 25)
            await until(lambda: not reader.parked)
        assert await tool.dead_list() == []


@pytest.mark.untraced
async def test_a_process_killed_at_any_moment_loses_and_doubles_nothing(url):
    """Kills fall between effect and cursor as well as anywhere else; each run has to go on where the last one ended."""
    rng = random.Random(7)
    async with log_at(url) as log:
        counting = asyncio.gather(*(count(log, table, 400) for table in TABLES))
        for _ in range(6):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.support.echo", url, *TABLES),
                cwd=ROOT,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await until(functools.partial(has_gone_on, log, await echoed(log)), 30)
            await asyncio.sleep(rng.random() * 0.1)
            process.kill()
            await process.wait()
        await counting
        echo = Echo(log)
        async with running(reader_for(echo, TABLES)):
            for table in TABLES:
                await echo.until(table, 400)
                await saved(log, table)
                bodies = [commit.body.decode() async for commit in log.read_all(deck_of(table))]
                assert bodies == [f"{table} {number}" for number in range(1, 401)]
        assert await log.dead_list() == []


async def echoed(log: RedisEventLog) -> int:
    return sum([(await log.head(deck_of(table))).version for table in TABLES])


async def has_gone_on(log: RedisEventLog, before: int) -> bool:
    return await echoed(log) > before or before == 1200


async def test_it_goes_on_after_the_server_was_killed_and_restarted(fresh_server):
    async with log_at(fresh_server.url) as log, log_at(fresh_server.url) as tool:
        echo = Echo(log)
        async with running(reader_for(echo, TABLES)) as reader:
            for up_to in (10, 20, 30):
                counting = asyncio.gather(*(count_on(tool, table, up_to) for table in TABLES))
                await asyncio.sleep(0.02)
                await fresh_server.kill()
                await asyncio.sleep(0.1)
                await fresh_server.start()
                await counting
                for table in TABLES:
                    await echo.until(table, up_to)
            for table in TABLES:
                await saved(tool, table)
                assert reader.caught_up_to(feed_of(table)) == await tool.last_id(feed_of(table))
        assert await tool.dead_list() == []


async def count_on(log: RedisEventLog, table: str, up_to: int) -> None:
    while True:
        try:
            await count(log, table, up_to)
        except EventLogError:
            await asyncio.sleep(0.05)
        else:
            return

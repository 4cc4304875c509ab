"""A service as small as can be, for tests of the feed reader: tables count, and the echo repeats what they count.

A table's message is "<table> <number>"; the echo appends it to the table's deck log as the version of that number. So
its log tells at once whether an effect was lost (a gap is refused) or doubled (the version would be too high).
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence

from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import Append, EventLogError, FeedEntry, FeedItem
from stud_service.feeds import FeedReader, Poison
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from tests.support.runtime import until

SERVICE = "dealer"


def feed_of(table: str) -> str:
    return keys.table_feed(keys.shard_of(table))


def deck_of(table: str) -> str:
    return keys.deck_log(keys.shard_of(table), table)


async def count(log: EventLog, table: str, how_far: int, text: str = "") -> None:
    """Has a table count on to a number, one message each."""
    stream = keys.table_log(keys.shard_of(table), table)
    head = await log.head(stream)
    for number in range(head.version + 1, how_far + 1):
        body = text.encode() or f"{table} {number}".encode()
        outbox = (FeedItem(feed_of(table), body),)
        append = Append(stream, head.version, head.hash, secrets.token_bytes(16), body, outbox)
        head = await log.append(append)


class Echo:
    """`fault` is asked before every message is handled and may raise."""

    def __init__(self, log: EventLog, fault: Callable[[str, int], None] | None = None) -> None:
        self.log = log
        self.fault = fault
        self.batches: list[list[tuple[str, int]]] = []
        self.handled: list[tuple[str, int]] = []

    async def handle(self, entries: Sequence[FeedEntry]) -> None:
        messages = [parse(entry) for entry in entries]
        self.batches.append(messages)
        for table, number in messages:
            if self.fault is not None:
                self.fault(table, number)
            head = await self.log.head(deck_of(table))
            self.handled.append((table, number))
            if number <= head.version:
                continue  # done before
            if number > head.version + 1:
                raise Poison(f"{table} lacks {head.version + 1}, got {number}")
            body = f"{table} {number}".encode()
            append = Append(deck_of(table), head.version, head.hash, secrets.token_bytes(16), body)
            await self.log.append(append)

    async def echoed(self, table: str) -> int:
        return (await self.log.head(deck_of(table))).version

    async def _echoed_if_told(self, table: str) -> int:
        try:
            return await self.echoed(table)
        except EventLogError:  # a connection from before the server was killed
            return -1

    async def until(self, table: str, number: int, timeout_s: float = 15) -> None:
        async def enough() -> bool:
            return await self._echoed_if_told(table) >= number

        await until(enough, timeout_s)
        assert await self._echoed_if_told(table) == number


def parse(entry: FeedEntry) -> tuple[str, int]:
    table, number = entry.event.decode().split(" ")
    return table, int(number)


def key(entry: FeedEntry) -> str | None:
    return None if entry.event == b"skip" else parse(entry)[0]


def reader_for(echo: Echo, tables: Sequence[str], **options: object) -> FeedReader:
    runtime = Runtime(SERVICE, ServiceSettings(), echo.log)
    feeds = sorted({feed_of(table) for table in tables})
    return FeedReader(runtime, echo.handle, key, **{"feeds": feeds, "block_ms": 50, **options})  # type: ignore[arg-type]


async def main(url: str, tables: Sequence[str]) -> None:
    """Runs the echo as a process of its own, until it is killed."""
    from stud_eventlog.redis_streams import RedisEventLog

    log = await RedisEventLog.connect(url)
    await reader_for(Echo(log), tables).run()


if __name__ == "__main__":
    import sys

    asyncio.run(main(sys.argv[1], sys.argv[2:]))

"""Both event logs behind one face, so that one contract suite can run against each, and a quick way to make appends.

A `World` is a server with everything in it; `open` gives another process's view of it.
"""

import os
from collections.abc import Callable
from typing import Any, Protocol

import redis.asyncio

from stud_eventlog.entries import log_id
from stud_eventlog.log import EventLog
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import Append, FeedItem, Head, LobbyRow, StoredCommit

Edit = Callable[[StoredCommit, bytes], tuple[StoredCommit, bytes] | None]
"""Gets a stored commit and the hash beside it; returns what shall be there instead, None = nothing."""


def commit_id() -> bytes:
    return os.urandom(16)


def an_append(
    stream: str,
    head: Head | None = None,
    body: bytes = b"body",
    *outbox: FeedItem,
    lobby: LobbyRow | None = None,
    id_: bytes | None = None,
) -> Append:
    head = Head() if head is None else head
    return Append(stream, head.version, head.hash, id_ or commit_id(), body, outbox, lobby)


async def write(log: EventLog, stream: str, *bodies: bytes, feed: str | None = None) -> Head:
    """Appends commits at the stream's end, each with its body as an event in the outbox if there is a feed."""
    head = await log.head(stream)
    for body in bodies:
        outbox = () if feed is None else (FeedItem(feed, body),)
        head = await log.append(an_append(stream, head, body, *outbox))
    return head


class World(Protocol):
    async def open(self, **options: Any) -> EventLog: ...

    async def rewrite(self, stream: str, edit: Edit) -> None:
        """Tampers with a stream behind everybody's back."""

    async def set_cursor(self, key: str, value: str) -> None:
        """Writes a cursor's key behind everybody's back; an empty value makes it something else altogether."""

    async def flush(self) -> None: ...

    async def close(self) -> None: ...


class MemoryWorld:
    def __init__(self) -> None:
        self.store = MemoryStore()
        self.logs: list[MemoryEventLog] = []

    async def open(self, **options: Any) -> EventLog:
        self.logs.append(MemoryEventLog(self.store, **options))
        return self.logs[-1]

    async def rewrite(self, stream: str, edit: Edit) -> None:
        edited = (edit(*row) for row in self.store.data.logs[stream])
        self.store.data.logs[stream] = [row for row in edited if row is not None]

    async def set_cursor(self, key: str, value: str) -> None:
        self.store.data.cursors[key] = value or "nothing"

    async def flush(self) -> None:
        self.store.flush()

    async def close(self) -> None:
        for log in self.logs:
            await log.close()


class RedisWorld:
    def __init__(self, url: str) -> None:
        self.url = url
        self.logs: list[RedisEventLog] = []

    async def open(self, **options: Any) -> EventLog:
        self.logs.append(await RedisEventLog.connect(self.url, **options))
        return self.logs[-1]

    async def rewrite(self, stream: str, edit: Edit) -> None:
        async with redis.asyncio.Redis.from_url(self.url) as client:
            entries: Any = await client.xrange(stream)
            await client.delete(stream)
            for entry_id, fields in entries:
                version = int(entry_id.split(b"-")[0])
                stored = StoredCommit(stream, version, fields[b"p"], fields[b"c"], fields[b"b"])
                row = edit(stored, fields[b"h"])
                if row is not None:
                    commit, head_hash = row
                    values: Any = {"h": head_hash, "p": commit.prev_hash, "c": commit.commit_id, "b": commit.body}
                    await client.xadd(stream, values, id=log_id(commit.version))

    async def set_cursor(self, key: str, value: str) -> None:
        async with redis.asyncio.Redis.from_url(self.url) as client:
            if value:
                await client.set(key, value)
            else:
                await client.delete(key)
                await client.lpush(key, "a list")

    async def flush(self) -> None:
        async with redis.asyncio.Redis.from_url(self.url) as client:
            await client.flushall()

    async def close(self) -> None:
        for log in self.logs:
            await log.close()

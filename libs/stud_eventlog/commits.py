"""`log.CommitLog` over a store, the same for every adapter: what is written goes through the writer, and a log is read
so that a gap, an edit or a foreign commit cannot pass unnoticed.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Protocol

from stud_eventlog.availability import Availability
from stud_eventlog.entries import Row
from stud_eventlog.log import PAGE, OnBatch, OnLogBehind
from stud_eventlog.types import NO_HASH, Append, ChainBroken, Head, StoredCommit, VersionConflict
from stud_eventlog.writing import Backend, Writer


class Reads(Protocol):
    """What a store must do for readers. Raises LogUnavailable."""

    async def head(self, stream: str) -> Head: ...

    async def rows(self, stream: str, after: int, limit: int) -> list[Row]: ...


class Commits:
    """What an adapter's log is made of, besides its feeds, its dead letters and what tells of its server."""

    def __init__(self, backend: Backend, reads: Reads, *, max_in_flight: int) -> None:
        self.commits_moved = 0
        """Commits read or written so far: while it grows there is progress."""
        self._backend = backend
        self._reads = reads
        self._writer = Writer(backend, max_in_flight=max_in_flight)
        self._availability = Availability(self._verify)

    # Availability

    @property
    def available(self) -> bool:
        return self._availability.up

    async def wait_available(self) -> None:
        await self._availability.wait()

    async def _verify(self) -> None:
        await self._backend.ping()
        await self._writer.verify()

    async def ping(self) -> None:
        await self._backend.ping()
        await self._writer.check_mark()

    async def verify_next(self, most: int) -> bool:
        return await self._writer.verify_next(most)

    async def require_initialised(self) -> None:
        await self._writer.require_mark()

    # Writing

    @property
    def on_log_behind(self) -> OnLogBehind | None:
        return self._writer.on_log_behind

    @on_log_behind.setter
    def on_log_behind(self, callback: OnLogBehind | None) -> None:
        self._writer.on_log_behind = callback

    @property
    def on_batch(self) -> OnBatch | None:
        return self._writer.group.on_batch

    @on_batch.setter
    def on_batch(self, callback: OnBatch | None) -> None:
        self._writer.group.on_batch = callback

    async def append(self, append: Append) -> Head:
        head = await self._writer.append(append)
        self.commits_moved += 1
        return head

    async def append_many(self, appends: Sequence[Append]) -> list[Head | VersionConflict]:
        heads = await self._writer.append_many(appends)
        self.commits_moved += len(heads)
        return heads

    async def try_append(self, append: Append) -> None:
        await self._backend.try_append(append)

    # Reading

    async def head(self, stream: str) -> Head:
        return await self._reads.head(stream)

    async def read(self, stream: str, after: int = 0, limit: int = PAGE) -> list[StoredCommit]:
        return [commit for commit, _ in await self._rows(stream, after, limit)]

    async def read_all(self, stream: str, after: int = 0) -> AsyncIterator[StoredCommit]:
        version, hash_before = after, NO_HASH if after == 0 else None
        if after > 0:
            before = await self._rows(stream, after - 1, 1)
            if before and before[0][0].version == after:
                hash_before = before[0][0].hash
        async with aclosing(self._pages(stream, version)) as pages:
            async for page in pages:
                for commit, stored_hash in page:
                    version += 1
                    if (
                        commit.version != version
                        or (commit.prev_hash != hash_before and hash_before is not None)
                        or commit.hash != stored_hash
                    ):
                        raise _broken(version, hash_before, commit)
                    hash_before = stored_hash
                    yield commit
        # A server remembers the last version there was; if its commit was deleted the hash is missing.
        await self._reads.head(stream)

    async def _pages(self, stream: str, after: int) -> AsyncGenerator[list[Row], None]:
        """Yields pages until there is none. While one is looked at the next is on its way: two are held at most."""
        page = await self._rows(stream, after, PAGE)
        while page:
            rows = self._rows(stream, page[-1][0].version, PAGE)
            coming = asyncio.get_running_loop().create_task(rows, context=contextvars.Context())
            try:
                await asyncio.sleep(0)  # so that it is asked for before whoever looks at this one is busy
                yield page
                page = await coming
            finally:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)

    async def _rows(self, stream: str, after: int, limit: int) -> list[Row]:
        rows = await self._reads.rows(stream, after, limit)
        self.commits_moved += len(rows)
        return rows

    async def _close(self, grace_s: float) -> None:
        await self._writer.close(grace_s)
        await self._availability.close()


def _broken(version: int, hash_before: bytes | None, commit: StoredCommit) -> ChainBroken:
    """Returns what is wrong with a commit that should be the one with this version. `hash_before` is None when the
    commit before is no longer in the log.
    """
    if commit.version != version:
        why = f"it is missing, the next one there is {commit.version}"
    elif hash_before is not None and commit.prev_hash != hash_before:
        why = "its prev_hash should be the hash of the commit before it"
    else:
        why = "its bytes should give the hash that is stored beside them"
    return ChainBroken(commit.stream, version, why)

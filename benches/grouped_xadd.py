"""The least that an append can cost: XADD, all of a moment in one pipeline, with no check of versions and no chain.

What `bare_server.py` writes with, and what `bench_eventlog.py` holds the event log against.
"""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

IN_FLIGHT = 2
"""Pipelines under way at a time, as in the event log."""


class GroupedXadd:
    """Appends; those that come while the pipelines are under way share the next one."""

    def __init__(self, url: str, in_flight: int = IN_FLIGHT) -> None:
        self._redis: Any = Redis.from_url(url, socket_timeout=30, retry=Retry(NoBackoff(), 0))
        self._waiting: list[tuple[str, bytes, asyncio.Future[None]]] = []
        self._more = asyncio.Event()
        self._writers = [asyncio.get_running_loop().create_task(self._write()) for _ in range(in_flight)]

    def append(self, stream: str, body: bytes) -> asyncio.Future[None]:
        """Return what is done once the entry is on disk."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((stream, body, done))
        self._more.set()
        return done

    async def _write(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            batch, self._waiting = self._waiting, []
            if not batch:
                continue
            pipeline = self._redis.pipeline(transaction=False)
            for stream, body, _ in batch:
                pipeline.xadd(stream, {b"d": body})
            await pipeline.execute()
            for _, _, done in batch:
                done.set_result(None)

    async def close(self) -> None:
        """End the connections."""
        for writer in self._writers:
            writer.cancel()
        await asyncio.gather(*self._writers, return_exceptions=True)
        await self._redis.aclose()

"""Group commit: appends that arrive in one tick of the event loop go out in one pipeline, and an append is repeated
until it is settled.

At most `max_in_flight` pipelines are on their first attempt, never two that touch the same stream. One that gets no
answer gives up that place and goes on repeating beside the others, so it holds up only its own streams. Knows nothing
of servers: `send` does the writing.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from stud_eventlog.log import OnBatch
from stud_eventlog.pauses import Pauses
from stud_eventlog.types import Append, EventLogError, Head, LogRefuses, LogUnavailable

logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 2
MAX_REPEATING = 16
"""Batches that may be repeating at one time; with more than that the log is away altogether, and new appends wait
their turn.
"""

CHUNK_APPENDS = 1024
CHUNK_BYTES = 4 * 1024 * 1024
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Again:
    """Not settled. `doubtful`: it may have been written all the same. `refused`: the server said no with this code, for
    now, and did not write.
    """

    why: str
    doubtful: bool
    refused: str = ""


Outcome = Head | EventLogError | Again
Send = Callable[[Sequence[Append]], Awaitable[list[Outcome]]]


@dataclass(slots=True)
class _Write:
    append: Append
    future: asyncio.Future[Head]
    doubtful: bool = False

    def succeed(self, head: Head) -> None:
        if not self.future.done():  # cancelled: nobody waits
            self.future.set_result(head)

    def fail(self, why: EventLogError) -> None:
        if not self.future.done():
            self.future.set_exception(why)


@dataclass(slots=True)
class _Unit:
    """Writes that were handed over together: they stay together, in order."""

    writes: list[_Write]
    streams: set[str]


class GroupCommit:
    def __init__(
        self, send: Send, *, max_in_flight: int = MAX_IN_FLIGHT, jitter: Callable[[], float] = random.random
    ) -> None:
        self.on_batch: OnBatch | None = None
        self._send = send
        self._max_in_flight = max_in_flight
        self._jitter = jitter
        self._waiting: deque[_Unit] = deque()
        self._busy: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._first_attempts = 0
        self._flush_is_due = False
        self._closed = False

    def submit(self, appends: Sequence[Append]) -> list[asyncio.Future[Head]]:
        """Takes appends over; their futures resolve when settled.

        Cancelling a future says only that nobody waits any more: the append is written all the same.
        """
        loop = asyncio.get_running_loop()
        writes = [_Write(append, loop.create_future()) for append in appends]
        if self._closed:
            for write in writes:
                write.fail(LogUnavailable("the log is closed; it must be opened again to append"))
        elif writes:
            self._waiting.append(_Unit(writes, {append.stream for append in appends}))
            self._flush_soon()
        return [write.future for write in writes]

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        if not self._waiting or self._first_attempts >= self._max_in_flight or len(self._tasks) >= MAX_REPEATING:
            return
        batch: list[_Write] = []
        passed_over: deque[_Unit] = deque()
        not_now = set(self._busy)
        for unit in self._waiting:
            if unit.streams.isdisjoint(not_now):
                batch += unit.writes
            else:
                not_now |= unit.streams  # what comes later for these streams must not overtake this unit
                passed_over.append(unit)
        self._waiting = passed_over
        if batch:
            streams = {write.append.stream for write in batch}
            self._busy |= streams
            self._first_attempts += 1
            task = asyncio.get_running_loop().create_task(self._settle(batch), context=contextvars.Context())
            self._tasks.add(task)
            task.add_done_callback(lambda done: self._finished(done, batch, streams))

    async def _settle(self, batch: list[_Write]) -> None:
        try:
            left, why = await self._send_once(batch)
        finally:
            self._first_attempts -= 1
            self._flush_soon()
        pauses = Pauses(FIRST_PAUSE_S, LONGEST_PAUSE_S, self._jitter)
        while left:
            logger.warning("%d appends are not settled, repeating them: %s", len(left), why)
            await asyncio.sleep(pauses.next_s())
            left, why = await self._send_once(left)

    def _finished(self, task: asyncio.Task[None], batch: list[_Write], streams: set[str]) -> None:
        self._tasks.discard(task)
        self._busy -= streams
        if not task.cancelled() and (fault := task.exception()) is not None:
            logger.error("a group commit failed, which is a bug", exc_info=fault)
        for write in batch:
            write.fail(LogUnavailable("given up before the log answered: the append may or may not be written"))
        self._flush_soon()

    async def _send_once(self, batch: list[_Write]) -> tuple[list[_Write], str]:
        """Sends in chunks; returns what must be repeated. After a chunk without answer the rest is not tried."""
        chunks = _chunks(batch)
        again: list[_Write] = []
        why = ""
        for chunk in chunks:
            began = perf_counter()
            outcomes = await self._send([write.append for write in chunk])
            if self.on_batch is not None:
                self.on_batch(len(chunk), perf_counter() - began)
            for write, outcome in zip(chunk, outcomes, strict=True):
                if isinstance(outcome, Again):
                    if outcome.refused and not write.doubtful:
                        write.fail(LogRefuses(outcome.refused, outcome.why, write.append.stream))
                        continue
                    write.doubtful = write.doubtful or outcome.doubtful
                    why = outcome.why
                    again.append(write)
                elif isinstance(outcome, Head):
                    write.succeed(outcome)
                else:
                    write.fail(outcome)
            if again:
                break
        for chunk in chunks:
            again += chunk
        return again, why

    async def close(self, grace_s: float) -> None:
        """Takes nothing more, gives what is under way `grace_s` to settle, then lets go of it."""
        self._closed = True
        deadline = asyncio.get_running_loop().time() + grace_s
        while (self._tasks or self._waiting) and (left := deadline - asyncio.get_running_loop().time()) > 0:
            self._flush()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for unit in self._waiting:
            for write in unit.writes:
                write.fail(LogUnavailable("closed before the append was sent: it is not written"))
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _chunks(batch: Sequence[_Write]) -> Iterator[list[_Write]]:
    chunk: list[_Write] = []
    size = 0
    for write in batch:
        if chunk and (len(chunk) >= CHUNK_APPENDS or size + write.append.size > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(write)
        size += write.append.size
    if chunk:
        yield chunk

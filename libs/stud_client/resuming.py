"""A stream that is opened again when it breaks: things come one after the other, over as many streams as it takes.

Whoever takes sees a broken stream only if it cannot be mended within `give_up_s`. A stream ends with its token; it is
opened again when the client was given a function that has another one by then.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import grpc

from stud_client.errors import OPERATORS_NEEDED, StudError, from_rpc
from stud_eventlog.pauses import Pauses

GIVE_UP_S = 60.0
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0
REFUSED_WITHIN_S = 5.0
"""A token that ran out after this long had been accepted."""

ANOTHER_TOKEN = frozenset({"TOKEN_EXPIRED", "TOKEN_REVOKED"})
"""With another token the stream goes on."""

MAX_WAITING = 1_000
"""Things waiting to be taken; beyond that the oldest are dropped."""

BROKEN = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)
"""How a stream that is opened again may end; every other status is an answer."""

T = TypeVar("T")


class Resuming(ABC, Generic[T]):
    """`async with` opens it, `async for` gives what comes, leaving the block ends the call at the server too."""

    def __init__(self, name: str, *, give_up_s: float, token: Callable[[], str]) -> None:
        self.dropped = 0
        """What was dropped because nobody took it."""
        self.resumed = 0
        """How often a stream had to be opened again."""
        self.trouble: StudError | None = None
        """Why what came last may be old: the stream broke and nothing has come since; None = it is heard."""
        self._name = name
        self._give_up_s = give_up_s
        self._token = token
        self._waiting: deque[T] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._fault: Exception | None = None
        self._progress = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the stream, here and at the server."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._end(None)

    # Taking

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        """Raises StudError when the stream cannot be mended any more."""
        while not self._waiting:
            if self._ended:
                if self._fault is not None:
                    raise self._fault
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    def _end(self, fault: Exception | None) -> None:
        if not self._ended:
            self._ended, self._fault = True, fault
            self._news.set()

    def _put(self, thing: T) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(thing)
        self.trouble = None
        self._news.set()

    # Streams, one after the other

    async def _run(self) -> None:
        try:
            await self._follow()
        except asyncio.CancelledError:
            self._end(None)
            raise
        except Exception as fault:  # noqa: BLE001  (goes to whoever follows)
            self._end(fault)
        else:
            self._end(None)

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        good_at, pauses = loop.time(), Pauses(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            self._progress, token, opened_at = False, self._token(), loop.time()
            try:
                await self._converse()
                return
            except grpc.aio.AioRpcError as fault:
                error = from_rpc(fault)
            except StudError as fault:
                error = fault
            renewed = error.reason in ANOTHER_TOKEN and self._token() != token
            at_once = renewed or error.reason == "RESUME_FROM_VERSION"
            broken = error.code in BROKEN and error.reason not in OPERATORS_NEEDED
            if not (at_once or broken or error.passing):
                raise error
            stood_s = loop.time() - opened_at  # at a quiet table a good stream brings nothing for long
            if self._progress or stood_s > (REFUSED_WITHIN_S if renewed else self._give_up_s):
                good_at = loop.time()
                pauses.start_over()
            elif loop.time() - good_at > self._give_up_s:
                raise error
            self.resumed, self.trouble = self.resumed + 1, error
            if not (at_once and self._progress):
                await asyncio.sleep(max(pauses.next_s(), error.retry_after_s))

    @abstractmethod
    async def _converse(self) -> None:
        """Holds one stream until the server ends it; raises AioRpcError or StudError when it breaks. What comes is
        `_put`, and is `_progress`.
        """


async def stop_task(task: asyncio.Task[Any]) -> None:
    """Raises CancelledError for whoever is cancelled meanwhile, and only then."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

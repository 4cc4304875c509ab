"""Following a table: its updates one after the other, over as many streams as it takes.

A stream that breaks is opened again with the version and head hash of the last update that came, so nothing is missed
and nothing comes twice. Whoever follows sees a broken stream only if it cannot be mended within `give_up_s`. A
stream ends with its token; it is opened again when the client was given a function that has another one by then.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Self

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1.table_service_pb2_grpc import TableServiceStub
from stud_client.errors import OPERATORS_NEEDED, from_rpc
from stud_client.plain import ACCEPTS, Plain
from stud_eventlog.pauses import Pauses

GIVE_UP_S = 60.0
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0
REFUSED_WITHIN_S = 5.0
"""A token that ran out after this long had been accepted."""

MAX_WAITING = 1_000
"""Updates waiting for the follower. Each has the whole table in it, so beyond that the oldest are dropped."""

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


class Following(ABC):
    """`async with` opens it, `async for` gives the updates, leaving the block ends the call at the server too."""

    def __init__(
        self,
        tables: TableServiceStub,
        table: str,
        after_version: int | None,
        head_hash: bytes,
        *,
        give_up_s: float,
        token: Callable[[], str],
    ) -> None:
        self.table = table
        self.last: pb.TableUpdate | None = None
        """The latest update that has come, whether taken or not."""
        self.dropped = 0
        """Updates that were dropped because nobody took them."""
        self.resumed = 0
        """How often a stream had to be opened again."""
        self._tables = tables
        self._version = after_version
        self._head_hash = head_hash
        self._give_up_s = give_up_s
        self._token = token
        self._waiting: deque[pb.TableUpdate] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._fault: Exception | None = None
        self._progress = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"follow {self.table}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the stream, here and at the server."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._end(None)

    # Taking updates

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pb.TableUpdate:
        """Raises StudError when the table cannot be followed any more."""
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

    def _receive(self, update: pb.TableUpdate) -> None:
        self._progress = True
        if self._version is not None and update.version <= self._version and not update.reset:
            return
        self._version, self._head_hash = update.version, update.head_hash
        self.last = update
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(update)
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
            renewed = error.reason == "TOKEN_EXPIRED" and self._token() != token
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
            self.resumed += 1
            if not (at_once and self._progress):
                await asyncio.sleep(max(pauses.next_s(), error.retry_after_s))

    @abstractmethod
    async def _converse(self) -> None:
        """Holds one stream until the server ends it; raises AioRpcError when it breaks."""

    async def _hear(self, call: Any) -> None:
        """Takes what a stream tells, until it ends."""
        plain = Plain()
        async for message in call:
            for said in plain.told_by(message):
                self._take(said)

    def _take(self, said: pb.TableUpdate | pb.CommandResult) -> None:
        if isinstance(said, pb.TableUpdate):
            self._receive(said)

    def _subscribe(self) -> pb.Subscribe:
        return pb.Subscribe(table=self.table, after_version=self._version, head_hash=self._head_hash, accepts=ACCEPTS)


class Watching(Following):
    """A spectator's view of a table. Made by `StudClient.watch`."""

    async def _converse(self) -> None:
        call: Any = self._tables.Watch(pb.WatchRequest(subscribe=self._subscribe()))
        try:
            await self._hear(call)
        finally:
            call.cancel()  # else the server would go on serving a stream that nobody reads


async def stop_task(task: asyncio.Task[Any]) -> None:
    """Raises CancelledError for whoever is cancelled meanwhile, and only then."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

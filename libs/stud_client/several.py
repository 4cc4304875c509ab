"""Sessions at several tables over one Play stream (CAPABILITY_SEVERAL_TABLES).

To a session this looks like a stream of its own: what it writes goes to the one there is, what comes is told to the
session whose table it is of. When the stream breaks it breaks for all of them, and the first that comes back opens the
next; each subscribes behind the last update it has, as ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Self, cast

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1.table_service_pb2_grpc import TableServiceStub
from stud_client.errors import StudError, from_result
from stud_client.resuming import stop_task
from stud_client.session import TableSession


class SeveralTables:
    """Made by `StudClient.several`; enter it with `async with`, and then each session.

    async with client.several() as tables, tables.play("t-1") as one, tables.play("t-2") as other:
        ...
    """

    def __init__(self, stub: TableServiceStub, *, give_up_s: float, token: Callable[[], str]) -> None:
        self._stub = stub
        self._give_up_s = give_up_s
        self._token = token
        self._call: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._parts: dict[str, _Part] = {}
        self._writing = asyncio.Lock()
        self._goodbyes: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the stream, here and at the server; sessions that are still open break."""
        if self._call is not None:
            self._call.cancel()
        tasks = [*self._goodbyes, *([self._reader] if self._reader is not None else [])]
        for task in tasks:
            await stop_task(task)

    def play(self, table: str, after_version: int | None = None, head_hash: bytes = b"") -> TableSession:
        """Returns a session as `StudClient.play` does, on this stream; a table has one here at a time."""
        stub = cast("TableServiceStub", _Stub(self))
        return TableSession(stub, table, after_version, head_hash, give_up_s=self._give_up_s, token=self._token)

    async def subscribe(self, part: _Part, request: pb.PlayRequest) -> None:
        """Begins to tell a session of its table, on a new stream where there is none."""
        request.subscribe.accepts.append(pb.CAPABILITY_SEVERAL_TABLES)
        async with self._writing:
            table = request.subscribe.table
            if table in self._parts:
                part.end(StudError("INVALID_FIELD", f"there is a session at {table!r} on this stream already"))
                return
            if self._call is None:
                part.is_first = True
                call = self._call = self._stub.Play()
                self._reader = asyncio.get_running_loop().create_task(self._read(call), name="play at several tables")
            self._parts[table] = part
            await self._call.write(request)

    async def write(self, part: _Part, request: pb.PlayRequest) -> None:
        """Sends a session's command, unless its stream is over: its reader says why."""
        async with self._writing:
            if self._parts.get(part.table) is part:
                await self._call.write(request)

    def leave(self, part: _Part) -> None:
        """Tells a session no more; the stream ends with its last one."""
        if self._parts.get(part.table) is not part:
            return
        del self._parts[part.table]
        if not self._parts:
            call, self._call = self._call, None
            call.cancel()
            return
        task = asyncio.get_running_loop().create_task(self._say_goodbye(part.table))
        self._goodbyes.add(task)
        task.add_done_callback(self._goodbyes.discard)

    async def _say_goodbye(self, table: str) -> None:
        async with self._writing:
            if self._call is not None and table not in self._parts:
                request = pb.PlayRequest(unsubscribe=pb.Unsubscribe(table=table))
                with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # it is over, for this table too
                    await self._call.write(request)

    async def _read(self, call: Any) -> None:
        fault: grpc.aio.AioRpcError | None = None
        try:
            async for message in call:
                part = self._parts.get(table_of(message)) if self._call is call else None
                if part is not None:
                    part.put(message)
        except grpc.aio.AioRpcError as error:
            fault = error
        finally:
            call.cancel()
            if self._call is call:
                self._call = None
                parts, self._parts = self._parts, {}
                for part in parts.values():
                    part.end(fault)


class _Stub:
    """As much of a stub as a session uses."""

    def __init__(self, several: SeveralTables) -> None:
        self._several = several

    def Play(self) -> _Part:  # noqa: N802  (as the stub has it)
        return _Part(self._several)


class _Part:
    """One session's part of the stream, as if it were a call of its own."""

    def __init__(self, several: SeveralTables) -> None:
        self.table = ""
        self.is_first = False
        """Whether the stream stands or falls with this table: what it ends with before anything came is its answer."""
        self._several = several
        self._queue: asyncio.Queue[pb.PlayResponse | grpc.aio.AioRpcError | StudError | None] = asyncio.Queue()
        self._began = False
        self._seen_full = False

    async def write(self, request: pb.PlayRequest) -> None:
        if self.table:
            await self._several.write(self, request)
        else:
            self.table = request.subscribe.table
            await self._several.subscribe(self, request)

    def cancel(self) -> None:
        self._several.leave(self)

    def put(self, message: pb.PlayResponse) -> None:
        """Takes what came, but for the last of an earlier session at the table."""
        self._began = True
        updates = [said.update for said in message.batch.responses or (message,) if said.HasField("update")]
        if any(update.reset for update in updates):
            self._seen_full = True
        if self._seen_full or not updates or not updates[0].current:
            self._queue.put_nowait(message)
        if any(update.view.life == pb.TABLE_LIFE_CLOSED for update in updates):
            self._queue.put_nowait(None)

    def end(self, fault: grpc.aio.AioRpcError | StudError | None) -> None:
        """Ends as the stream has ended; what only concerns the table that it began with is no answer for another."""
        if isinstance(fault, grpc.aio.AioRpcError) and not (self.is_first or self._began):
            metadata = grpc.aio.Metadata()
            fault = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, metadata, metadata, "the shared stream broke")
        self._queue.put_nowait(fault)

    async def __aiter__(self) -> AsyncIterator[pb.PlayResponse]:
        while (said := await self._queue.get()) is not None:
            if isinstance(said, Exception):
                raise said
            if said.HasField("result") and said.result.reason and not said.result.request_id:
                raise from_result(said.result)  # the subscription was refused
            yield said


def table_of(message: pb.PlayResponse) -> str:
    """Return the table that a message is of: of a batch all are of one."""
    one = message.batch.responses[0] if message.batch.responses else message
    return one.result.table if one.HasField("result") else one.update.table

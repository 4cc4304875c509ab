"""A TCP proxy that misbehaves on purpose: between a client and a server it holds, drops or cuts what passes.

    async with Proxy(server_port) as proxy:
        proxy.replies.drop()      # the server works, nobody hears of it
        ...
        proxy.heal()

What was dropped is gone and leaves the connection useless; what is held passes when it is let go, even if the client
has gone away in the meantime: that is how a packet arrives seconds too late.
"""

import asyncio
import contextlib
from enum import Enum
from types import TracebackType
from typing import Self


class Mode(Enum):
    PASS = "pass"
    HOLD = "hold"
    DROP = "drop"


class Valve:
    """One direction of all connections."""

    def __init__(self) -> None:
        self.mode = Mode.PASS
        self.bytes_stopped = 0
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        self.mode = Mode.HOLD
        self._open.clear()

    def drop(self) -> None:
        self.mode = Mode.DROP
        self._open.set()

    def release(self) -> None:
        self.mode = Mode.PASS
        self._open.set()

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carries bytes until the sender closes. After the first dropped byte nothing of this connection passes."""
        broken = False
        while data := await reader.read(65536):
            if self.mode is not Mode.PASS:
                self.bytes_stopped += len(data)
            broken = broken or self.mode is Mode.DROP
            await self._open.wait()
            if not broken:
                writer.write(data)
                await writer.drain()


class Proxy:
    def __init__(self, target_port: int) -> None:
        self.requests = Valve()
        self.replies = Valve()
        self.accepting = True
        self.connections = 0
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def heal(self) -> None:
        self.requests.release()
        self.replies.release()
        self.accepting = True

    def cut(self) -> None:
        """Breaks every connection there is, at once. Held bytes are lost with them."""
        for writer in self._writers:
            writer.transport.abort()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.heal()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        if not self.accepting:
            writer.transport.abort()
            self._tasks.discard(task)
            return
        self._writers.add(writer)
        upstream: asyncio.StreamWriter | None = None
        try:
            answers, upstream = await asyncio.open_connection("127.0.0.1", self._target_port)
            self._writers.add(upstream)
            await self._carry(reader, writer, answers, upstream)
        except OSError:
            pass
        finally:
            self._tasks.discard(task)
            for end in (writer, upstream):
                if end is not None:
                    self._writers.discard(end)
                    end.close()

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> None:
        """Ends when the client has closed and all its requests have been passed on, or when the server closes."""
        back = asyncio.create_task(_quietly(self.replies, answers, writer))
        there = asyncio.create_task(_quietly(self.requests, reader, upstream))
        try:
            await asyncio.wait((back, there), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (back, there):
                task.cancel()
            await asyncio.gather(back, there, return_exceptions=True)


async def _quietly(valve: Valve, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await valve.pump(reader, writer)

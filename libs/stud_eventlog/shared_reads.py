"""Small reads that are asked for in one turn of the loop go out together: a round trip costs more than what it
brings. Whoever reads handles tables beside each other, so what they look up in one turn is one pipeline.
"""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from stud_eventlog.redis_wire import Command, Lost, Wire, answered

MOST = 128
"""Commands of one pipeline."""


class SharedReads:
    """Over one wire. A caller that is cancelled keeps nobody else from their answer."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._waiting: list[tuple[Command, asyncio.Future[Any]]] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def ask(self, command: Command) -> Any:
        """Returns the reply. Raises LogUnavailable, LogRefuses."""
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Any] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send_all, context=contextvars.Context())
        self._waiting.append((command, reply))
        return answered(await reply)

    def _send_all(self) -> None:
        asked, self._waiting = self._waiting, []
        for first in range(0, len(asked), MOST):
            task = asyncio.get_running_loop().create_task(
                self._send(asked[first : first + MOST]), context=contextvars.Context()
            )
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _send(self, asked: list[tuple[Command, asyncio.Future[Any]]]) -> None:
        replies: list[Any] = [Lost(sent=False, why="given up")] * len(asked)
        try:
            replies = await self._wire.pipeline([command for command, _ in asked])
        finally:
            for (_, reply), found in zip(asked, replies, strict=True):
                if not reply.done():
                    reply.set_result(found)

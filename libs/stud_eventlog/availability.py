"""Is the log there? Down at the first failure to reach it; up again only after a probe has answered and the log was
verified.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable

from stud_eventlog.pauses import Pauses
from stud_eventlog.types import EventLogError

logger = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0


class Availability:
    """`verify` reaches the log and compares it with what is known of it; it raises EventLogError while that fails."""

    def __init__(self, verify: Callable[[], Awaitable[None]]) -> None:
        self._verify = verify
        self._up = asyncio.Event()
        self._up.set()
        self._probing: asyncio.Task[None] | None = None
        self._losses = 0
        self._closed = False

    @property
    def up(self) -> bool:
        return self._up.is_set()

    async def wait(self) -> None:
        await self._up.wait()

    def lost(self, why: str) -> None:
        """Notes a failure, or a new connection whose other end may be a different life of the server."""
        self._losses += 1
        if self._closed:
            return
        if self._up.is_set():
            logger.warning("the event log is away: %s", why)
            self._up.clear()
        if self._probing is None or self._probing.done():
            self._probing = asyncio.get_running_loop().create_task(self._probe(), context=contextvars.Context())

    async def _probe(self) -> None:
        pauses = Pauses(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            losses = self._losses
            try:
                await self._verify()
            except EventLogError as why:
                logger.debug("the event log is still away: %s", why)
            except Exception:
                # Whatever it was, without a probe nothing would ever say that the log is back.
                logger.exception("the event log could not be looked at")
            else:
                if losses == self._losses:
                    break
                continue  # something was lost while verifying: again, without a pause
            await asyncio.sleep(pauses.next_s())
        logger.info("the event log is back, and holds what it had acknowledged")
        self._up.set()

    async def close(self) -> None:
        self._closed = True
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)

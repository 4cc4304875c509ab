"""Watching the log: is it there, can it be written, will it keep what is written?

What is wrong is noticed within a few seconds even where nobody acts. It is told to the service (whose views say why
nothing moves), to whoever asks for its health, and in its own log at once and then every minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from stud_eventlog.trouble import AWAY, BEHIND, Trouble
from stud_eventlog.types import EventLogError, NotInitialised
from stud_service.log_writer import TELL_EVERY_S
from stud_service.runtime import Runtime

logger = structlog.get_logger(__name__)

LOOK_S = 0.1
PING_EVERY = 10
"""After how many looks the log is asked something, so that its absence is noticed without traffic."""

COMPARED_A_LOOK = 50
"""So many streams are compared with what was acknowledged; all of them within a second, or at 500 a second."""

TRY_EVERY = 20
"""After how many looks a write is tried."""

AWAY_HELP = "start the server, or see whether it can be reached; what was acknowledged is safe"
LOST_HELP = "it has lost its data: restore them, do not initialise it again while services run"


class LogWatch:
    """Keeps ``runtime.trouble`` up to date. ``changed`` is called when ``serving`` may have."""

    def __init__(self, runtime: Runtime, changed: Callable[[], None]) -> None:
        self._runtime = runtime
        self._changed = changed
        self._mark_is_gone = False
        self._lost_why = ""
        self._told_at = 0.0

    @property
    def reachable(self) -> bool:
        """Whether calls can be taken: the log answers, and is the one that was there before."""
        return self._runtime.log.available and not self._mark_is_gone

    @property
    def is_another(self) -> bool:
        """Whether the log that answers is not the one that was there before."""
        return self._mark_is_gone

    @property
    def serving(self) -> bool:
        """Whether anybody looking for a service should be sent here."""
        trouble = self._runtime.trouble
        return self.reachable and (trouble is None or trouble.serving)

    async def run(self) -> None:
        """Never returns."""
        serving, looks, compared = self.serving, 0, False
        while True:
            if looks % PING_EVERY == 0:
                await self._ping()
                compared = False
            compared = compared or await self._compare()
            if looks % TRY_EVERY == 0:
                await self._try()
            if self.serving != serving:
                serving = self.serving
                self._changed()
            looks += 1
            await asyncio.sleep(LOOK_S)

    async def _ping(self) -> None:
        try:
            await self._runtime.log.ping()
            self._mark_is_gone = False
        except NotInitialised as why:
            if not self._mark_is_gone:
                logger.critical("log_lost_its_mark", why=str(why))
            self._mark_is_gone = True
            self._lost_why = str(why)
        except EventLogError as why:
            logger.debug("log_is_away", why=str(why))

    async def _compare(self) -> bool:
        """Hold some streams to what was acknowledged; return whether all have been, or none can be."""
        if not self.reachable:
            return True
        try:
            return await self._runtime.log.verify_next(COMPARED_A_LOOK)
        except EventLogError as why:
            logger.debug("log_not_compared", why=str(why))
            return True

    async def _try(self) -> None:
        try:
            found = await self._runtime.log.trouble(self._runtime.name)
        except EventLogError as why:
            found = Trouble(AWAY, str(why), AWAY_HELP, refuses=True)
        if self._mark_is_gone:
            found = Trouble(BEHIND, self._lost_why, LOST_HELP, refuses=True)
        self._note(found)

    def _note(self, found: Trouble | None) -> None:
        before = self._runtime.trouble
        if (found and found.code) != (before and before.code):
            self._runtime.set_trouble(found)
            self._told_at = 0.0
            if before is not None:
                logger.info("log_trouble_over", code=before.code)
        now = asyncio.get_running_loop().time()
        if found is not None and (not self._told_at or now - self._told_at >= TELL_EVERY_S):
            self._told_at = now
            logger.critical("log_trouble", code=found.code, why=found.why, help=found.help)

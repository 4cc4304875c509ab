"""What dies while the system runs is reported and started again, after a while that grows with the deaths.

Whatever dies five times within a minute will not live by being started: then everything is stopped in order, saying
which it was and why. The log's server starts on what it kept, and services wait for it and for each other. On a full
disk nothing is started, however long that takes: it would die once more.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from stud_cli.local.disk import full_disk
from stud_cli.local.pid_file import SERVER
from stud_cli.local.system import LocalSystem, LocalSystemError

DEATHS: Final = 5
WITHIN_S: Final = 60.0
FIRST_WAIT_S: Final = 0.25
"""Before something is started again; twice as long after each further death within the minute."""

LOOK_EVERY_S: Final = 0.1
ASK_FOR_ROOM_EVERY_S: Final = 1.0
TELL_EVERY_S: Final = 60.0


async def keep(system: LocalSystem, changed: Callable[[], None] = lambda: None) -> None:
    """Keep everything running until the system is stopped; ``changed`` is told when processes are new ones. Raises
    LocalSystemError when something cannot be kept.
    """
    keepers = [asyncio.create_task(_Keeper(system, name, changed).keep()) for name in (SERVER, *system.names)]
    try:
        done, _ = await asyncio.wait(keepers, return_when=asyncio.FIRST_EXCEPTION)
        for keeper in done:
            keeper.result()
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)


class _Keeper:
    """Of one process."""

    def __init__(self, system: LocalSystem, name: str, changed: Callable[[], None]) -> None:
        self._system, self._name, self._changed = system, name, changed
        self._who = "the log's server" if name == SERVER else name
        self._deaths: deque[float] = deque(maxlen=DEATHS)

    async def keep(self) -> None:
        why = ""
        while True:
            while not (why or self._is_dead()):
                if self._system.stopping:
                    return
                await asyncio.sleep(LOOK_EVERY_S)
            if self._system.stopping:
                return
            why = await self._start_again(why or await asyncio.to_thread(self._why))

    def _is_dead(self) -> bool:
        if self._name == SERVER:
            return not self._system.server.running
        process = self._system.processes.get(self._name)
        return process is not None and process.returncode is not None

    def _why(self) -> str:
        if self._name == SERVER:
            return f"died: {self._system.server.why_it_ended()}"
        code = self._system.processes[self._name].returncode
        return f"died with {code}: {self._system.last_words(self._name)}"

    async def _start_again(self, why: str) -> str:
        """Start it after a while; return why it could not be, empty when it could.

        Raises LocalSystemError after too many deaths.
        """
        self._deaths.append(time.monotonic())
        if len(self._deaths) == DEATHS and self._deaths[-1] - self._deaths[0] <= WITHIN_S:
            raise LocalSystemError(f"{self._who} died {DEATHS} times within a minute, everything is stopped. It {why}")
        lately = sum(self._deaths[-1] - died <= WITHIN_S for died in self._deaths)
        wait_s = FIRST_WAIT_S * 2 ** (lately - 1)
        self._system.report(f"{self._who} {why}\n{self._who} is started again in {wait_s:g} s")
        await asyncio.sleep(wait_s)
        await self._wait_for_room()
        if self._system.stopping:
            return ""
        began = time.monotonic()
        try:
            await (self._system.start_server() if self._name == SERVER else self._system.start_service(self._name))
        except (LocalSystemError, OSError) as error:
            return self._not_started(error)
        finally:
            self._changed()
        self._system.report(f"{self._who} is back after {time.monotonic() - began:.1f} s")
        return ""

    async def _wait_for_room(self) -> None:
        """Wait, and say so, while the disk is full, or until the system is stopped."""
        folder = self._system.server.data_dir if self._name == SERVER else self._system.data_dir
        told_at = -TELL_EVERY_S
        while not self._system.stopping and (problem := await asyncio.to_thread(full_disk, folder)):
            if time.monotonic() - told_at >= TELL_EVERY_S:
                told_at = time.monotonic()
                self._system.report(f"{self._who} is not started before there is room: {problem}")
            await asyncio.sleep(ASK_FOR_ROOM_EVERY_S)

    def _not_started(self, error: Exception) -> str:
        """Return why there is nothing now; a service that is merely not healthy yet is watched on."""
        if self._name != SERVER:
            process = self._system.processes.get(self._name)
            if process is not None and process.returncode is None:
                self._system.report(str(error))
                return ""
        return f"could not be started: {error}"

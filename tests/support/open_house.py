"""The services of a `MemorySystem` behind real gRPC, in a thread of their own, for commands, which have their own loop.

Time is the clock's here; nothing is written to a disk, and nothing but a socket is opened.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import grpc
import structlog

from stud_service.interceptors import Interceptor
from stud_service.server_options import SERVER_OPTIONS
from stud_service.signing_keys import load_public_key
from stud_service.tokens import Verifier
from stud_topology.services import NAMES
from tests.support.system_memory import MemorySystem

T = TypeVar("T")
Prepare = Callable[[MemorySystem], Awaitable[None]]


class OpenHouse:
    """A house that commands may ask, as a context. ``prepare`` is done to the system before its services serve."""

    def __init__(self, folder: Path, *names: str, prepare: Prepare | None = None) -> None:
        self._folder, self._names, self._prepare = folder, names, prepare
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="open house", daemon=True)
        self.system: MemorySystem
        self.address = ""

    @property
    def environ(self) -> dict[str, str]:
        """What a command needs to find it."""
        where = {f"STUD_{name.upper()}_ENDPOINT": self.address for name in NAMES}
        return {**where, "STUD_KEYS_DIR": str(self.system.keys_dir)}

    def __enter__(self) -> Self:
        self._told_before = structlog.get_config()
        structlog.configure(logger_factory=structlog.ReturnLoggerFactory())  # what commands print is theirs alone
        self._thread.start()
        assert self._ready.wait(60)
        if self._fault is not None:
            raise self._fault
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(60)
        structlog.configure(**self._told_before)
        assert not self._thread.is_alive()

    def do(self, work: Callable[[MemorySystem], Awaitable[T]]) -> T:
        """Do something on the house's own loop, beside what it serves."""

        async def working() -> T:
            return await work(self.system)

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(working(), self._loop).result(60)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as fault:  # noqa: BLE001  (whoever waits for the house is told)
            self._fault = fault
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.system = MemorySystem(self._folder, *self._names)
        if self._prepare is not None:
            await self._prepare(self.system)
        for name in self.system.names:
            if name not in self.system.apps:
                await self.system.start(name)
        interceptor = Interceptor(Verifier(load_public_key(self.system.keys_dir)), lambda: None, 10.0, None)
        server = grpc.aio.server(interceptors=[interceptor], options=SERVER_OPTIONS)
        for app in self.system.apps.values():
            app.register(server)
        self.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        self._ready.set()
        await self._over.wait()
        await server.stop(0)
        await self.system.__aexit__()


def event_log(system: MemorySystem) -> Any:
    """A log of the tests' own on the house's store."""
    from stud_eventlog.memory import MemoryEventLog

    return MemoryEventLog(system.store)

"""All four services in one process, on one log in memory, in virtual time: no sockets, no disk, no waiting.

`simulated` runs a test on a loop whose clock jumps to the next timer whenever nothing else can happen, so that ten
seconds of an action clock cost nothing and a test that waits for what never comes fails at once. The services are the
real ones; only gRPC is left out: calls go straight to the servicer, with a caller named as the interceptor would.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

from dealer_service.app import DealerApp
from rules_service.app import RulesApp
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_service.clock import Clock
from stud_service.identity import Caller, set_caller
from stud_service.keyring import ensure_dev_keys
from stud_service.limits import Limits
from stud_service.log_watch import LogWatch
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from table_service.actor import TableActor
from table_service.app import TableApp
from table_service.servicer import TableServicer
from wallet_service.app import WalletApp

EPOCH_MS = 1_700_000_000_000
APPS: dict[str, Callable[[Runtime], Any]] = {
    "wallet": WalletApp,
    "dealer": DealerApp,
    "rules": RulesApp,
    "table": TableApp,
}
Test = Callable[..., Coroutine[Any, Any, None]]


class Stuck(AssertionError):
    """Nothing will ever happen again, and somebody waits."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time is made up: still while there is work, it jumps to the next timer when there is none."""

    def __init__(self) -> None:
        selector = selectors.SelectSelector()
        look = selector.select

        def select(timeout: float | None = None) -> Any:
            events = look(0)
            if not events and timeout is None:
                raise Stuck
            if not events and timeout:
                self._virtual_s += timeout
            return events

        selector.select = select  # type: ignore[method-assign]
        self._virtual_s = 0.0
        super().__init__(selector)
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._virtual_s

    def skip(self, seconds: float) -> None:
        """Let time pass in which nothing is there to happen."""
        self._virtual_s += seconds


def simulated(test: Test) -> Callable[..., None]:
    """Runs a coroutine test in virtual time."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def virtual_ms() -> int:
    """Milliseconds since the epoch, as every service of the running simulation sees them."""
    return EPOCH_MS + round(asyncio.get_running_loop().time() * 1000)


class MemorySystem:
    """Starts, stops and crashes services. `async with MemorySystem(folder) as system:` starts all of them."""

    def __init__(
        self, folder: Path, *names: str, currencies: tuple[str, ...] = ("EUR", "XTS"), **settings: Any
    ) -> None:
        self.store = MemoryStore()
        self.store.data.initialised = True
        self.keys_dir = folder / "keys"
        self.currencies = currencies
        self.settings = settings
        self.names = names or tuple(APPS)
        self.apps: dict[str, Any] = {}
        self.runtimes: dict[str, Runtime] = {}
        self.factories: dict[str, Callable[[Runtime], Any]] = dict(APPS)
        self.clock: Callable[[], Callable[[], int]] = lambda: virtual_ms
        """Makes the clock of a service."""
        self.watching = False
        """Whether services watch the log, as they do when they run alone: then there is always something to do."""
        ensure_dev_keys(self.keys_dir)

    async def __aenter__(self) -> Self:
        for name in self.names:
            await self.start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.store.start()
        for name in reversed(list(self.apps)):
            await self.stop(name)

    def runtime(self, name: str) -> Runtime:
        settings = ServiceSettings(
            keys_dir=self.keys_dir,
            currencies=self.currencies,
            allow_stacked_decks=True,
            build="test",
            **self.settings,
        )
        return Runtime(name, settings, MemoryEventLog(self.store), clock=self.clock(), limits=Limits(settings))

    async def start(self, name: str) -> Any:
        runtime = self.runtimes[name] = self.runtime(name)
        app = self.apps[name] = self.factories[name](runtime)
        await app.start()
        if isinstance(runtime.clock, Clock):
            runtime.spawn(runtime.watch_clock(), "watch clock")
        if self.watching:
            runtime.spawn(LogWatch(runtime, lambda: None).run(), "watch log")
        return app

    async def stop(self, name: str) -> None:
        await self.apps[name].stop()
        await self.crash(name)

    async def crash(self, name: str) -> None:
        """Ends a service without any of its goodbyes. What it had handed to the log may still come about."""
        runtime = self.runtimes.pop(name)
        app = self.apps.pop(name)
        if name == "table":
            for actor in app.registry.all():
                actor._timer.cancel()
        await runtime.tasks.cancel_all()
        await runtime.log.close()
        assert runtime.tasks.fault is None, runtime.tasks.fault

    # Calls

    @property
    def tables(self) -> TableApp:
        app: TableApp = self.apps["table"]
        return app

    async def actor(self, table: str) -> TableActor:
        return await self.tables.registry.get(table)

    async def call(self, method: str, request: Any, account: str, *roles: str) -> Any:
        """Calls TableService as somebody. Raises Refused."""
        return await self.calls(
            TableServicer(self.tables.registry, self.tables.streams), method, request, account, roles
        )

    async def calls(
        self, servicer: Any, method: str, request: Any, account: str, roles: tuple[str, ...] = ("player",)
    ) -> Any:
        async def as_caller() -> Any:
            set_caller(Caller(account, frozenset(roles or ("player",))))
            return await getattr(servicer, method)(request, None)

        return await asyncio.get_running_loop().create_task(as_caller())

    def service(self, name: str) -> Any:
        return self.apps[name]

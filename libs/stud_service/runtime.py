"""What a service is given: its name, settings, log, clock, source of ids, and a nursery for its tasks."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from stud_eventlog.log import EventLog
from stud_eventlog.trouble import Trouble
from stud_eventlog.types import COMMIT_ID_BYTES
from stud_service.clock import Clock
from stud_service.limits import Limits, Share
from stud_service.meters import Meters
from stud_service.settings import ServiceSettings

logger = structlog.get_logger(__name__)


CANCEL_ATTEMPTS = 3
CANCEL_WAIT_S = 1.0
WATCH_CLOCK_S = 1.0


def new_commit_id() -> bytes:
    return secrets.token_bytes(COMMIT_ID_BYTES)


class TaskEnded(Exception):
    """A task that must live has ended without a fault of its own."""


class Tasks:
    """Tasks that live as long as the service. `crashed` is set to the first fault of one of them."""

    def __init__(self) -> None:
        self.running: set[asyncio.Task[Any]] = set()
        self.fault: BaseException | None = None
        self.crashed = asyncio.Event()

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str, *, may_end: bool = False) -> asyncio.Task[Any]:
        # In a context of its own: what is bound for the call that happens to start it (account, request, method, the
        # caller) is over long before the task is.
        context = contextvars.Context()
        task = asyncio.get_running_loop().create_task(coro, name=name, context=context)
        self.running.add(task)
        task.add_done_callback(functools.partial(self._ended, may_end=may_end), context=context)
        return task

    def _ended(self, task: asyncio.Task[Any], *, may_end: bool) -> None:
        self.running.discard(task)
        fault = None if task.cancelled() else task.exception()
        if fault is None and not may_end and not task.cancelling():
            fault = TaskEnded(f"{task.get_name()} ended, and must not")
        if fault is None:
            return
        if self.fault is None:
            self.fault = fault
        self.crashed.set()
        logger.error("task_crashed", task=task.get_name(), exc_info=fault)

    async def cancel_all(self) -> None:
        """Cancels what still runs and waits for its end; again and again, since a task may swallow it (`wait_for`
        before Python 3.12). What still runs after that is reported and left alone.
        """
        tasks = {task for task in self.running if task is not asyncio.current_task()}
        for _ in range(CANCEL_ATTEMPTS):
            for task in tasks:
                task.cancel()
            if tasks:
                _, tasks = await asyncio.wait(tasks, timeout=CANCEL_WAIT_S)
        if tasks:
            logger.warning("tasks_go_on", tasks=sorted(task.get_name() for task in tasks))


async def for_ever(work: Callable[[], Coroutine[Any, Any, Any]], name: str) -> None:
    """Does what must not end before it is cancelled, in a group of tasks; else raises TaskEnded. A group takes no
    notice of a task that was not cancelled itself but ran into a cancellation: of a future, say.
    """
    task = asyncio.current_task()
    try:
        await work()
    except asyncio.CancelledError:
        if task is None or task.cancelling():
            raise
    raise TaskEnded(f"{name} ended, and must not")


@dataclass
class Runtime:
    """Everything of the outside world that a service may use. Tests need to give only the first three."""

    name: str
    """table, dealer, rules or wallet."""

    settings: ServiceSettings
    log: EventLog
    clock: Callable[[], int] = field(default_factory=Clock)
    """Milliseconds since the epoch; the only time there is."""

    on_clock_set: list[Callable[[int], None]] = field(default_factory=list)
    """Told, before anything else is decided, by how many milliseconds the clock was set."""

    new_id: Callable[[], bytes] = new_commit_id
    """16 random bytes: the id of a commit."""

    warm_ups: list[Callable[[], None]] = field(default_factory=list)
    """Loads what first calls would otherwise wait for, each in a thread beside the work, once the service serves."""

    trouble: Trouble | None = None
    """Why the log cannot be written, may lose what is written, or is nearly full; None = nothing is wrong."""

    on_trouble: list[Callable[[], None]] = field(default_factory=list)
    """Told when it comes or goes."""

    tasks: Tasks = field(default_factory=Tasks)

    limits: Limits = field(default_factory=lambda: Limits(ServiceSettings()))
    """How much one caller may ask for; the server's interceptor counts with the same."""

    meters: Meters = field(default_factory=Meters)
    """What is counted here, for operators."""

    heavy: Share = field(init=False)
    """The share of the loop's time for heavy questions."""

    def __post_init__(self) -> None:
        self.heavy = Share(self.settings.heavy_percent)

    @property
    def keys_dir(self) -> Path:
        return self.settings.keys_dir

    @property
    def build(self) -> str:
        """Name of this build; every commit carries it."""
        return self.settings.build

    @property
    def log_refuses(self) -> bool:
        """Whether nothing can be written now."""
        return self.trouble is not None and self.trouble.refuses

    def set_trouble(self, trouble: Trouble | None) -> None:
        """Notes the state of the log, and tells."""
        self.trouble = trouble
        for tell in self.on_trouble:
            tell()

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str, *, may_end: bool = False) -> asyncio.Task[Any]:
        """Starts a task that belongs to the service. If it crashes, or ends though nobody cancelled it, the service
        stops and that is logged: one that lost a part of itself must not look alive. `may_end` is for what finishes
        some time.
        """
        return self.tasks.spawn(coro, name, may_end=may_end)

    async def watch_clock(self) -> None:
        """Checks every second whether the wall clock was set. Never returns."""
        while isinstance(self.clock, Clock):
            await asyncio.sleep(WATCH_CLOCK_S)
            by_ms = self.clock.follow()
            if by_ms:
                for tell in self.on_clock_set:
                    tell(by_ms)
                logger.warning("clock_set", by_ms=by_ms, times=self.clock.steps)

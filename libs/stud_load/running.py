"""A run from beginning to end: tables are opened and seated, played at the pace of the plan, closed and counted."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final

import msgspec

from stud_load.crew import Crew
from stud_load.plan import LoadPlan
from stud_load.probing import Probes
from stud_load.recorder import Interval, Measure
from stud_load.report import Machine, Report
from stud_load.target import Target
from stud_load.usage import Meter, Sample
from stud_load.viewer import Clock

GRACE_S: Final = 3.0
"""After the window: for answers to what began in it."""

LATE_MS: Final = 5.0
"""A driver whose 99th percentile is later than that measures itself too."""

BUSY: Final = 0.8
"""A driver that uses more of a core than that is near its own limit."""


class Progress(msgspec.Struct):
    """How far a run is. ``share`` of its phase is done (0 to 1); ``interval`` and ``samples`` are the latest ones, and
    ``violations`` and ``refused`` those of all the run.
    """

    phase: str
    share: float = 0.0
    interval: Interval | None = None
    samples: dict[str, Sample] = {}
    violations: int = 0
    refused: int = 0


Tell = Callable[[Progress], None]
Gate = Callable[[], Awaitable[None]]


async def _open_gate() -> None:
    """Nobody else has to be waited for."""


async def run(
    plan: LoadPlan,
    target: Target,
    *,
    tell: Tell = lambda _: None,
    gate: Gate = _open_gate,
    clock: Clock = time.perf_counter,
    driver: str = "driver",
) -> Report:
    """Play a plan and return what was measured and found.

    ``gate`` is awaited once everybody sits: several processes begin together. ``driver`` is what this process is called
    among the measured ones. Raises StudError where tables cannot be opened or players cannot be seated, ValueError for
    a plan that cannot be.
    """
    plan.check()
    async with AsyncExitStack() as stack:
        crew = Crew(plan, target, clock)
        stack.push_async_callback(crew.close)
        probes = Probes(target.endpoints, crew.recorder, clock)
        stack.push_async_callback(probes.close)
        await crew.prepare(lambda share: tell(Progress("seating", share)))
        await probes.find()
        await gate()
        window = _Window(crew, plan, target, driver, clock, tell)
        probes.begin()
        await window.play()
        await probes.close()
        await crew.finish(lambda share: tell(window.progress("closing", share)))
        report = window.report()
        report.checks["health"] = probes.said()
        report.notes += probes.notes()
        return report


class _Window:
    """The part that is measured."""

    def __init__(self, crew: Crew, plan: LoadPlan, target: Target, driver: str, clock: Clock, tell: Tell) -> None:
        self._crew = crew
        self._plan = plan
        self._driver = driver
        self._meter = Meter({**target.pids, driver: os.getpid()})
        self._clock = clock
        self._tell = tell
        self._started_at_ms = 0
        self._seconds = 0.0
        self._interval: Interval | None = None
        self._samples: dict[str, Sample] = {}

    async def play(self) -> None:
        """Let tables begin one after the other, then measure, then wait a moment for what is unanswered."""
        recorder, plan = self._crew.recorder, self._plan
        ramp = asyncio.get_running_loop().create_task(self._crew.begin())
        try:
            await self._pass("ramp", plan.ramp_s + plan.warm_s)
            await ramp
        finally:
            ramp.cancel()
        start_s = self._clock()
        self._started_at_ms = _now_ms()
        recorder.open(start_s)
        self._meter.start(start_s)
        for number in range(1, round(plan.seconds / plan.interval_s) + 1):
            at_ms, until_s = _now_ms(), start_s + number * plan.interval_s
            await asyncio.sleep(max(0.0, until_s - self._clock()))
            now_s = self._clock()
            self._interval = recorder.tick(now_s, at_ms)
            self._samples = self._meter.tick(now_s, at_ms)
            self._tell(self.progress("measuring", min(1.0, (now_s - start_s) / plan.seconds)))
        end_s = self._clock()
        recorder.close(end_s)
        self._seconds = end_s - start_s
        await self._crew.settle(GRACE_S)

    async def _pass(self, phase: str, seconds: float) -> None:
        start_s = self._clock()
        while (passed_s := self._clock() - start_s) < seconds:
            self._tell(self.progress(phase, passed_s / seconds))
            await asyncio.sleep(min(0.25, seconds - passed_s))

    def progress(self, phase: str, share: float) -> Progress:
        """Return how far it is."""
        recorder = self._crew.recorder
        violations, refused = recorder.violations.counts.total(), recorder.refusals.total()
        return Progress(phase, share, self._interval, self._samples, violations, refused)

    def report(self) -> Report:
        """Return what was measured and found so far."""
        machine = Machine(os.cpu_count() or 1, f"{platform.system()} {platform.machine()}", platform.python_version())
        report = Report(self._plan, machine, self._started_at_ms, self._seconds)
        report.take(self._crew.recorder)
        report.usage = self._meter.usage
        report.checks = dict(self._crew.checks)
        late = report.figures(Measure.LATE)
        if late.count and late.p99 > LATE_MS:
            report.notes.append(
                f"the driver was late itself (p99 {late.p99:g} ms): use more --processes, or another machine for it"
            )
        for name in self._meter.ended:
            report.notes.append(
                f"{name} ended while it was measured; what was started in its place is not in its figures"
            )
        busy = report.usage[self._driver].cpu_s / max(1e-9, report.seconds)
        if busy > BUSY:
            report.notes.append(
                f"the driver used {busy:.0%} of a core: use more --processes, or another machine for it"
            )
        if report.unanswered:
            report.notes.append(
                f"{report.unanswered} actions that were due in the window had no answer at its end; they are in the "
                f"figures with the time that had passed"
            )
        return report


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

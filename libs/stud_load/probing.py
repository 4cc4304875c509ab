"""Asks each service how it is, at a pace of its own: a service that nobody happens to need is seen to stall, too.

What players do waits for the table and the log's server alone; the wallet, say, may stand still for a minute while
hands are played and owed. The question is the standard health check, which needs no token. It is open loop: each is
asked when it is due, whatever became of the one before it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from stud_client import Endpoints
from stud_client.calling import CHANNEL_OPTIONS
from stud_client.tls import channel_to
from stud_load.recorder import Measure, Recorder
from stud_load.viewer import Clock

EVERY_S: Final = 0.5
FOUND_WITHIN_S: Final = 2.0
"""For a first answer: a service that gives none is not there for us to ask, as where only players' calls pass."""

LONGEST_S: Final = 120.0
"""A check that takes longer is given up and counts with this."""

WORTH_A_NOTE_S: Final = 1.0


class Probes:
    """The health checks of one run. ``slowest`` has the longest of each service inside the window, in seconds."""

    def __init__(self, endpoints: Endpoints, recorder: Recorder, clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock
        self._channels = {
            name: channel_to(address, CHANNEL_OPTIONS, endpoints.tls) for name, address in endpoints.items()
        }
        self._found: list[str] = []
        self._open: dict[asyncio.Task[None], tuple[str, float]] = {}
        self._asking: asyncio.Task[None] | None = None
        self.slowest: dict[str, float] = {}

    async def find(self) -> None:
        """See which services answer; only these are asked later."""
        names = list(self._channels)
        answers = await asyncio.gather(*(self._check(name, FOUND_WITHIN_S, waits=False) for name in names))
        self._found = [name for name, answered in zip(names, answers, strict=True) if answered]

    def begin(self) -> None:
        """Ask from now on."""
        self._asking = asyncio.get_running_loop().create_task(self._ask())

    async def close(self) -> None:
        """Ask no more; what has no answer yet counts with the time that has passed."""
        open_still = list(self._open.items())
        for task in [*self._open, *([self._asking] if self._asking else [])]:
            task.cancel()
        await asyncio.gather(*[task for task, _ in open_still], return_exceptions=True)
        for _, (name, due_s) in open_still:
            self._took(name, due_s)
        await asyncio.gather(*(channel.close() for channel in self._channels.values()))
        self._channels.clear()

    def said(self) -> str:
        """Say who was asked."""
        return f"{', '.join(self._found)} asked every {EVERY_S:g} s" if self._found else "no service could be asked"

    def notes(self) -> list[str]:
        """Say which services did not answer for long."""
        return [
            f"{name} answered nothing for {seconds:.1f} s"
            for name, seconds in sorted(self.slowest.items())
            if seconds >= WORTH_A_NOTE_S
        ]

    async def _ask(self) -> None:
        loop, due_s = asyncio.get_running_loop(), self._clock()
        while True:
            for name in self._found:
                task = loop.create_task(self._probe(name, due_s))
                self._open[task] = (name, due_s)
                task.add_done_callback(lambda done: self._open.pop(done, None))
            due_s += EVERY_S
            await asyncio.sleep(max(0.0, due_s - self._clock()))

    async def _probe(self, name: str, due_s: float) -> None:
        await self._check(name, LONGEST_S, waits=True)
        self._took(name, due_s)

    async def _check(self, name: str, within_s: float, *, waits: bool) -> bool:
        """Ask once, and return whether there was an answer; a refusal is one. ``waits``: for a service that is away."""
        stub: Any = health_pb2_grpc.HealthStub(self._channels[name])
        try:
            await stub.Check(health_pb2.HealthCheckRequest(), timeout=within_s, wait_for_ready=waits)
        except grpc.aio.AioRpcError as error:
            return error.code() not in {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}
        return True

    def _took(self, name: str, due_s: float) -> None:
        now_s = self._clock()
        self._recorder.time(Measure.HEALTH, due_s, now_s)
        if self._recorder.counts_from(due_s):
            self.slowest[name] = max(self.slowest.get(name, 0.0), now_s - due_s)

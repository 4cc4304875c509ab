"""The life of the edge: settings -> logging -> dumps forbidden -> listening … signal -> calls ended -> connections
ended.

It has no log, no key and no fact, so there is nothing to wait for at the start and nothing to finish at the end. Exit
codes as those of the services: 0 = stopped when told to, 2 = could not start (one line says what to do).
"""

from __future__ import annotations

import asyncio
import contextvars
import signal
import ssl
import sys
from collections.abc import Mapping, Sequence

import structlog

from edge_service.front import Front
from edge_service.gate import Gate
from edge_service.methods import offered
from edge_service.passing import Passing
from edge_service.server import Server
from edge_service.settings import EdgeSettings, load_settings
from edge_service.upstream import upstreams
from stud_client import load_endpoints
from stud_service import dumps
from stud_service.event_loop import new_event_loop
from stud_service.exposition import Exposition
from stud_service.garbage import settle_memory
from stud_service.listening import why_cannot_listen
from stud_service.loop_lag import watch_lag
from stud_service.meters import Meters, Value
from stud_service.metrics import (
    BUILD_INFO,
    EDGE_CALLS,
    EDGE_CONNECTIONS,
    EDGE_CONNECTIONS_REFUSED,
    EDGE_CUT_OFF,
    EDGE_UPDATES,
    LIMITED,
    REFUSALS,
    SERVING,
    Metric,
)
from stud_service.server_options import connections_that_fit
from stud_service.settings import SettingsError
from stud_service.starting import CannotStart, bind_metrics, cannot_start, log_to_standard_error
from stud_topology.services import EDGE

logger = structlog.get_logger(__name__)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the edge until SIGTERM or SIGINT and returns the exit code for the process."""
    try:
        settings = load_settings(sys.argv[1:] if arguments is None else arguments)
        endpoints = load_endpoints()
    except (SettingsError, ValueError) as why:
        log_to_standard_error(EDGE.name, "info")
        return cannot_start(why)
    log_to_standard_error(EDGE.name, settings.log_level)
    try:
        if not settings.allow_core:
            dumps.forbid()  # players' tokens pass through here
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(Process(settings, endpoints).run())
    except CannotStart as why:
        return cannot_start(why)
    except OSError as why:
        return cannot_start(CannotStart(f"dumps cannot be forbidden ({why.strerror}): accept with STUD_ALLOW_CORE=1"))


class Process:
    """One edge in this process; made outside the event loop, runs inside one."""

    def __init__(self, settings: EdgeSettings, endpoints: Mapping[str, str]) -> None:
        """Raises CannotStart."""
        self.settings = settings
        self.stop_asked = asyncio.Event()
        self.port = 0
        self._meters = Meters(EDGE.name)
        self._gate = Gate(settings, self._meters.counter(REFUSALS), self._meters.counter(LIMITED))
        try:
            self._server = Server(settings, connections_that_fit(settings.connections))
        except (OSError, ssl.SSLError) as why:
            raise CannotStart(
                f"STUD_EDGE_TLS_CERT, STUD_EDGE_TLS_KEY: no certificate and its key in PEM ({why.strerror or why})"
            ) from None
        try:
            self._services = upstreams(endpoints)
        except ValueError as why:
            raise CannotStart(str(why)) from None
        self._passing = Passing(offered(), self._services, self._gate, self._meters.counter(EDGE_UPDATES))
        self._front = Front(settings, self._passing, self._gate, self._server.abort, self._meters.counter(EDGE_CUT_OFF))
        self._meters.source(self._told)

    async def run(self) -> int:
        """Serve until told to stop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop_asked.set)
        metrics = bind_metrics(self.settings.metrics_host, self.settings.metrics_port, Exposition(self._meters).text)
        watching = [
            loop.create_task(work, context=contextvars.Context())
            for work in (watch_lag(self._meters), self._server.watch_certificate())
        ]
        try:
            await self.start()
            settle_memory()
            await self.stop_asked.wait()
            await self.stop()
        finally:
            for work in watching:
                work.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            if metrics is not None:
                await metrics.stop()
        logger.info("stopped")
        return 0

    async def start(self) -> None:
        """Listen. Raises CannotStart."""
        address = self.settings.listen
        try:
            self.port = await self._server.start(self._front)
        except OSError:
            raise CannotStart(
                f"cannot listen on {address}: {why_cannot_listen(address)}. Set STUD_EDGE_LISTEN"
            ) from None
        logger.info("started", address=address, port=self.port, build=self.settings.build)

    async def stop(self) -> None:
        """End what is under way: callers are told to connect again."""
        self.stop_asked.set()
        grace_s = self.settings.stop_grace_ms / 1000
        logger.info("stopping", grace_ms=self.settings.stop_grace_ms)
        await self._server.refuse()
        self._passing.stop()
        await self._server.stop(grace_s)
        for service in self._services.values():
            await service.close()

    def _told(self) -> Mapping[Metric, Value]:
        return {
            BUILD_INFO: {self.settings.build: 1},
            SERVING: int(bool(self.port) and not self.stop_asked.is_set()),
            EDGE_CALLS: len(self._gate),
            EDGE_CONNECTIONS: len(self._server),
            EDGE_CONNECTIONS_REFUSED: self._server.refused,
        }

"""The life of a service process: start, serve, stop. `python -m dealer_service` calls `run("dealer", DealerApp)`.

    settings -> logging -> dumps forbidden -> port bound -> log connected and checked -> app made and registered
    -> listening, NOT_SERVING -> app started -> SERVING … NOT_SERVING while the log is away … signal or crash
    -> NOT_SERVING -> app.stop -> server.stop(grace) -> tasks cancelled -> log closed

Exit codes: 0 = stopped when told to, 1 = something crashed, 2 = could not start (one line says what to do).
"""

from __future__ import annotations

import asyncio
import math
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import grpc
import structlog
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from stud_eventlog.pauses import Pauses
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import EventLogError, Head, LogUnavailable, NotInitialised, UnsafeServer, UnusableUrl
from stud_service import GRPC_CAME_FIRST, dumps
from stud_service.event_loop import new_event_loop
from stud_service.garbage import settle_memory
from stud_service.health import Health
from stud_service.interceptors import Interceptor
from stud_service.limits import Limits
from stud_service.listening import why_cannot_listen
from stud_service.log_meters import tell_of_the_log
from stud_service.log_watch import LogWatch
from stud_service.loop_lag import watch_lag
from stud_service.meters import Meters, Value
from stud_service.metrics import (
    BUILD_INFO,
    CERTIFICATE_DAYS,
    LIMITED,
    LOG_AVAILABLE,
    REFUSALS,
    REVOKED,
    SERVING,
    TOKEN_KEYS,
    TRUST_STALE,
    UNDER_WAY,
    WAITED,
    Metric,
)
from stud_service.metrics_port import MetricsPort
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from stud_service.server_options import server_options
from stud_service.settings import ServiceSettings, SettingsError, load_settings
from stud_service.signing_keys import KeyFileError
from stud_service.starting import CannotStart, bind_metrics, cannot_start, log_to_standard_error
from stud_service.tls import ServerTls, TlsError
from stud_service.tokens import Verifier, warm_up
from stud_service.trust import Trust
from stud_topology.services import service_called

logger = structlog.get_logger(__name__)

if TYPE_CHECKING:
    from stud_service.exposition import Exposition

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0


class App(Protocol):
    """What a service must be able to do. `start` may read logs; calls are refused until it has returned."""

    async def start(self) -> None: ...

    def register(self, server: grpc.aio.Server) -> None:
        """Adds the servicers; called before `start`."""

    async def stop(self) -> None:
        """Ends streams and finishes what has been accepted."""


def run(name: str, factory: Callable[[Runtime], App], arguments: Sequence[str] | None = None) -> int:
    """Runs a service until SIGTERM or SIGINT and returns the exit code for the process."""
    try:
        settings = load_settings(name, sys.argv[1:] if arguments is None else arguments)
    except SettingsError as why:
        log_to_standard_error(name, "info")
        return cannot_start(why)
    log_to_standard_error(name, settings.log_level)
    if not settings.allow_core:
        try:
            dumps.forbid()  # before any key is read
        except OSError as why:
            return cannot_start(
                CannotStart(f"dumps cannot be forbidden ({why.strerror}): accept with STUD_ALLOW_CORE=1")
            )
    if GRPC_CAME_FIRST:
        logger.warning("slow_grpc", why="grpc was imported before stud_service could set GRPC_EXPERIMENTS")
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(Process(name, settings).run(factory))
    except CannotStart as why:
        return cannot_start(why)


class Process:
    """One service in this process; made and run inside one event loop."""

    def __init__(self, name: str, settings: ServiceSettings) -> None:
        self.name = name
        self.service = service_called(name)
        self.settings = settings
        self.stop_asked = asyncio.Event()
        self._started = False
        self._watch: LogWatch | None = None
        self._log: RedisEventLog | None = None
        self._health = Health(lambda: self._log.commits_moved if self._log is not None else 0, self._stale)
        self._meters = Meters(name)
        self._limits = Limits(settings, self._meters.counter(WAITED))
        self._exposed: Exposition | None = None
        self._meters.source(self._told)

    async def run(self, factory: Callable[[Runtime], App]) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop_asked.set)
        self._trust, self._tls = self._read_trust()
        server = self._make_server()
        self._bind(server)
        metrics = self._bind_metrics()
        try:
            log = await self._connect()
            if log is None:
                return 0  # told to stop while waiting for the log
            try:
                return await self._serve(server, log, factory)
            finally:
                await log.close()
                logger.info("stopped")
        finally:
            if metrics is not None:
                await metrics.stop()

    # Starting

    def _read_trust(self) -> tuple[Trust, ServerTls | None]:
        try:
            trust, tls = Trust(self.settings, on_change=self._tell_health), ServerTls.of(self.settings)
        except (KeyFileError, TlsError) as why:
            raise CannotStart(str(why)) from None
        logger.info("trusted_keys", kids=trust.trusted.keys.kids(), revoked=len(trust.trusted.revoked))
        self._meters.source(lambda: told_of_trust(trust, tls))
        return trust, tls

    def _make_server(self) -> grpc.aio.Server:
        verifier = Verifier(
            self._trust.trusted,
            issuer=self.settings.jwt_issuer,
            audience=self.settings.jwt_audience,
            max_life_s=self.settings.token_max_life_s,
        )
        interceptor = Interceptor(
            verifier,
            self.gate,
            self.settings.call_timeout_ms / 1000,
            self._limits,
            self._meters.counter(REFUSALS),
            self._meters.counter(LIMITED),
        )
        return grpc.aio.server(interceptors=[interceptor], options=server_options(self.settings))

    def _bind(self, server: grpc.aio.Server) -> None:
        address = self.settings.listen
        try:
            if self._tls is None:
                self.port = server.add_insecure_port(address)
            else:
                self.port = server.add_secure_port(address, self._tls.credentials())
        except RuntimeError:
            raise CannotStart(
                f"cannot listen on {address}: {why_cannot_listen(address)}. Set STUD_{self.name.upper()}_LISTEN"
            ) from None

    def _bind_metrics(self) -> MetricsPort | None:
        """Whoever watches sees a service that waits for its log, too."""
        return bind_metrics(self.settings.metrics_host, self.settings.metrics_port, self._exposition)

    async def _connect(self) -> RedisEventLog | None:
        """Waits for the log as long as it takes. Returns None if told to stop first."""
        pauses = Pauses(FIRST_WAIT_S, LONGEST_WAIT_S)
        while not self.stop_asked.is_set():
            try:
                return await self._open_log()
            except LogUnavailable as why:
                logger.warning("waiting_for_log", why=str(why))
            await self._pause(pauses.next_s())
        return None

    async def _open_log(self) -> RedisEventLog:
        """Raises LogUnavailable when it may come, CannotStart when waiting is useless."""
        try:
            log = await RedisEventLog.connect(
                self.settings.redis_url,
                allow_volatile=self.settings.allow_volatile,
                client_name=f"stud-{self.name}",
                on_log_behind=_log_behind,
            )
        except UnsafeServer as why:
            raise CannotStart(f"{why}. Change its settings, or accept it with STUD_ALLOW_VOLATILE=1") from None
        except UnusableUrl as why:
            raise CannotStart(f"STUD_REDIS_URL: {why}") from None
        try:
            await log.require_initialised()
        except EventLogError as why:
            await log.close()
            if isinstance(why, NotInitialised):
                raise CannotStart(f"{why}. Initialise a new log with `stud init`") from None
            raise
        return log

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.stop_asked.wait()
        except TimeoutError:
            pass

    # Serving

    async def _serve(self, server: grpc.aio.Server, log: RedisEventLog, factory: Callable[[Runtime], App]) -> int:
        self._log = log
        runtime = Runtime(self.name, self.settings, log, limits=self._limits, meters=self._meters)
        tell_of_the_log(runtime)
        self._watch = LogWatch(runtime, self._tell_health)
        app = await self._make_app(factory, runtime)
        runtime.spawn(runtime.watch_clock(), "watch clock")
        runtime.spawn(watch_lag(self._meters), "watch lag")
        runtime.spawn(self._trust.follow_files(), "follow keys")
        if self.settings.jwks_url:
            runtime.spawn(self._trust.follow_issuer(), "follow issuer")
        if self._tls is not None:
            runtime.spawn(self._tls.follow(), "follow certificates")
        app.register(server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = [self.service.grpc_name, health.SERVICE_NAME, reflection.SERVICE_NAME]
        reflection.enable_server_reflection(names, server)
        self._tell(serving=False)
        await server.start()
        logger.info("listening", address=self.settings.listen, port=self.port, build=runtime.build)
        try:
            await self._start_app(app, runtime)
            if not (self.stop_asked.is_set() or runtime.tasks.crashed.is_set()):
                runtime.spawn(self._watch.run(), "watch log")
                self._started = True
                self._tell_health()
                settle_memory()
                logger.info("started")
                for load in (warm_up, *runtime.warm_ups):
                    await asyncio.to_thread(load)
                await self._until_told_to_stop(runtime)
        finally:
            await self._stop(server, app, runtime)
        return 0 if runtime.tasks.fault is None else 1

    async def _make_app(self, factory: Callable[[Runtime], App], runtime: Runtime) -> App:
        try:
            return factory(runtime)
        except (ValueError, OSError) as why:  # keys that are missing or malformed
            raise CannotStart(f"{type(why).__name__}: {why}") from None

    async def _start_app(self, app: App, runtime: Runtime) -> None:
        """Starts the app; a signal or a crash meanwhile ends the start."""
        starting = runtime.spawn(app.start(), "start", may_end=True)
        told = asyncio.ensure_future(self._until_told_to_stop(runtime))
        try:
            await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
            if not starting.done():
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)
        await asyncio.sleep(0)  # lets the nursery note a fault of the start

    async def _until_told_to_stop(self, runtime: Runtime) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self.stop_asked, runtime.tasks.crashed)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def gate(self) -> Refused | None:
        """Returns why calls are refused now."""
        if self.stop_asked.is_set():
            return Refused("STOPPING", "the service is stopping: connect again")
        if not self._started:
            return Refused("LOG_UNAVAILABLE", "the service is still reading its log: try again")
        if self._watch is not None and self._watch.is_another:
            return Refused("LOG_BEHIND", "the log is not the one that was acknowledged: operators are needed")
        if self._watch is None or not self._watch.reachable:
            return Refused("LOG_UNAVAILABLE", "the log cannot be reached; what was acknowledged is safe: try again")
        return None

    def _tell_health(self) -> None:
        """Health follows the log: NOT_SERVING from the first failure until it is back and verified, and while it cannot
        be written or may lose what is written; and while there is no key to verify any token with.
        """
        self._tell(serving=self._watch is not None and self._watch.serving and len(self._trust.trusted.keys) > 0)

    def _tell(self, *, serving: bool) -> None:
        self._health.tell(("", self.service.grpc_name), serving=serving)
        if self._started:
            logger.info("health", serving=serving)

    def _stale(self) -> list[str]:
        """Which sources of trust are out of reach, while what they said last is good."""
        stale = {**self._trust.stale_s(), "certificate": self._tls.stale_s() if self._tls is not None else 0.0}
        return sorted(source for source, seconds in stale.items() if seconds > 0)

    def _told(self) -> Mapping[Metric, Value]:
        serves = self._started and self._watch is not None and self._watch.serving and not self.stop_asked.is_set()
        serves = serves and len(self._trust.trusted.keys) > 0
        told: dict[Metric, Value] = {BUILD_INFO: {self.settings.build: 1}, SERVING: int(serves)}
        return {**told, UNDER_WAY: self._limits.under_way(), LOG_AVAILABLE: 0}  # until the log says more

    def _exposition(self) -> bytes:
        if self._exposed is None:
            from stud_service.exposition import Exposition  # noqa: PLC0415 - of no use where nobody asks, slow to load

            self._exposed = Exposition(self._meters)
        return self._exposed.text()

    # Stopping

    async def _stop(self, server: grpc.aio.Server, app: App, runtime: Runtime) -> None:
        """Every step is bounded by the grace, and a fault in one does not keep the next from happening."""
        self.stop_asked.set()
        self._health.end()
        grace_s = self.settings.stop_grace_ms / 1000
        logger.info("stopping", grace_ms=self.settings.stop_grace_ms)
        try:
            async with asyncio.timeout(grace_s + 1.0):
                await app.stop()
        except TimeoutError:
            logger.warning("stop_took_too_long", step="app")
        except Exception as fault:
            logger.exception("stop_failed")
            runtime.tasks.fault = runtime.tasks.fault or fault
        await server.stop(grace_s)
        await runtime.tasks.cancel_all()


def told_of_trust(trust: Trust, tls: ServerTls | None) -> Mapping[Metric, Value]:
    """Returns what there is to tell of keys, revocations and certificates."""
    stale = trust.stale_s()
    if tls is not None:
        stale["certificate"] = tls.stale_s()
    return {
        TOKEN_KEYS: len(trust.trusted.keys),
        REVOKED: len(trust.trusted.revoked),
        CERTIFICATE_DAYS: math.inf if tls is None else tls.days_left,
        TRUST_STALE: stale,
    }


def _log_behind(stream: str, acknowledged: Head, found: Head) -> None:
    logger.critical("log_behind", stream=stream, acknowledged=acknowledged.version, found=found.version)

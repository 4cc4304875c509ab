"""The whole system on one machine: an embedded server and the four services, each a process of its own; and the edge
for browsers where it is wanted.

Used by ``stud up``, ``stud demo``, ``stud rehearse`` and the tests. Once the server is ready all services are
started at once, since none needs another to start; `supervisor` starts again what dies; stopping goes in order,
services before the server. A killed parent takes everything along (`stud_cli.local.parent_death`).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Self

from rich.console import Console

from stud_cli.exit_codes import CouldNotRun
from stud_cli.local.children import end
from stud_cli.local.disk import full_disk
from stud_cli.local.log_server import AOF_DIR, EmbeddedServer, EmbeddedServerError, TornFileError, holds_log
from stud_cli.local.parent_death import bound_to_us
from stud_cli.local.pid_file import SERVER, RunningSystem
from stud_cli.local.ports import HOST, Port
from stud_cli.local.progress import Patience, Waiting
from stud_cli.local.stopping import to_its_end
from stud_cli.local.torn_file import cut_torn_tail
from stud_eventlog.addresses import SECURE
from stud_eventlog.types import EventLogError
from stud_service.keyring import KeyringError, ensure_dev_keys
from stud_topology import services

SERVICES = services.NAMES
"""In the order in which they are told of; they are stopped the other way round."""

FIRST_PORT = services.LOG_PORT

TAIL_BYTES = 64 * 1024
"""How much of the end of a log is looked at."""

EDGE = services.EDGE.name

PORTS = (SERVER, *(service.name for service in services.BY_PORT))
"""Who listens on the first port, the next one, and so on; the edge on the last before their metrics."""

ROW = services.EDGE.metrics_port - FIRST_PORT + 1
"""So many ports belong to one system: each service's metrics are some above it."""

SILENT_S = 40.0
"""A service that reads its log may take as long as it makes progress; after this long without any it is given up."""

NO_METRICS = "0"
"""As STUD_METRICS_PORT."""

STOP_WITHIN_S = 10.0
INITIALISED = "initialised"


class LocalSystemError(CouldNotRun):
    """The system could not be started, or kept; the text says which part and what would help."""


Report = Callable[[str], None]


class LocalSystem:
    """Start and stop everything below ``data_dir``."""

    def __init__(
        self,
        data_dir: Path,
        *,
        first_port: int = 0,
        allow_stacked_decks: bool = False,
        cut_torn_tail: bool = False,
        web: bool = False,
        environ: Mapping[str, str] | None = None,
        report: Report = lambda _: None,
        console: Console | None = None,
    ) -> None:
        """``first_port``: those from it on are used, as PORTS says; 0 = whatever is free. ``web``: with the edge.
        ``console``: where a long start is shown.
        """
        self.names = (*SERVICES, EDGE) if web else SERVICES
        self._own = {} if first_port else {name: Port() for name in _listeners(self.names)}
        row = {name: first_port + above for name, above in _listeners(self.names).items()}
        self.data_dir = data_dir
        self.keys_dir = data_dir / "keys"
        self.report = report
        self.server = EmbeddedServer(data_dir / "redis", port=first_port)
        ports = {name: self._own[name].number for name in row} if self._own else row
        self.ports = {name: ports[name] for name in self.names}
        self.metrics_ports = {name: ports[metrics_of(name)] for name in self.names}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.stopping = False
        self.silent_s = SILENT_S
        self._is_up = False
        self._console = console
        self._first_port = first_port
        self._allow_stacked = allow_stacked_decks
        self._may_cut = cut_torn_tail
        self.environ = dict(environ or {})
        self._metrics_host = os.environ.get("STUD_METRICS_HOST", HOST)
        self._metrics_port = os.environ.get("STUD_METRICS_PORT", "")

    @property
    def endpoints(self) -> dict[str, str]:
        """Service name -> host:port, or grpcs://host:port where the environment has the services speak TLS."""
        scheme = SECURE if self.tls else ""
        return {name: f"{scheme}{self.address_of(name)}" for name in SERVICES}

    @cached_property
    def tls(self) -> dict[str, str]:
        """What clients here need to trust the services; nothing where these speak plain text."""
        return _trust_of({**os.environ, **self.environ})

    def addressed(self) -> Mapping[str, str]:
        """Return the services as clients want them."""
        from stud_client import Endpoints  # as above
        from stud_client.tls import tls_of

        return Endpoints(**self.endpoints).trusting(tls_of({**os.environ, **self.environ}, self.tls))

    @property
    def web(self) -> str:
        """host:port of the edge; empty where there is none."""
        return self.address_of(EDGE) if EDGE in self.names else ""

    def address_of(self, name: str) -> str:
        """Return where a service, or the edge, listens."""
        return f"{HOST}:{self.ports[name]}"

    @property
    def metrics(self) -> dict[str, str]:
        """Service name -> host:port where Prometheus asks it; nothing where STUD_METRICS_PORT is 0."""
        if self._metrics_port == NO_METRICS:
            return {}
        host = f"[{self._metrics_host}]" if ":" in self._metrics_host else self._metrics_host
        return {name: f"{host}:{port}" for name, port in self.metrics_ports.items()}

    @property
    def redis_url(self) -> str:
        """Where the log is."""
        return self.server.url

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # Starting

    async def start(self) -> None:
        """Start the server, then all services. Raises LocalSystemError."""
        try:
            await self._start()
        except OSError as error:
            problem = full_disk(self.data_dir) or (
                f"{self.data_dir} cannot be used as a data directory ({error.strerror}): name another one"
            )
            raise LocalSystemError(problem) from error
        self._is_up = True

    async def _start(self) -> None:
        if self._metrics_port not in {"", NO_METRICS}:
            raise LocalSystemError(
                f"STUD_METRICS_PORT names one port, and here are {len(self.names)} services: leave it out (each has "
                "one of its row, see --port), or set 0 for none"
            )
        (self.data_dir / "logs").mkdir(parents=True, exist_ok=True)
        if problem := full_disk(self.data_dir):
            raise LocalSystemError(problem)
        try:
            ensure_dev_keys(self.keys_dir)
        except KeyringError as error:
            raise LocalSystemError(str(error)) from error
        self._take_ports()
        try:
            await self.start_server(say_uncut=self._may_cut)
            self.report(f"log      {self.redis_url}")
            await self._initialise()
        except EventLogError as error:
            raise LocalSystemError(f"the log's server: {error}") from error
        await self._start_services()

    def _take_ports(self) -> None:
        """Say at once which port of a named row is taken."""
        if self._own or self.server.is_external:
            return
        own: dict[str, Port] = {}
        for name, above in {SERVER: 0, **_listeners(self.names)}.items():
            number = self._first_port + above
            try:
                own[name] = Port(number)
            except OSError:
                who = "the log's server" if name == SERVER else name
                raise LocalSystemError(
                    f"port {number} for {who} is in use: choose another row of {ROW} with --port"
                ) from None
        self._own = own

    async def start_server(self, *, say_uncut: bool = False) -> None:
        """Start the log's server on what it kept, however long it reads. Raises LocalSystemError."""
        folder = self.server.data_dir
        if (self.data_dir / INITIALISED).exists() and not self.server.is_external and not holds_log(folder):
            raise LocalSystemError(f"the log of {self.data_dir} is gone: put {folder / AOF_DIR} back from a copy")
        try:
            await self._load_or_cut(folder, say_uncut=say_uncut)
        except EmbeddedServerError as error:
            raise LocalSystemError(f"the log's server: {with_way_out(error, self.data_dir)}") from error

    async def _load_or_cut(self, folder: Path, *, say_uncut: bool) -> None:
        try:
            await self._load()
            if say_uncut:
                self.report("cut      nothing: the log's file ends with a whole write")
        except TornFileError as torn:
            if not self._may_cut:
                raise
            cut = await cut_torn_tail(torn, folder)
            self.report(
                f"cut      {cut.size} bytes of a write that never ended off {cut.file}; the file as it was is kept as "
                f"{cut.copy}"
            )
            await self._load()

    async def _load(self) -> None:
        with self._waiting() as waiting:
            await self.server.start(loading=lambda share: waiting.show("log      reads its file", share))

    async def _initialise(self) -> None:
        """Write the log's marker once in the life of this directory: a log that lost it is not started over."""
        marker = self.data_dir / INITIALISED
        if marker.exists():
            return
        from stud_eventlog.redis_streams import RedisEventLog  # once in the life of a directory, and slow to load

        log = await RedisEventLog.connect(self.redis_url)
        try:
            await log.initialise()
        finally:
            await log.close()
        marker.write_text("The log of this directory was initialised. If it is gone, restore it.\n")

    async def _start_services(self) -> None:
        """Start all at once and tell of each that is healthy; the first that cannot be started is what is raised."""
        with self._waiting() as waiting:
            starts = [asyncio.create_task(self._start_and_tell(name, waiting)) for name in self.names]
            try:
                done, _ = await asyncio.wait(starts, return_when=asyncio.FIRST_EXCEPTION)
            finally:
                for start in starts:
                    start.cancel()
                await asyncio.gather(*starts, return_exceptions=True)
        for start in done:
            start.result()

    async def _start_and_tell(self, name: str, waiting: Waiting) -> None:
        await self._start_process(name)
        await self._wait_healthy(name, waiting)
        self.report(f"{name:<8} {self.address_of(name)}, metrics {self.metrics.get(name, 'nowhere')}")

    async def start_service(self, name: str) -> None:
        """Start one service and wait until it is healthy. Raises LocalSystemError with the end of its log."""
        await self._start_process(name)
        with self._waiting() as waiting:
            await self._wait_healthy(name, waiting)

    async def _start_process(self, name: str) -> None:
        with self.log_path(name).open("ab") as sink:
            process = await asyncio.create_subprocess_exec(
                *bound_to_us([sys.executable, "-m", self._module(name)]),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=self._environment(name),
                start_new_session=True,
            )
        self.processes[name] = process

    def log_path(self, name: str) -> Path:
        """Where a service writes its log."""
        return self.data_dir / "logs" / f"{name}.log"

    def _module(self, name: str) -> str:
        return services.service_called(name, services.PROCESSES).module

    def _environment(self, name: str) -> dict[str, str]:
        return {
            **os.environ,
            **(self._of_the_edge() if name == EDGE else self._of_a_service()),
            f"STUD_{name.upper()}_LISTEN": self.address_of(name),
            "STUD_METRICS_HOST": self._metrics_host,
            "STUD_METRICS_PORT": str(self.metrics_ports[name]) if self.metrics else NO_METRICS,
            **self.environ,
        }

    def _of_a_service(self) -> dict[str, str]:
        return {
            "STUD_REDIS_URL": self.redis_url,
            "STUD_KEYS_DIR": str(self.keys_dir),
            "STUD_ALLOW_STACKED_DECKS": "1" if self._allow_stacked else "0",
        }

    def _of_the_edge(self) -> dict[str, str]:
        """It has neither a log nor keys; towards the services it is a client like any other."""
        where = {f"STUD_{name.upper()}_ENDPOINT": address for name, address in self.endpoints.items()}
        names = {"ca": "CA", "name": "NAME", "certificate": "CLIENT_CERTIFICATE", "key": "CLIENT_KEY"}
        return where | {f"STUD_TLS_{names[name]}": value for name, value in self.tls.items()}

    def _tls_of(self, name: str) -> Mapping[str, str]:
        if name != EDGE:
            return self.tls
        environ, pair = {**os.environ, **self.environ}, {"CERTIFICATE": "CERT", "KEY": "KEY"}
        return _trust_of({f"STUD_TLS_{ours}": environ.get(f"STUD_EDGE_TLS_{its}", "") for ours, its in pair.items()})

    def _waiting(self) -> Waiting:
        """Only a start is drawn: later there may be something else on the screen."""
        return Waiting(None if self._is_up else self._console)

    async def _wait_healthy(self, name: str, waiting: Waiting) -> None:
        """Wait for a service as long as it makes progress with its log. Raises LocalSystemError."""
        process = self.processes[name]
        patience, grpc_name = Patience(self.silent_s), services.service_called(name, services.PROCESSES).grpc_name
        while True:
            if process.returncode is not None:
                raise LocalSystemError(f"{name} ended with {process.returncode} at start: {self.last_words(name)}")
            if not (self._is_up or self.server.running):
                raise LocalSystemError(f"the log's server died: {self.server.why_it_ended()}")
            problem, commits = await asyncio.to_thread(_asked, self.address_of(name), grpc_name, self._tls_of(name))
            if problem is None:
                return
            patience.heard(commits)
            waiting.show(f"{name:<8} reads its log: {commits:,} commits" if commits else f"{name:<8} starts")
            if patience.is_over:
                raise LocalSystemError(
                    f"{name} is not healthy and has made no progress for {self.silent_s:.0f} s ({problem}, {commits} "
                    f"commits read): {self.last_words(name)}"
                )
            await asyncio.sleep(0.05)

    # What becomes of them

    def last_words(self, name: str) -> str:
        """Return what explains the end of a service: the end of its log, and the disk that took no more of it."""
        problem = full_disk(self.data_dir)
        return "\n".join([*([problem] if problem else []), *last_lines(self.log_path(name))]) or "its log is empty"

    async def kill_service(self, name: str) -> None:
        """End a service at once, as a crash would (SIGKILL)."""
        process = self.processes.pop(name)
        process.kill()
        await process.wait()

    async def stop(self) -> None:
        """Stop services in reverse order, then the server; a caller that is cancelled meanwhile hears of it
        afterwards.
        """
        await to_its_end(self._stop())

    async def _stop(self) -> None:
        self.stopping = True
        for name in reversed(self.names):
            process = self.processes.pop(name, None)
            if process is not None and process.returncode is None:
                await end(process, STOP_WITHIN_S)
        await self.server.stop()

    def running(self) -> RunningSystem:
        """Return what ``var/stud.json`` should say."""
        pids = {name: process.pid for name, process in self.processes.items() if process.returncode is None}
        if self.server.running and self.server.pid is not None:
            pids[SERVER] = self.server.pid
        folders = str(self.data_dir), str(self.keys_dir)
        return RunningSystem(
            self.redis_url,
            self.endpoints,
            *folders,
            os.getpid(),
            pids,
            metrics=self.metrics,
            web=self.web,
            tls=self.tls,
        )


def metrics_of(name: str) -> str:
    """Return what the port of a service's metrics is called."""
    return f"{name}'s metrics"


def _listeners(names: Collection[str]) -> dict[str, int]:
    """Who of them listens, and how far above the port of the log's server."""
    above = {process.name: process.port - FIRST_PORT for process in services.PROCESSES if process.name in names}
    return above | {metrics_of(name): number + services.METRICS_ABOVE for name, number in above.items()}


def _trust_of(environ: Mapping[str, str]) -> dict[str, str]:
    if not environ.get("STUD_TLS_CERTIFICATE"):
        return {}
    from stud_service.tls import for_clients  # slow to load

    return for_clients(environ)


def _asked(address: str, grpc_name: str, tls: Mapping[str, str]) -> tuple[str | None, int]:
    """Ask a service how it is; gRPC is loaded only now, while the services load what they need."""
    from stud_service.healthcheck import asked

    answer = asked(address, grpc_name, timeout_s=1.0, tls=tls)
    return answer.problem, answer.commits


def last_lines(path: Path, count: int = 5) -> list[str]:
    """Return the last lines of a log, however large it is; none of what is not a file (a pipe, a device)."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return file.read(TAIL_BYTES).decode(errors="replace").splitlines()[-count:]


def with_way_out(error: Exception, data_dir: Path) -> str:
    """Return an error's text; where there is a way out of it, with the command that takes it."""
    if not isinstance(error, TornFileError):
        return str(error)
    return (
        f"{error}: `stud up --data {data_dir} --cut-torn-tail` keeps a copy of it and cuts that write, which was "
        "never acknowledged"
    )

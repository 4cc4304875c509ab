"""The whole system on one machine: an embedded server and the four services, each a process of its own.

Used by ``stud up``, ``stud demo``, ``stud rehearse`` and the tests. Processes are started in order, each
once the one before is healthy; a process that dies is reported and the rest is kept; stopping goes in
reverse order, services before the server.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import msgspec

from stud_cli.stopping import to_its_end
from stud_eventlog.errors import EventLogError
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.embedded import AOF_DIR, EmbeddedServer, EmbeddedServerError, TornFileError, holds_log
from stud_service.healthcheck import check
from stud_service.keyring import KeyringError, ensure_dev_keys
from stud_service.ports import Port
from stud_service.run import SERVICE_NAMES
from stud_service.torn_file import cut_torn_tail

SERVICES = ("wallet", "dealer", "rules", "table")
"""Start order: who answers questions comes before who asks them."""

FIRST_PORT = 7100
"""The log's server; the services follow, see PORTS."""

PORTS = ("redis", "table", "dealer", "rules", "wallet")
"""Who listens on the first port, the next one, and so on."""

READY_WITHIN_S = 40.0
STOP_WITHIN_S = 10.0
INITIALISED = "initialised"


class StackError(RuntimeError):
    """The system could not be started; the text says which part and what would help."""


Pid = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
"""Anything else would be asked about in vain, or be a whole group of processes."""


class RunningStack(msgspec.Struct):
    """What ``var/stud.json`` says: where everything listens, and which processes it is."""

    redis_url: str
    endpoints: dict[str, str]
    data_dir: str
    keys_dir: str
    pid: Pid
    pids: dict[str, Pid]


Report = Callable[[str], None]


class Stack:
    """Start, watch and stop everything below ``data_dir``."""

    def __init__(
        self,
        data_dir: Path,
        *,
        first_port: int = 0,
        allow_stacked_decks: bool = False,
        cut_torn_tail: bool = False,
        environ: Mapping[str, str] | None = None,
        report: Report = lambda _: None,
    ) -> None:
        """``first_port``: five in a row are used, as PORTS says; 0 = whatever is free."""
        self._own = {} if first_port else {name: Port() for name in SERVICES}
        row = {name: first_port + number for number, name in enumerate(PORTS)}
        self.data_dir = data_dir
        self.keys_dir = data_dir / "keys"
        self.report = report
        self.server = EmbeddedServer(data_dir / "redis", port=first_port)
        self.ports = {name: self._own[name].number if self._own else row[name] for name in SERVICES}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self._first_port = first_port
        self._allow_stacked = allow_stacked_decks
        self._may_cut = cut_torn_tail
        self._environ = dict(environ or {})
        self._stopping = False

    @property
    def endpoints(self) -> dict[str, str]:
        """Service name -> host:port."""
        return {name: f"127.0.0.1:{port}" for name, port in self.ports.items()}

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

    async def start(self) -> None:
        """Start the server, then each service in order. Raises StackError."""
        try:
            (self.data_dir / "logs").mkdir(parents=True, exist_ok=True)
            ensure_dev_keys(self.keys_dir)
        except OSError as error:
            raise StackError(
                f"{self.data_dir} cannot be used as a data directory ({error.strerror}): name another one"
            ) from error
        except KeyringError as error:
            raise StackError(str(error)) from error
        self._take_ports()
        try:
            await self._start_server()
            self.report(f"log      {self.redis_url}")
            await self._initialise()
        except (EmbeddedServerError, EventLogError) as error:
            raise StackError(f"the log's server: {with_way_out(error, self.data_dir)}") from error
        for name in SERVICES:
            await self.start_service(name)
            self.report(f"{name:<8} {self.endpoints[name]}")

    def _take_ports(self) -> None:
        """Say at once which port of a named row is taken."""
        if self._own or self.server.is_external:
            return
        own: dict[str, Port] = {}
        for number, name in enumerate(PORTS, self._first_port):
            try:
                own[name] = Port(number)
            except OSError:
                who = "the log's server" if name == "redis" else name
                raise StackError(f"port {number} for {who} is in use: choose another row of five with --port") from None
        self._own = own

    async def _start_server(self) -> None:
        folder = self.server.data_dir
        if (self.data_dir / INITIALISED).exists() and not self.server.is_external and not holds_log(folder):
            raise StackError(f"the log of {self.data_dir} is gone: put {folder / AOF_DIR} back from a copy")
        try:
            await self.server.start()
            if self._may_cut:
                self.report("cut      nothing: the log's file ends with a whole write")
        except TornFileError as torn:
            if not self._may_cut:
                raise
            cut = await cut_torn_tail(torn, folder)
            self.report(
                f"cut      {cut.size} bytes of a write that never ended off {cut.file}; the file as it was is kept as "
                f"{cut.copy}"
            )
            await self.server.start()

    async def _initialise(self) -> None:
        """Write the log's marker once in the life of this directory: a log that lost it is not started over."""
        marker = self.data_dir / INITIALISED
        if marker.exists():
            return
        log = await RedisEventLog.connect(self.redis_url)
        try:
            await log.initialise()
        finally:
            await log.close()
        marker.write_text("The log of this directory was initialised. If it is gone, restore it.\n")

    async def start_service(self, name: str) -> None:
        """Start one service and wait until it is healthy. Raises StackError with the end of its log."""
        log_path = self.log_path(name)
        with log_path.open("ab") as sink:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                f"{name}_service",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=self._environment(name),
                start_new_session=True,
            )
        self.processes[name] = process
        await self._wait_healthy(name, process)

    def log_path(self, name: str) -> Path:
        """Where a service writes its log."""
        return self.data_dir / "logs" / f"{name}.log"

    def _environment(self, name: str) -> dict[str, str]:
        return {
            **os.environ,
            "STUD_REDIS_URL": self.redis_url,
            "STUD_KEYS_DIR": str(self.keys_dir),
            f"STUD_{name.upper()}_LISTEN": self.endpoints[name],
            "STUD_ALLOW_STACKED_DECKS": "1" if self._allow_stacked else "0",
            **self._environ,
        }

    async def _wait_healthy(self, name: str, process: asyncio.subprocess.Process) -> None:
        deadline = asyncio.get_running_loop().time() + READY_WITHIN_S
        problem: str | None = "not started"
        while problem is not None:
            if process.returncode is not None:
                raise StackError(f"{name} ended with {process.returncode} at start: {self._tail(name)}")
            if asyncio.get_running_loop().time() > deadline:
                raise StackError(f"{name} is not healthy after {READY_WITHIN_S:.0f} s ({problem}): {self._tail(name)}")
            problem = await asyncio.to_thread(check, self.endpoints[name], SERVICE_NAMES[name], timeout_s=1.0)
            if problem is not None:
                await asyncio.sleep(0.05)

    def _tail(self, name: str) -> str:
        path = self.log_path(name)
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        return "\n".join(lines[-5:]) or "its log is empty"

    async def kill_service(self, name: str) -> None:
        """End a service at once, as a crash would (SIGKILL)."""
        process = self.processes.pop(name)
        process.kill()
        await process.wait()

    async def watch(self) -> None:
        """Report every service that dies, for as long as the stack runs; the others are kept."""
        reported: set[int] = set()
        server_died = False
        while not self._stopping:
            for name, process in self.processes.items():
                if process.returncode is not None and process.pid not in reported:
                    reported.add(process.pid)
                    self.report(f"{name} died with {process.returncode}: {self._tail(name)}")
            if not self.server.running and not server_died:
                server_died = True
                self.report("the log's server died; services wait for it")
            await asyncio.sleep(0.5)

    async def stop(self) -> None:
        """Stop services in reverse order, then the server; who is cancelled meanwhile hears of it afterwards."""
        await to_its_end(self._stop())

    async def _stop(self) -> None:
        self._stopping = True
        for name in reversed(SERVICES):
            process = self.processes.pop(name, None)
            if process is not None and process.returncode is None:
                await self._end(process)
        await self.server.stop()

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_WITHIN_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def running(self) -> RunningStack:
        """Return what ``var/stud.json`` should say."""
        pids = {name: process.pid for name, process in self.processes.items()}
        if self.server.pid is not None:
            pids[PORTS[0]] = self.server.pid
        return RunningStack(self.redis_url, self.endpoints, str(self.data_dir), str(self.keys_dir), os.getpid(), pids)


def with_way_out(error: Exception, data_dir: Path) -> str:
    """Return an error's text; where there is a way out of it, with the command that takes it."""
    if not isinstance(error, TornFileError):
        return str(error)
    return (
        f"{error}: `stud up --data {data_dir} --cut-torn-tail` keeps a copy of it and cuts that write, which was "
        "never acknowledged"
    )


def write_running(path: Path, running: RunningStack) -> None:
    """Write ``var/stud.json``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(running)) + b"\n")


def read_running(path: Path) -> RunningStack | None:
    """Return what a running ``stud up`` wrote; None when there is none or its process is gone."""
    running = _read(path)
    return running if running is not None and _alive(running.pid) else None


def is_garbled(path: Path) -> bool:
    """Whether there is something here that no ``stud up`` wrote."""
    return path.exists() and _read(path) is None


def orphans(path: Path) -> dict[str, int]:
    """Return what outlived the ``stud up`` that started it, by name: it was killed and stopped nothing."""
    running = _read(path)
    if running is None or _alive(running.pid):
        return {}
    server = f"-server {urlsplit(running.redis_url).netloc}"
    marks = {name: server if name == PORTS[0] else f"{name}_service" for name in running.pids}
    return {name: pid for name, pid in running.pids.items() if _runs(pid, marks[name])}


def _read(path: Path) -> RunningStack | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunningStack)
    except (OSError, msgspec.DecodeError):
        return None


def _runs(pid: int, mark: str) -> bool:
    """Whether a process is the one meant, and not another one that got its number: its command line says so.

    A service is named there by its module, the server by where it listens.
    """
    try:
        return mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

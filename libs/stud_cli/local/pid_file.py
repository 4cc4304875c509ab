"""``var/stud.json``: where a running ``stud up`` listens and which processes it is, for the other commands.

A process number means nothing once the process has ended: another one gets it, after a restart of the machine even the
same kind of one. So beside each number stands when its process was started, and in which run of the machine.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec

SERVER: Final = "redis"
"""The log's server among the names of processes."""

UP: Final = "up"
"""``stud up`` itself among the names of marks."""


Pid = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
"""Asking about anything else is in vain, or means a whole group of processes."""


class RunningSystem(msgspec.Struct):
    """What ``var/stud.json`` says. ``marks`` tell each process from a later one of its number (`mark_of`); those of an
    earlier build, which wrote none, are told by their command lines. ``metrics``: where Prometheus asks each service;
    ``web``: where browsers find the edge, if there is one; ``tls``: what clients here need to trust the services, where
    these speak TLS (`stud_service.tls.for_clients`).
    """

    redis_url: str
    endpoints: dict[str, str]
    data_dir: str
    keys_dir: str
    pid: Pid
    pids: dict[str, Pid]
    marks: dict[str, str] = {}
    metrics: dict[str, str] = {}
    web: str = ""
    tls: dict[str, str] = {}


def write_running(path: Path, running: RunningSystem) -> None:
    """Write ``var/stud.json``, at once or not at all: others read it at any moment. ``stud up`` writes for itself."""
    if not running.marks:
        ours = {UP: running.pid} if running.pid == os.getpid() else {}
        marks = {name: mark_of(pid) for name, pid in {**ours, **running.pids}.items()}
        running = msgspec.structs.replace(running, marks={name: mark for name, mark in marks.items() if mark})
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        written.write_bytes(msgspec.json.format(msgspec.json.encode(running)) + b"\n")
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)


def read_running(path: Path) -> RunningSystem | None:
    """Return what a running ``stud up`` wrote; None when there is none or its process is gone."""
    running = _read(path)
    return running if running is not None and _runs(running, UP, running.pid) else None


def is_garbled(path: Path) -> bool:
    """Whether there is something here that no ``stud up`` wrote."""
    return path.exists() and _read(path) is None


def orphans(path: Path) -> dict[str, int]:
    """Return what outlived the ``stud up`` that started it, by name: that was killed and stopped nothing."""
    running = _read(path)
    if running is None or _runs(running, UP, running.pid):
        return {}
    return {name: pid for name, pid in running.pids.items() if _runs(running, name, pid)}


def mark_of(pid: int) -> str:
    """Return what tells a process from every other that ever has its number: the run of the machine and the moment it
    was started (field 22 of /proc/PID/stat). Empty where there is none, or one that has ended and is not reaped yet.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in "ZX" else f"{boot} {fields[18]}"


def _read(path: Path) -> RunningSystem | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunningSystem)
    except (OSError, msgspec.DecodeError):
        return None


def _runs(running: RunningSystem, name: str, pid: int) -> bool:
    """Whether a process runs and is the one that was meant."""
    if sys.platform != "linux":
        return _is_there(pid)
    if running.marks:
        return bool(mark_of(pid)) and mark_of(pid) == running.marks.get(name)
    return bool(mark_of(pid)) and _looks_like(running, name, pid)


def _looks_like(running: RunningSystem, name: str, pid: int) -> bool:
    """A service is named in its command line by its module, the server by where it listens."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    if name == UP:
        return any(Path(os.fsdecode(word)).name == "stud" for word in line)
    meant = f"-server {urlsplit(running.redis_url).netloc}" if name == SERVER else f"{name}_service"
    return meant.encode() in b" ".join(line)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""What a load run plays against: the system that runs, one named by its endpoints, or one of its own."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.load.own_system import troubles_of
from stud_cli.local.callers import TTL_S, RenewedToken
from stud_cli.local.pid_file import RunningSystem, is_garbled, read_running
from stud_cli.local.system import LocalSystem
from stud_cli.where import parsed
from stud_client import Endpoints
from stud_client.tls import tls_of
from stud_load import Target
from stud_load.target import Token
from stud_service.settings import load_settings
from stud_service.signing_keys import load_private_key

LIMITS: Final = {
    "STUD_CALLS_BURST": "100000",
    "STUD_COMMANDS_BURST": "100000",
    "STUD_STREAMS_PER_ACCOUNT": "100000",
    "STUD_CALLS_PER_CONNECTION": "100000",
}
"""A system of its own lets one machine ask for what a thousand players would."""

NAMES: Final = {"redis": "log server"}
"""What a process is called in a report, where it is called otherwise in ``var/stud.json``."""


async def _nobody_knows() -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Place:
    """A system under load. ``redis_url``: its log, where it can be read; empty otherwise. ``troubles`` says what keeps
    it from playing on, where that is known: of a system of our own.
    """

    endpoints: dict[str, str]
    keys_dir: Path
    pids: Mapping[str, int]
    redis_url: str = ""
    tls: Mapping[str, str] = field(default_factory=dict)
    """What `stud up` told of its certificates."""

    troubles: Callable[[], Awaitable[list[str]]] = _nobody_knows

    def target(self) -> Target:
        """Return it as bots need it. Raises CouldNotRun without the key that tokens are made with."""
        with said_as(f"no tokens can be made with the key in {self.keys_dir} ({{}}): name it with --keys", Exception):
            key = load_private_key(self.keys_dir)
        ttl_s = min(TTL_S, load_settings("table").token_max_life_s)

        def token_of(subject: str, role: str) -> Token:
            return RenewedToken(subject, role, key, ttl_s)

        return Target(Endpoints(**self.endpoints).trusting(tls_of(told=self.tls)), token_of, self.pids)


@contextlib.asynccontextmanager
async def opened(run: Path | None, endpoints: str, keys: Path | None, console: Console | None) -> AsyncIterator[Place]:
    """Return where to play: what ``run`` names (a ``stud.json``), else ``endpoints``, else a system of its own, which
    is gone afterwards. Raises CouldNotRun.
    """
    if keys is not None and run is None and not endpoints:
        could_not_run(
            "--keys names the key of another system, and a system of its own has its own: name the other one with "
            "--endpoints (or --run), or leave --keys out"
        )
    if run is not None and endpoints:
        could_not_run("--run and --endpoints name two systems: want one of them")
    if run is not None:
        yield _running(run, keys)
    elif endpoints:
        if keys is None:
            could_not_run("--endpoints wants --keys: the directory of the key that its tokens are made with")
        with said_as("--endpoints: {}", ValueError, TypeError):
            addresses = dict(Endpoints(**parsed(endpoints)))
        yield Place(addresses, keys, {})
    else:
        with tempfile.TemporaryDirectory(prefix="stud-load-") as directory:
            report = console.print if console is not None else lambda _: None
            async with LocalSystem(Path(directory), environ=LIMITS, report=report, console=console) as system:
                yield replace(_of(system.running(), None), troubles=partial(troubles_of, system))


def _running(path: Path, keys: Path | None) -> Place:
    running = read_running(path)
    if running is None:
        why = "is not what `stud up` writes" if is_garbled(path) else "names no running system"
        could_not_run(f"{path} {why}: start one with `stud up`, or leave --run out to have one started")
    return _of(running, keys)


def _of(running: RunningSystem, keys: Path | None) -> Place:
    pids = {NAMES.get(name, name): pid for name, pid in running.pids.items()}
    return Place(running.endpoints, keys or Path(running.keys_dir), pids, running.redis_url, running.tls)

"""Where to play: at the services that run, or at a system of one's own that is stopped afterwards and keeps its log."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from stud_cli.exit_codes import said_as
from stud_cli.local.callers import Callers
from stud_cli.local.keys import keys_dir
from stud_cli.local.pid_file import is_garbled, read_running
from stud_cli.local.supervisor import keep
from stud_cli.local.system import LocalSystem
from stud_cli.operate.identity import identify
from stud_cli.output import console, notes
from stud_cli.where import endpoints
from stud_client import StudClient
from stud_topology.services import NAMES, RUNNING

GIVE_UP_S: Final = 86_400.0
"""Whoever plays decides how long a broken stream is tried again; the screen says that it is."""


def is_named(where: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether services that run are meant: by ``--endpoints``, by the environment, or since `stud up` runs here."""
    of_environ = any(environ.get(f"STUD_{name.upper()}_ENDPOINT") for name in NAMES)
    return bool(where or of_environ or is_garbled(RUNNING) or read_running(RUNNING) is not None)


@contextlib.asynccontextmanager
async def own_system(directory: Path, *, quiet: bool) -> AsyncIterator[tuple[LocalSystem, asyncio.Task[None]]]:
    """Start a system in a new directory; return it and the task that keeps it alive. What it reports while somebody
    plays is not printed: the screen is theirs. Raises LocalSystemError.
    """
    out = notes if quiet else console
    async with LocalSystem(
        directory, report=lambda text: out.print(text, markup=False, soft_wrap=True), console=out
    ) as system:
        system.report = lambda _: None
        keeper = asyncio.create_task(keep(system))
        try:
            yield system, keeper
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)


def callers_of(where: str, keys: Path | None) -> Callers:
    """Return whoever is made up for the running system, with its development key. Raises CouldNotRun."""
    with said_as("this needs the key that tokens are made with ({}): --keys DIR or STUD_KEYS_DIR", ValueError):
        return Callers(endpoints(where), keys_dir() if keys is None else keys)


def has_token(token_file: Path | None) -> bool:
    """Whether a player brings a token of their own."""
    return token_file is not None or bool(os.environ.get("STUD_TOKEN", "").strip())


def token_client(where: str, account: str, token_file: Path | None) -> tuple[str, StudClient]:
    """Return who plays with a token of their own, and their client. Raises CouldNotRun."""
    who = identify(account, token_file, None, ["player"], decides=False)
    return who.name, StudClient(endpoints(where), who.token, give_up_s=GIVE_UP_S)

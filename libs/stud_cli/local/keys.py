"""``stud token`` and ``stud init``: identities for local runs, and the log's marker for a new installation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.local.pid_file import is_garbled, read_running
from stud_cli.output import JsonFlag, console, last_line
from stud_eventlog.types import EventLogError
from stud_service.checks import require_account
from stud_service.keyring import ensure_dev_keys
from stud_service.refusals import Refused
from stud_service.settings import load_keys_dir, load_settings
from stud_service.signing_keys import load_private_key
from stud_service.tokens import ROLES, Verifier, mint
from stud_service.trust import Trust
from stud_topology.services import RUNNING

DAY_S = 86_400


def keys_dir() -> Path:
    """Return the keys of the running system, else those of the environment. Raises ValueError when nobody can tell."""
    running = read_running(RUNNING)
    if running is not None:
        return Path(running.keys_dir)
    if is_garbled(RUNNING):
        raise ValueError(f"{RUNNING}: not what `stud up` writes; remove it, or start the system again")
    return load_keys_dir()


def token(
    subject: Annotated[str, typer.Argument(help="Account or operator the token speaks for.")],
    role: Annotated[
        list[str] | None, typer.Option(help="player, operator, cashier, auditor, service; may be repeated.")
    ] = None,
    ttl_s: Annotated[
        int | None,
        typer.Option("--ttl", help="Seconds until it expires: a day, where services take that.", min=1),
    ] = None,
    nickname: Annotated[str, typer.Option(help="The name that others at a table see.")] = "",
    avatar: Annotated[str, typer.Option(help="Key of the picture that others at a table see.")] = "",
    json_output: JsonFlag = False,
) -> None:
    """Make a token with the development key (made on first use under the keys directory).

    Example: stud token alice --role player
    """
    roles = role or ["player"]
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        could_not_run(f"unknown role {', '.join(unknown)}: want {', '.join(sorted(ROLES))}")
    if not subject.strip():
        could_not_run("the token would speak for nobody: want an account or operator, e.g. alice")
    made = _made(subject, sorted(set(roles)), ttl_s, nickname, avatar)
    if json_output:
        last_line({"sub": subject, "roles": roles, "token": made})
    else:
        console.print(made, soft_wrap=True)


def _made(subject: str, roles: list[str], ttl_s: int | None, nickname: str, avatar: str) -> str:
    """Return a token that services take: it is checked as they do before anybody gets it."""
    with said_as("{}", ValueError), said_as("no service would take such a token: {}", Refused):
        settings = msgspec.structs.replace(load_settings("table"), jwks_url="")
        longest_s = settings.token_max_life_s
        ttl_s = min(DAY_S, longest_s) if ttl_s is None else ttl_s
        if ttl_s > longest_s:
            could_not_run(f"a token is not for ever: want --ttl 1 to {longest_s} (STUD_TOKEN_MAX_LIFE_S)")
        directory = keys_dir()
        _ensure_keys(directory)
        key = load_private_key(directory)
        made = mint(subject, roles, ttl_s, key, nickname=nickname, avatar=avatar)
        Verifier(Trust(msgspec.structs.replace(settings, keys_dir=directory)).trusted, max_life_s=longest_s).caller_of(
            made
        )
        if "player" in roles:
            require_account(subject)
    return made


def _ensure_keys(directory: Path) -> None:
    with said_as(f"{directory} cannot hold keys ({{}}): name a directory with STUD_KEYS_DIR", OSError):
        ensure_dev_keys(directory)


def init(
    redis_url: Annotated[str, typer.Option(envvar="STUD_REDIS_URL", help="The log.")],
    allow_volatile: Annotated[bool, typer.Option(envvar="STUD_ALLOW_VOLATILE", help="Accept any server.")] = False,
    json_output: JsonFlag = False,
) -> None:
    """Write the marker of a new log, once; services refuse a log without it, since it may have lost its data.

    Example: stud init --redis-url redis://127.0.0.1:6379/0
    """
    with said_as("{}", EventLogError):
        fresh = asyncio.run(_init(redis_url, allow_volatile))
    if json_output:
        last_line({"initialised": True, "fresh": fresh})
    else:
        console.print("the log is initialised" if fresh else "the log was initialised before")


async def _init(url: str, allow_volatile: bool) -> bool:
    from stud_eventlog.redis_streams import RedisEventLog  # whoever only wants a key need not wait for it

    log = await RedisEventLog.connect(url, allow_volatile=allow_volatile)
    try:
        return await log.initialise()
    finally:
        await log.close()

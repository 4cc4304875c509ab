"""What the shell may complete: tables of the running system, presets, knobs and their values. Silent, and quick to give
up: whoever presses Tab waits.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import typer

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.exit_codes import CouldNotRun
from stud_cli.operate.identity import identify
from stud_cli.operate.knobs import KNOBS, wanted
from stud_cli.where import endpoints
from stud_client import StudClient, StudError
from stud_core.presets import RULESETS

PATIENCE_S: Final = 2.0
MOST: Final = 200
"""Tables that are offered; whoever has more types the beginning of a name first."""


def presets(incomplete: str) -> list[str]:
    """Return presets that begin so."""
    return [name for name in RULESETS if name.startswith(incomplete)]


def knobs(incomplete: str) -> list[str]:
    """Return ``knob=`` words that begin so, and with a knob its values."""
    name, equals, value = incomplete.partition("=")
    if equals:
        return [f"{name}={choice}" for choice in wanted(name) if choice.startswith(value)]
    return [f"{knob}=" for knob in KNOBS if knob.startswith(incomplete)]


def tables(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return open tables that begin so; none where nobody can be asked."""
    given = ctx.params
    try:
        who = identify(
            given.get("as_name") or "", given.get("token_file"), given.get("keys"), ["operator"], decides=False
        )
        with suppress(StudError, TimeoutError, OSError):
            return asyncio.run(_listed(given.get("where") or "", who.token, incomplete))
    except CouldNotRun:
        pass
    return []


async def _listed(where: str, token: str, incomplete: str) -> list[str]:
    async with asyncio.timeout(PATIENCE_S), StudClient(endpoints(where), token, timeout_s=PATIENCE_S) as client:
        answer = await client.tables.ListTables(pb.ListTablesRequest(page_size=MOST))
        return [line.table for line in answer.tables if line.table.startswith(incomplete)]

"""``stud watch``: look on at a table, at a terminal. What nobody showed is face down here, whoever looks."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from stud_cli.exit_codes import said_as
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.operate.common import AsOption, EndpointsOption, KeysOption, TokenFileOption
from stud_cli.operate.identity import TOOLS
from stud_cli.operate.options import TableId
from stud_cli.operate.repeating import keepable
from stud_cli.output import JsonFlag, console, last_line
from stud_cli.play import place
from stud_cli.play.command import at_a_screen
from stud_client import StudClient, StudError


def watch(
    ctx: typer.Context,
    table: TableId,
    plain: Annotated[bool, typer.Option("--ascii", help="Suits as letters: Ah instead of A♥.")] = False,
    as_name: AsOption = "",
    token_file: TokenFileOption = None,
    keys: KeysOption = None,
    where: EndpointsOption = "",
    json_output: JsonFlag = False,
) -> None:
    """Watch a table of the running system at a terminal; down cards stay hidden (??).

    Example: stud watch t-1
    """
    keepable(ctx)
    at_a_screen()
    name = as_name or os.environ.get("STUD_AS", "") or TOOLS
    if place.has_token(token_file):
        _, client = place.token_client(where, as_name, token_file)
    else:
        client = place.callers_of(where, keys).player(name)
    with said_as("{}", StudError):
        hands, version = run_with_one_stop(_watch(client, table, plain=plain))
    if json_output:
        last_line({"table": table, "hands": hands, "version": version})
    else:
        console.print(f"saw {hands} hands at {table}, up to version {version}", markup=False)


async def _watch(client: StudClient, table: str, *, plain: bool) -> tuple[int, int]:
    from stud_cli.play.screen import TableScreen
    from stud_cli.play.table import look

    try:
        await look(client, table)
        async with client.watch(table) as watching:
            screen = TableScreen(watching, plain=plain)
            await screen.run_async()
        screen.check()
        seen = screen.seen
        return seen.hands, seen.update.version if seen.update is not None else 0
    finally:
        await client.close()

"""``stud tables``: the lobby."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer
from google.protobuf import json_format

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import money
from stud_cli.exit_codes import said_as
from stud_cli.local.keys import keys_dir
from stud_cli.output import JsonFlag, console, last_line, table_of
from stud_client import StudClient, StudError, load_endpoints, pages
from stud_service.tokens import load_private_key, mint

PAGE = 1000


def tables(
    currency: Annotated[str, typer.Option(help="Only this currency.")] = "",
    closed: Annotated[bool, typer.Option("--all", help="Closed tables too.")] = False,
    json_output: JsonFlag = False,
) -> None:
    """List the tables of the running system.

    Example: stud tables --json
    """
    way_out = "start the system with `stud up`, or say where it is with STUD_TABLE_ENDPOINT"
    with said_as(f"the table service cannot be asked ({{}}): {way_out}", StudError, OSError, ValueError):
        lines = asyncio.run(_list(currency, closed))
    if json_output:
        last_line({"tables": [_plain(line) for line in lines]})
        return
    rows = [
        (
            line.table,
            line.ruleset,
            f"{money(line.small_bet)}/{money(line.big_bet)} {line.currency}",
            f"{line.seated}/{line.seats}",
            line.hand_no,
            line.version,
            line.paused or pb.TableLife.Name(line.life).removeprefix("TABLE_LIFE_").lower(),
        )
        for line in lines
    ]
    columns = ("table", "ruleset", "stakes", "seated", "hand", "version", "state")
    console.print(table_of("Tables", columns, rows, right=("hand", "version")))


async def _list(currency: str, closed: bool) -> list[pb.TableSummary]:
    token = mint("stud-tables", ["operator"], 60, load_private_key(keys_dir()))
    client = StudClient(load_endpoints(), token)
    try:
        request = pb.ListTablesRequest(currency=currency, include_closed=closed, page_size=PAGE)
        return [line async for page in pages(client.tables.ListTables, request) for line in page.tables]
    finally:
        await client.close()


def _plain(line: pb.TableSummary) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(
        line, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return {name: int(value) if isinstance(value, str) and value.isdigit() else value for name, value in plain.items()}

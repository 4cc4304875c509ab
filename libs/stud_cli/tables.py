"""``stud tables``: the lobby."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from google.protobuf import json_format

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import money
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.output import table_of
from stud_client import pages

PAGE = 1000
COLUMNS = ("table", "ruleset", "stakes", "seated", "hand", "version", "state")


@operated("operator", "cashier", "auditor", "player")
async def tables(
    desk: Desk,
    currency: Annotated[str, typer.Option(help="Only this currency.")] = "",
    closed: Annotated[bool, typer.Option("--all", help="Closed tables too.")] = False,
) -> Told:
    """List the tables of the running system.

    Example: stud tables --json
    """
    request = pb.ListTablesRequest(currency=currency, include_closed=closed, page_size=PAGE)
    lines = [line async for page in pages(desk.client.tables.ListTables, request) for line in page.tables]
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
    return Told(
        {"tables": [_plain(line) for line in lines]}, table_of("Tables", COLUMNS, rows, right=("hand", "version"))
    )


def _plain(line: pb.TableSummary) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(
        line, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return {name: int(value) if isinstance(value, str) and value.isdigit() else value for name, value in plain.items()}

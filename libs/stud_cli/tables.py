"""``stud tables``: the lobby, once or as it changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from rich.live import Live
from rich.table import Table

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import money
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.output import console, last_line, table_of
from stud_client import pages

PAGE = 1000
COLUMNS = ("table", "ruleset", "stakes", "seated", "hand", "version", "state")
FIGURES = ("pot", "hands/h", "4th")
NUMBERS = ("hand", "version", *FIGURES)
ROOM = 100
"""Columns of a terminal that has room for the figures; a narrower one, and a file, has none."""

WIDE = {FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64}


@operated("operator", "cashier", "auditor", "player")
async def tables(
    desk: Desk,
    currency: Annotated[str, typer.Option(help="Only this currency.")] = "",
    ruleset: Annotated[str, typer.Option(help="Only this ruleset, by its name.")] = "",
    free: Annotated[int, typer.Option(min=0, max=8, help="Only with so many free seats at least.")] = 0,
    closed: Annotated[bool, typer.Option("--all", help="Closed tables too.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show them as they change, until Ctrl-C.")] = False,
) -> Told:
    """List the tables of the running system.

    Example: stud tables --json
    """
    wanted = pb.TableFilter(currency=currency, ruleset=ruleset, min_free_seats=free)
    if watch:
        await _watch(desk, wanted)
    request = pb.ListTablesRequest(include_closed=closed, page_size=PAGE, filter=wanted)
    lines = [line async for page in pages(desk.client.tables.ListTables, request) for line in page.tables]
    return Told(_value(lines), _shown(lines))


async def _watch(desk: Desk, wanted: pb.TableFilter) -> None:
    """Show the tables that are not closed whenever they have changed: a picture at a terminal, an object a line for
    scripts. Ends when the lobby cannot be watched any more. Raises StudError.
    """
    async with desk.client.lobby(wanted) as lobby:
        if desk.for_scripts:
            async for tables in lobby:
                last_line(_value(tables[table] for table in sorted(tables)))
        with Live(console=console, auto_refresh=False) as live:
            async for tables in lobby:
                live.update(_shown(tables[table] for table in sorted(tables)), refresh=True)


def _value(lines: Iterable[pb.TableSummary]) -> dict[str, Any]:
    return {"tables": [_plain(line) for line in lines]}


def _shown(lines: Iterable[pb.TableSummary]) -> Table:
    figures = console.width >= ROOM
    rows = [
        (
            line.table,
            line.ruleset,
            f"{money(line.small_bet)}/{money(line.big_bet)} {line.currency}",
            f"{line.seated}/{line.seats}",
            line.hand_no,
            line.version,
            line.paused or pb.TableLife.Name(line.life).removeprefix("TABLE_LIFE_").lower(),
            *(_figures(line) if figures else ()),
        )
        for line in lines
    ]
    return table_of("Tables", (*COLUMNS, *FIGURES) if figures else COLUMNS, rows, right=NUMBERS, whole=("table",))


def _figures(line: pb.TableSummary) -> tuple[str, str, str]:
    if not line.HasField("figures"):
        return "", "", ""
    figures = line.figures
    return money(figures.average_pot), str(figures.hands_per_hour or ""), f"{figures.fourth_street_percent} %"


def _plain(line: pb.TableSummary) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(
        line, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return _numbers(plain, line.DESCRIPTOR)


def _numbers(plain: dict[str, Any], message: Descriptor) -> dict[str, Any]:
    """Return 64-bit numbers as numbers: the JSON of protobuf has them as text. A table that is called 007 stays so."""
    told = dict[str, Any]()
    for name, value in plain.items():
        field = message.fields_by_name[name]
        if field.message_type is not None and isinstance(value, dict):
            told[name] = _numbers(value, field.message_type)
        else:
            told[name] = int(value) if field.cpp_type in WIDE else value
    return told

"""``stud replay``: a table as it was at any version, from nothing but its log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from google.protobuf import json_format
from rich.markup import escape

from stud_cli.drawing import draw
from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.inspect.log import open_log
from stud_cli.inspect.page.writing import hand_range, write_page
from stud_cli.inspect.table_history import Step, steps
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.output import DataDir, JsonFlag, console, last_line
from stud_eventlog.types import EventLogError
from table_service import views


def replay(
    table: Annotated[str, typer.Argument(help="Table id; `stud tables` lists them.")],
    at: Annotated[int, typer.Option("--at", help="Version to stop at; 0 = the last.", min=0)] = 0,
    events: Annotated[bool, typer.Option("--events", help="Print every event on the way.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write hands as one page to look at and to send.", show_default=False)
    ] = None,
    hands: Annotated[str, typer.Option("--hands", help="With --html: a hand (7) or a range (7-12); empty = all.")] = "",
    data: DataDir = None,
    json_output: JsonFlag = False,
) -> None:
    """Show a table as it was at a version. Down cards stay hidden (??): tools never open them.

    Example: stud replay demo-playnow --at 120
    """
    if html is None and hands:
        could_not_run("--hands says what goes into a page: name the page with --html FILE")
    if html is not None and (at or events):
        could_not_run("a page shows whole hands: want --html with --hands, without --at and --events")
    with said_as(f"table {table}: {{}}", EventLogError, ValueError):
        if html is not None:
            run_with_one_stop(_page(table, hands, html, data, json_output))
            return
        run_with_one_stop(_replay(table, at, events, data, json_output))


async def _page(table_id: str, hands: str, out: Path, data: Path | None, json_output: bool) -> None:
    with said_as("--hands {}", ValueError):
        wanted = hand_range(hands)
    async with open_log(data) as opened:
        written = await write_page(opened.log, table_id, wanted, out)
    if json_output:
        last_line({"table": table_id, "html": str(out), **msgspec.structs.asdict(written)})
        return
    size = f"{written.bytes / 1024:,.0f} KiB"
    console.print(f"{out}: {written.hands} hands, {written.steps} steps, {size}", markup=False, soft_wrap=True)


async def _replay(table_id: str, at: int, events: bool, data: Path | None, json_output: bool) -> None:
    last: Step | None = None
    async with open_log(data) as opened:
        async for step in steps(opened.log, table_id):
            last = step
            if events and not json_output:
                _print_events(step)
            if at and step.stored.version >= at:
                break
    if last is None:
        could_not_run(f"there is no table {table_id!r} in this log")
    if at > last.stored.version:
        could_not_run(f"table {table_id} has only {last.stored.version} versions: want --at 1 to {last.stored.version}")
    view = views.table_view(last.table)
    if json_output:
        last_line(
            {
                "table": table_id,
                "version": last.stored.version,
                "at_ms": last.commit.meta.at_ms,
                "head_hash": last.stored.hash.hex(),
                "view": json_format.MessageToDict(view, preserving_proto_field_name=True),
            }
        )
        return
    console.print(draw(view, last.stored.version))


def _print_events(step: Step) -> None:
    for event in step.commit.events:
        fields = {name: _plain(value) for name, value in msgspec.structs.asdict(event).items()}
        text = " ".join(f"{name}={value}" for name, value in fields.items())
        console.print(f"[dim]{step.stored.version:>6}[/dim] {type(event).__name__} {escape(text)}", soft_wrap=True)


def _plain(value: Any) -> Any:
    """Return a short form; sealed boxes and hashes only by their length."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return {name: _plain(item) for name, item in msgspec.structs.asdict(value).items()}
    return value

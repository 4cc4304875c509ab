"""``stud table``: open one, look at it, pause, resume, drain and close it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from google.protobuf import json_format

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import draw, money
from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.operate import opening
from stud_cli.operate.completing import knobs, presets
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.operate.messages import to_table
from stud_cli.operate.options import ReasonForAll, TableId
from stud_core.house_rules import changed, headline, house_rules, page
from stud_core.ruleset import TableConfig
from stud_service.settings import SettingsError, load_settings

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Open a table, look at it, pause, resume, drain and close it. Example: stud table show t-1",
)
app.command("message")(to_table)
In = typer.Option


@app.command()
@operated("operator", decides=True)
async def create(
    desk: Desk,
    table: Annotated[str | None, typer.Argument(help="Table id: a-z, 0-9 and -.", show_default=False)] = None,
    preset: Annotated[str | None, In(help="playnow or william_hill.", autocompletion=presets)] = None,
    settings: Annotated[
        list[str] | None,
        In("--set", help="A knob of the house rules, KNOB=VALUE; may be repeated.", autocompletion=knobs),
    ] = None,
    file: Annotated[Path | None, In("--from", help="A TOML file with all of it; options win over it.")] = None,
    name: Annotated[str | None, In(help="Name shown to players.", show_default="the id")] = None,
    currency: Annotated[str | None, In(help="Currency code; XTS for tests.")] = None,
    small_bet: Annotated[int | None, In(help="Lower limit, minor units.")] = None,
    big_bet: Annotated[int | None, In(help="Higher limit, minor units.", show_default="double")] = None,
    ante: Annotated[int | None, In(help="Ante, minor units.", show_default="by the stakes")] = None,
    bring_in: Annotated[int | None, In(help="Bring-in, minor units.", show_default="by the stakes")] = None,
    hand_pause_ms: Annotated[int | None, In(help="Pause between hands, milliseconds.", show_default="3000")] = None,
    stacked: Annotated[bool | None, In("--stacked", help="Decks are stacked (XTS only).")] = None,
    dry_run: Annotated[
        bool, In("--dry-run", help="Open nothing: print the house rules that players would read.")
    ] = False,
) -> Told:
    """Open a table. Everything that is wrong with it is told at once, and nothing is opened then.

    Example: stud table create t-1 --preset playnow --currency EUR --small-bet 500 --set max_raises=4 --as olga
    """
    told = {
        "table": table, "name": name, "currency": currency, "preset": preset, "small_bet": small_bet,
        "big_bet": big_bet, "ante": ante, "bring_in": bring_in, "hand_pause_ms": hand_pause_ms, "stacked": stacked,
    }  # fmt: skip
    in_file = opening.read_file(file) if file is not None else {}
    with said_as("{}", SettingsError):
        plan = opening.planned(told, in_file, settings or [], load_settings("table").currencies)
    if plan.problems and (dry_run or not plan.readable):
        lines = [f"  {problem}" for problem in plan.problems]
        could_not_run("\n".join([f"{len(lines)} {'things are' if lines[1:] else 'thing is'} wrong", *lines]))
    if dry_run and plan.config is not None:
        return Told({"dry_run": True, "table": plan.request.table, **_rules(plan.config)}, page(plan.config).rstrip())
    answer = await desk.decide(desk.client.tables.CreateTable, plan.request)
    config = answer.config
    stakes = f"{money(config.small_bet)}/{money(config.big_bet)} {config.currency}"
    value = {"table": config.table_id, "version": answer.version, "request_id": desk.request_id}
    return Told(
        {**value, "config": _plain(config)},
        f"{config.table_id} is open: {config.name} · {config.ruleset.name} · {stakes}\n"
        f"what players read: stud rules --table {config.table_id}",
    )


def _rules(config: TableConfig) -> dict[str, Any]:
    sections = [section._asdict() for section in house_rules(config)]
    return {
        "ruleset": config.ruleset.name, "headline": headline(config), "changed": changed(config), "sections": sections,
    }  # fmt: skip


def _plain(message: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return plain


@app.command()
@operated("operator", "auditor", "player")
async def show(desk: Desk, table: TableId) -> Told:
    """Show a table as everybody may see it now: seats, stacks, the hand, and why nothing moves.

    Example: stud table show t-1
    """
    update = (await desk.client.tables.GetTable(pb.GetTableRequest(table=table))).update
    value = {"table": table, "version": update.version, "view": _plain(update.view)}
    return Told(value, draw(update.view, update.version))


@app.command()
@operated("operator", decides=True)
async def pause(desk: Desk, table: TableId, reason: ReasonForAll) -> Told:
    """Start no new hand until the table is resumed; a running hand goes on.

    Example: stud table pause t-1 --reason "fire drill" --as olga
    """
    request = pb.PauseTableRequest(table=table, reason=reason)
    answer = await desk.decide(desk.client.tables.PauseTable, request)
    return _noted(desk, table, answer.version, f"{table} is paused: the running hand goes on, none follows")


@app.command()
@operated("operator", decides=True)
async def resume(desk: Desk, table: TableId) -> Told:
    """End a pause or a drain. A pause that protects money ends by itself, once what it waits for is decided.

    Example: stud table resume t-1 --as olga
    """
    answer = await desk.decide(desk.client.tables.ResumeTable, pb.ResumeTableRequest(table=table))
    return _noted(desk, table, answer.version, f"{table} goes on")


@app.command()
@operated("operator", decides=True)
async def drain(desk: Desk, table: TableId) -> Told:
    """Finish the running hand and start none; nobody is sent away. `stud table resume` takes it back.

    Example: stud table drain t-1 --as olga
    """
    answer = await desk.decide(desk.client.tables.DrainTable, pb.DrainTableRequest(table=table))
    return _noted(desk, table, answer.version, f"{table} is drained: the running hand is its last one")


@app.command()
@operated("operator", decides=True, asks=True)
async def close(desk: Desk, table: TableId) -> Told:
    """Finish the running hand, cash everybody out, and close the table for good.

    Example: stud table close t-1 --as olga
    """
    desk.sure(f"Close {table}: everybody is cashed out after the running hand.")
    answer = await desk.decide(desk.client.tables.CloseTable, pb.CloseTableRequest(table=table))
    return _noted(desk, table, answer.version, f"{table} closes: everybody is paid out once their hands are verified")


def _noted(desk: Desk, table: str, version: int, shown: str) -> Told:
    return Told({"table": table, "version": version, "request_id": desk.request_id}, shown)

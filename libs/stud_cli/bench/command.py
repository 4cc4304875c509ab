"""``stud bench``: every part measured in one run, its ratios told and held against what was recorded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from rich.console import Console

from stud_cli.bench.parts import BENCHES, NAMES, Part, chosen
from stud_cli.bench.ratios import Row, held_against, parts_that_are_worse, taken_from
from stud_cli.bench.report import Bench, Records, as_json, load, read_records, recorded, the_better, this_machine
from stud_cli.bench.scripts import Shown, figures_of
from stud_cli.exit_codes import FINE, FOUND, could_not_run, said_as
from stud_cli.files import require_places, write_whole
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.output import JsonFlag, console, last_line, notes, table_of


def bench(
    only: Annotated[
        str | None, typer.Option("--only", help=f"Some of {', '.join(NAMES)}; left out: all.", show_default=False)
    ] = None,
    brief: Annotated[bool, typer.Option("--brief", help="Seconds instead of minutes, less exact.")] = False,
    runs: Annotated[
        int | None,
        typer.Option(help="Runs of which the median counts: 3, with --brief 1.", min=1, max=99, show_default=False),
    ] = None,
    thousand: Annotated[bool, typer.Option("--thousand", help="A thousand tables of people, too.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write all figures here, as JSON.")] = None,
    against: Annotated[
        Path | None, typer.Option("--against", help="Recorded ratios: exit code 1 where one is a third below.")
    ] = None,
    tries: Annotated[
        int,
        typer.Option(
            "--tries", help="Measure a part that came out worse so often at most; its best counts.", min=1, max=9
        ),
    ] = 1,
    record: Annotated[
        Path | None, typer.Option("--record", help="Write this run's ratios here, for --against.")
    ] = None,
    json_output: JsonFlag = False,
) -> None:
    """Measure the system beside what it could reach on this machine: a bare server, PokerKit, eventsourcing, XADD.

    Ratios are taken within one run; absolute figures are of this machine and are compared with nothing. Exit code 1 =
    a ratio is a third below what was recorded, in each of --tries.

    Example: stud bench --brief --only engine,append --against benches/recorded.json
    """
    with said_as("--only: {}", ValueError):
        parts = chosen(only)
    if not BENCHES.is_dir():
        could_not_run("the benches are not part of an installed package: run this in a clone, after `make setup`")
    require_places(out, record)
    then = _recorded(against, brief=brief)
    before = _read(record) if record is not None and record.exists() else Records()
    out_to = notes if json_output else console
    how = How(runs or (1 if brief else 3), brief=brief, thousand=thousand)
    told = run_with_one_stop(_measured(parts, how, out_to))
    for _ in range(1, tries):
        again = [part for part in parts if part.name in parts_that_are_worse(held_against(told.ratios, then))]
        if not again:
            break
        told = the_better(told, run_with_one_stop(_measured(again, how, out_to)))
    rows = held_against(told.ratios, then)
    _show(told, rows, out_to)
    for path, value in ((out, told), (record, recorded(told, before))):
        if path is not None:
            write_whole(path, as_json(value))
    worse = [row for row in rows if row.is_worse]
    if json_output:
        last_line({**msgspec.to_builtins(told), "worse": [row.ratio.name for row in worse]})
    raise typer.Exit(FOUND if worse else FINE)


def _read(path: Path) -> Records:
    with said_as(f"{path} cannot be read: {{}}", OSError), said_as("{}", ValueError):
        return read_records(path)


def _recorded(path: Path | None, *, brief: bool) -> dict[str, float]:
    """Return what this run is held against. Raises CouldNotRun where it is asked for and there is none."""
    if path is None:
        return {}
    then = _read(path).ratios(brief=brief, model=this_machine().model)
    if not then:
        kind = "brief" if brief else "whole"
        could_not_run(f"{path} holds nothing of a {kind} run: record one with `stud bench --record {path}`")
    return then


class How(NamedTuple):
    """How parts are measured."""

    runs: int
    brief: bool
    thousand: bool


async def _measured(parts: Sequence[Part], how: How, out: Console) -> Bench:
    runs, brief = how.runs, how.brief
    machine, began = this_machine(), time.monotonic()
    figures: dict[str, dict[str, float]] = {}
    with Shown(out, sum(part.lasts_s(runs, brief=brief) for part in parts)) as shown:
        for part in parts:
            async with shown.during(part, part.lasts_s(runs, brief=brief)):
                figures[part.name] = await figures_of(part, part.arguments(runs, brief=brief, thousand=how.thousand))
    machine = msgspec.structs.replace(machine, load_after=load())
    return Bench(brief, runs, machine, round(time.monotonic() - began, 1), figures, taken_from(figures, brief=brief))


def _show(told: Bench, rows: Sequence[Row], out: Console) -> None:
    for part, figures in told.figures.items():
        out.print(table_of(part, ("figure", ""), [(n, f"{v:,.3f}") for n, v in figures.items()], right=("",)))
    columns = ("ratio", "now", "recorded", "as good", "")
    shown: list[tuple[Any, ...]] = [
        (
            row.ratio.said,
            f"{row.now:.3f}",
            "" if row.recorded is None else f"{row.recorded:.3f}",
            "" if row.share is None else f"{row.share:.2f}",
            "worse" if row.is_worse else "",
        )
        for row in rows
    ]
    out.print(table_of("Ratios", columns, shown, right=columns[1:4]))
    machine = told.machine
    out.print(
        f"{machine.cpus} × {machine.model}, {machine.system}, Python {machine.python}, nice {machine.nice}, "
        f"load {machine.load_before} before and {machine.load_after} after",
        markup=False,
        soft_wrap=True,
    )

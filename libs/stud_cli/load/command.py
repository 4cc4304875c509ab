"""``stud load``: fill a system with bots, measure it, and check what they played."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.live import Live
from rich.markup import escape

from stud_cli.exit_codes import FINE, FOUND, CarefulGroup, CouldNotRun, could_not_run, said_as, told_when_interrupted
from stud_cli.files import require_places, write_whole
from stud_cli.load import asked
from stud_cli.load.at_the_end import look_at_the_log
from stud_cli.load.places import opened
from stud_cli.load.showing import show
from stud_cli.load.workers import play
from stud_cli.local.demo import RULESETS
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.output import JsonFlag, console, last_line, notes, table_of
from stud_client import StudError
from stud_load import Chaos, LoadPlan, Report, parse_rate
from stud_load.comparing import compared, differences
from stud_load.merging import merged
from stud_load.page import page
from stud_load.panel import Panel
from stud_load.plan import Transport
from stud_load.report import as_json, read, summary
from stud_load.running import Tell
from stud_service.event_loop import new_event_loop

INTERRUPTED: Final = "interrupted: there is no report; its tables were closed, as far as that could be asked for"

app = typer.Typer(cls=CarefulGroup, invoke_without_command=True)


@app.callback()
def load(
    ctx: typer.Context,
    tables: asked.Tables = 8,
    players: asked.Players = 8,
    spectators: asked.Spectators = 0,
    ruleset: asked.Ruleset = "playnow",
    rate: asked.RateText = "max",
    ramp: asked.Ramp = 2.0,
    warm: asked.Warm = 2.0,
    seconds: asked.Seconds = 20.0,
    processes: asked.Processes = 1,
    transport: asked.TransportName = Transport.PLAY,
    plain: asked.Plain = False,
    seed: asked.Seed = 1,
    ask_antes: asked.AskAntes = False,
    reconnect: asked.Reconnect = 0.0,
    slow_readers: asked.SlowReaders = 0,
    leave_rejoin: asked.LeaveRejoin = False,
    bad_commands: asked.BadCommands = False,
    run: asked.Run = None,
    endpoints: asked.Endpoints = None,
    keys: asked.Keys = None,
    out: asked.Out = None,
    html: asked.Html = None,
    json_output: JsonFlag = False,
) -> None:
    """Fill a system with bots, measure it, and check what they played.

    Without --run and --endpoints it starts a system of its own in a temporary directory. Exit code 1 = something
    happened that must not: a version was missed, a hand not verified, a book that does not agree.

    Example: stud load --tables 16 --players 8 --rate 200/s --seconds 20 --json
    """
    if ctx.invoked_subcommand is not None:
        return
    if endpoints is not None and not endpoints.strip():
        could_not_run("--endpoints is empty: name services and addresses, or leave it out to have a system started")
    if ruleset not in RULESETS:
        could_not_run(f"unknown ruleset {ruleset!r}: want {' or '.join(RULESETS)}")
    with said_as("{}", ValueError):
        plan = LoadPlan(
            tables=tables,
            players=players,
            spectators=spectators,
            ruleset=ruleset,
            rate=parse_rate(rate),
            ramp_s=ramp,
            warm_s=warm,
            seconds=seconds,
            transport=transport,
            seed=seed,
            ask_antes=ask_antes,
            plain=plain,
            chaos=Chaos(reconnect, slow_readers, leave_rejoin, bad_commands),
            run_id=os.urandom(3).hex(),
        ).check()
        plan.shares(processes)
    require_places(out, html)
    with said_as("{}", StudError), told_when_interrupted(lambda: INTERRUPTED):
        work = _load(plan, processes, (run, endpoints or "", keys), quiet=json_output)
        report = run_with_one_stop(work, new_event_loop)
    _hand_over(report, out, html, json_output)


async def _load(plan: LoadPlan, processes: int, where: tuple[Path | None, str, Path | None], *, quiet: bool) -> Report:
    async with opened(*where, None if quiet else console) as place:
        try:
            with _told(plan, quiet=quiet) as tell:
                report = await play(plan, processes, place, tell)
        except (StudError, CouldNotRun) as error:
            if troubles := await place.troubles():
                raise CouldNotRun("\n".join([str(error), *troubles])) from error
            raise
        report.notes += await place.troubles()
        await look_at_the_log(report, place, None if quiet else console)
    return report


@contextlib.contextmanager
def _told(plan: LoadPlan, *, quiet: bool) -> Iterator[Tell]:
    """Show how far it is: a panel where somebody is watching, else nothing but the phases."""
    if quiet:
        yield lambda _: None
    elif sys.stdout.isatty():
        panel = Panel(plan)
        with Live(panel, console=console, refresh_per_second=4):
            yield panel.take
    else:
        phase = ""

        def say(progress: object) -> None:
            nonlocal phase
            now = getattr(progress, "phase", "")
            if now != phase:
                phase = now
                console.print(now, markup=False)

        yield say


@app.command()
def compare(first: asked.File, second: asked.File, json_output: JsonFlag = False) -> None:
    """Print two reports beside each other, and the second as a share of the first.

    Example: stud load compare before.json after.json
    """
    one, other = _read(first), _read(second)
    for difference in differences(one, other):
        notes.print(f"[yellow]note[/yellow] not the same: {escape(difference)}", soft_wrap=True)
    rows = compared(one, other)
    if json_output:
        figures = [msgspec.to_builtins(row) | {"ratio": row.ratio} for row in rows]
        last_line({"figures": figures, "different": differences(one, other)})
        return
    shown = [
        (
            row.name,
            row.unit,
            f"{row.first:,.1f}",
            f"{row.second:,.1f}",
            "" if row.ratio is None else f"{row.ratio:.2f}",
        )
        for row in rows
    ]
    columns = ("figure", "unit", first.name, second.name, "second / first")
    console.print(table_of("Compared", columns, shown, right=columns[2:]))


@app.command()
def merge(
    reports: Annotated[list[Path], typer.Argument(help="Reports that --out wrote, of machines that played together.")],
    out: asked.Out = None,
    html: asked.Html = None,
    json_output: JsonFlag = False,
) -> None:
    """Add up reports of one load that was played from several machines. Exit code 1 = one of them found something.

    Example: stud load merge one.json two.json --out whole.json --html whole.html
    """
    require_places(out, html)
    with said_as("{}", ValueError):
        whole = merged([_read(path) for path in reports])
    _hand_over(whole, out, html, json_output)


@app.command("html")
def html_of(
    report: asked.File,
    out: Annotated[Path, typer.Argument(help="Where to write the page.")],
    json_output: JsonFlag = False,
) -> None:
    """Write a report as a page with plots, one file that needs no network.

    Example: stud load html report.json report.html
    """
    require_places(out)
    _write_page(_read(report), out)
    if json_output:
        last_line({"written": str(out)})


def _read(path: Path) -> Report:
    with said_as(f"{path} cannot be read: {{}}", OSError), said_as("{}", ValueError):
        return read(path)


def _write_page(report: Report, path: Path) -> None:
    write_whole(path, page(report).encode())


def _hand_over(report: Report, out: Path | None, html: Path | None, json_output: bool) -> None:
    """Print and write a report, and end as it says. A report that cannot be written was printed at least."""
    show(report, notes if json_output else console)
    if out is not None:
        write_whole(out, as_json(report))
    if html is not None:
        _write_page(report, html)
    if json_output:
        last_line(summary(report))
    raise typer.Exit(FINE if report.ok else FOUND)

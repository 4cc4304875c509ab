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

from stud_cli.exit_codes import FINE, FOUND, CarefulGroup, could_not_run, said_as, told_when_interrupted
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
from stud_load.report import read, summary, write
from stud_load.running import Tell

INTERRUPTED: Final = "interrupted: there is no report; its tables were closed, as far as that could be asked for"

app = typer.Typer(cls=CarefulGroup, invoke_without_command=True)

Out = Annotated[Path | None, typer.Option("--out", help="Write the whole report here, as JSON.", show_default=False)]
Html = Annotated[Path | None, typer.Option("--html", help="Write it here as a page with plots.", show_default=False)]
File = Annotated[Path, typer.Argument(help="A report that --out wrote.")]


@app.callback()
def load(
    ctx: typer.Context,
    tables: Annotated[int, typer.Option(help="Tables.", min=1)] = 8,
    players: Annotated[int, typer.Option(help="Players at each table.", min=2, max=8)] = 8,
    spectators: Annotated[int, typer.Option(help="Spectators of each table.", min=0)] = 0,
    ruleset: Annotated[str, typer.Option(help="playnow or william_hill.")] = "playnow",
    rate: Annotated[
        str,
        typer.Option(help="human (think times of 3 s on average), max, or actions a second over all tables: 250/s."),
    ] = "max",
    ramp: Annotated[float, typer.Option(help="Seconds over which tables begin.", min=0)] = 2.0,
    warm: Annotated[float, typer.Option(help="Seconds from then until it is measured.", min=0)] = 2.0,
    seconds: Annotated[float, typer.Option(help="Seconds that are measured.", min=1)] = 20.0,
    processes: Annotated[int, typer.Option(help="Processes that the bots share.", min=1)] = 1,
    transport: Annotated[
        Transport, typer.Option(help="play: streams; unary: a call for each command.")
    ] = Transport.PLAY,
    seed: Annotated[int, typer.Option(help="Seed of choices and think times; decks are always random.")] = 1,
    reconnect: Annotated[
        float, typer.Option(help="Chance (0 to 1) for each viewer and hand that the stream is cut.", min=0, max=1)
    ] = 0.0,
    slow_readers: Annotated[int, typer.Option(help="Spectators that take an update a second.", min=0)] = 0,
    leave_rejoin: Annotated[bool, typer.Option("--leave-rejoin", help="Players leave and sit down again.")] = False,
    bad_commands: Annotated[bool, typer.Option("--bad-commands", help="Players send wrong commands too.")] = False,
    ask_antes: Annotated[bool, typer.Option("--ask-antes", help="Players post each ante by themselves.")] = False,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="File of a running `stud up`: var/stud.json.", show_default=False),
    ] = None,
    endpoints: Annotated[str, typer.Option(help="Another system: table=HOST:PORT,wallet=HOST:PORT,…")] = "",
    keys: Annotated[
        Path | None, typer.Option("--keys", help="Directory of the key that tokens are made with.", show_default=False)
    ] = None,
    out: Out = None,
    html: Html = None,
    json_output: JsonFlag = False,
) -> None:
    """Fill a system with bots, measure it, and check what they played.

    Without --run and --endpoints it starts a system of its own in a temporary directory. Exit code 1 = something
    happened that must not: a version was missed, a hand not verified, a book that does not agree.

    Example: stud load --tables 16 --players 8 --rate 200/s --seconds 20 --json
    """
    if ctx.invoked_subcommand is not None:
        return
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
            chaos=Chaos(reconnect, slow_readers, leave_rejoin, bad_commands),
            run_id=os.urandom(3).hex(),
        ).check()
        plan.shares(processes)
    _require_places(out, html)
    with said_as("{}", StudError), told_when_interrupted(lambda: INTERRUPTED):
        report = run_with_one_stop(_load(plan, processes, (run, endpoints, keys), quiet=json_output))
    _hand_over(report, out, html, json_output)


async def _load(plan: LoadPlan, processes: int, where: tuple[Path | None, str, Path | None], *, quiet: bool) -> Report:
    async with opened(*where, None if quiet else console) as place:
        with _told(plan, quiet=quiet) as tell:
            report = await play(plan, processes, place, tell)
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
def compare(first: File, second: File, json_output: JsonFlag = False) -> None:
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
    out: Out = None,
    html: Html = None,
    json_output: JsonFlag = False,
) -> None:
    """Add up reports of one load that was played from several machines. Exit code 1 = one of them found something.

    Example: stud load merge one.json two.json --out whole.json --html whole.html
    """
    with said_as("{}", ValueError):
        whole = merged([_read(path) for path in reports])
    _hand_over(whole, out, html, json_output)


@app.command("html")
def html_of(
    report: File, out: Annotated[Path, typer.Argument(help="Where to write the page.")], json_output: JsonFlag = False
) -> None:
    """Write a report as a page with plots, one file that needs no network.

    Example: stud load html report.json report.html
    """
    _write_page(_read(report), out)
    if json_output:
        last_line({"written": str(out)})


def _read(path: Path) -> Report:
    with said_as(f"{path} cannot be read: {{}}", OSError), said_as("{}", ValueError):
        return read(path)


def _write_page(report: Report, path: Path) -> None:
    with said_as(f"{path} cannot be written ({{}})", OSError):
        path.write_text(page(report))


def _require_places(*paths: Path | None) -> None:
    """Say now, and not after the run, that a report cannot be kept."""
    for path in paths:
        if path is not None and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
            could_not_run(f"{path} cannot be written: name a file in a directory that can")


def _hand_over(report: Report, out: Path | None, html: Path | None, json_output: bool) -> None:
    """Write and print a report, and end as it says."""
    if out is not None:
        with said_as(f"{out} cannot be written ({{}})", OSError):
            write(report, out)
    if html is not None:
        _write_page(report, html)
    show(report, notes if json_output else console)
    if json_output:
        last_line(summary(report))
    raise typer.Exit(FINE if report.ok else FOUND)

"""``stud demo``: the whole thing, watched: bots play real hands over gRPC, then every chip is counted."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from stud_cli.drawing import draw, money
from stud_cli.exit_codes import FINE, FOUND, could_not_run, said_as, told_when_interrupted
from stud_cli.inspect.audit import Audit, audit_log, show
from stud_cli.inspect.verdicts import Verdicts, read_verdicts
from stud_cli.local.callers import Callers
from stud_cli.local.checking import checked_by_calls
from stud_cli.local.demo_table import DemoTable, TablePlan
from stud_cli.local.keys import keys_dir
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.local.supervisor import keep
from stud_cli.local.system import LocalSystem
from stud_cli.operate.common import EndpointsOption
from stud_cli.output import JsonFlag, command, console, last_line, notes, table_of
from stud_cli.where import endpoints
from stud_client import StudError
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import EventLogError

T = TypeVar("T")
RULESETS = ("playnow", "william_hill")
TABLE_LINES = 14
"""What one drawn table with eight players needs of a terminal."""

TURN_S = 4.0


def demo(
    hands: Annotated[int, typer.Option(help="Hands to play at each table.", min=1)] = 20,
    players: Annotated[int, typer.Option(help="Bots at each table.", min=2, max=8)] = 8,
    ruleset: Annotated[str, typer.Option(help="playnow or william_hill; empty = a table of each.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of the bots' choices; decks are always random.")] = 1,
    data: Annotated[Path | None, typer.Option(help="New directory for its data.", show_default=False)] = None,
    running: Annotated[bool, typer.Option("--running", help="Play at the system that runs; start none.")] = False,
    where: EndpointsOption = "",
    keys: Annotated[
        Path | None, typer.Option(help="Directory of the key that tokens are made with, for --running.")
    ] = None,
    json_output: JsonFlag = False,
) -> None:
    """Start everything, let bots play, close the tables, cash everybody out, and audit.

    With --running, or with --endpoints, it plays at a system that is there, at tables and with accounts of its own, and
    checks every balance by what the services say; money for it is made up (EUR), so let it play where none is real.

    Example: stud demo --hands 20 --players 8 --ruleset william_hill --json
    """
    if ruleset and ruleset not in RULESETS:
        could_not_run(f"unknown ruleset {ruleset!r}: want {' or '.join(RULESETS)}")
    if running or where:
        raise typer.Exit(
            _elsewhere(where, keys, [ruleset] if ruleset else RULESETS, (hands, players, seed), json_output)
        )
    directory = new_directory(data)
    plans = [TablePlan(name, hands, players, seed) for name in ([ruleset] if ruleset else RULESETS)]
    kept = f"interrupted; what was played is kept in {directory}"
    with said_as("{}", StudError, EventLogError), told_when_interrupted(lambda: kept):
        code = run_with_one_stop(_demo(directory, plans, json_output))
    raise typer.Exit(code)


def _elsewhere(where: str, keys: Path | None, names: Sequence[str], of_all: tuple[int, int, int], quiet: bool) -> int:
    """Play at a system that is there."""
    suffix = f"-{secrets.token_hex(3)}"
    plans = [TablePlan(name, *of_all, suffix=suffix) for name in names]
    with said_as(
        "no running system can be asked ({}): start one with `stud up`, or name its key with --keys", ValueError
    ):
        callers = Callers(endpoints(where), keys_dir() if keys is None else keys)
    kept = f"interrupted: tables demo-…{suffix} are as they were, `stud table close` ends them"
    with said_as("{}", StudError), told_when_interrupted(lambda: kept):
        return run_with_one_stop(_demo_elsewhere(callers, plans, quiet))


async def _demo_elsewhere(callers: Callers, plans: list[TablePlan], quiet: bool) -> int:
    began = time.monotonic()
    try:
        tables = [DemoTable(callers, plan) for plan in plans]
        await _play(tables, None, quiet)
        found, verdicts = await checked_by_calls(callers, [table.table_id for table in tables])
        for table in tables:
            await table.check_balances(found, verdicts)
    finally:
        await callers.close()
    if not quiet:
        _show_players(tables)
    return _ended(tables, found, verdicts, began, quiet)


def new_directory(named: Path | None, prefix: str = "demo") -> Path:
    """Make the directory of this run; without a name, one that nobody else has."""
    first = named or Path("var") / f"{prefix}-{dt.datetime.now(dt.UTC):%Y%m%d-%H%M%S}"
    with said_as(f"{first} cannot be made a data directory ({{}}): name another one with --data", OSError):
        if named is not None:
            named.mkdir(parents=True, exist_ok=True)
            if any(named.iterdir()):
                could_not_run(f"{named} is not empty: name a new directory")
            return named
        names = itertools.chain([first], (Path(f"{first}_{number}") for number in itertools.count(2)))
        return next(path for path in names if _made(path))


def _made(path: Path) -> bool:
    """Make a directory; False where there is one already."""
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        return False
    return True


async def _demo(directory: Path, plans: list[TablePlan], quiet: bool) -> int:
    began = time.monotonic()
    say = (lambda _: None) if quiet else console.print
    async with LocalSystem(directory, report=say, console=None if quiet else console) as system:
        callers = Callers(system.addressed(), system.keys_dir)
        try:
            tables = [DemoTable(callers, plan) for plan in plans]
            await _play(tables, system, quiet)
            log = await RedisEventLog.connect(system.redis_url)
            try:
                found, ledgers = await audit_log(log)
                verdicts = await read_verdicts(log)
            finally:
                await log.close()
            for table in tables:
                await table.check_balances(found, verdicts)
        finally:
            await callers.close()
    if not quiet:
        _show_players(tables)
        show(found, ledgers)
    _show_what_is_kept(tables, directory, notes if quiet else console)
    return _ended(tables, found, verdicts, began, quiet)


def _ended(tables: list[DemoTable], found: Audit, verdicts: Verdicts, began: float, quiet: bool) -> int:
    """Say how it ended; returns the exit code."""
    verified = sum(len(verdicts.final.get(table.table_id, {})) for table in tables)
    expected = sum(table.plan.hands for table in tables)
    hands = sum(table.hands_played for table in tables)
    if quiet:
        last_line(
            {
                "hands": hands,
                "verified": verified,
                "disputed": found.disputed,
                "ledger_sum": found.ledger_sum,
                "seconds": round(time.monotonic() - began, 1),
            }
        )
        for problem in found.problems:
            notes.print(f"[red]problem[/red] {escape(problem)}", soft_wrap=True)
    return FINE if found.ok and verified == hands == expected else FOUND


async def _play(tables: list[DemoTable], system: LocalSystem | None, quiet: bool) -> None:
    """Play all tables at once, drawing them where somebody is watching; a system of its own is kept alive meanwhile."""
    keeper = asyncio.create_task(keep(system) if system is not None else asyncio.Event().wait())
    players = asyncio.gather(*(table.play() for table in tables))
    keeper.add_done_callback(lambda _: players.cancel())
    try:
        if quiet or not sys.stdout.isatty():
            await _with_progress(tables, players, quiet)
        else:
            await _with_live_tables(tables, players)
    except asyncio.CancelledError:
        if keeper.done():
            keeper.result()  # what could not be kept is why nobody plays on
        raise
    finally:
        keeper.cancel()
        players.cancel()
        await asyncio.gather(keeper, players, return_exceptions=True)


async def _with_progress(tables: list[DemoTable], players: asyncio.Future[list[None]], quiet: bool) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=quiet) as progress:
        bars = {table: progress.add_task(table.table_id, total=table.plan.hands) for table in tables}
        shown = dict.fromkeys(tables, 0)
        while not players.done():
            await asyncio.wait({players}, timeout=0.25)
            for table, bar in bars.items():
                progress.update(bar, completed=table.hands_played)
                if not quiet and table.view is not None and table.hands_played > shown[table]:
                    shown[table] = table.hands_played
                    if table.hands_played in {1, table.plan.hands}:
                        progress.console.print(draw(table.view.view, table.view.version))
    await players


async def _with_live_tables(tables: list[DemoTable], players: asyncio.Future[list[None]]) -> None:
    with Live(console=console, refresh_per_second=8) as live:
        while not players.done():
            await asyncio.wait({players}, timeout=0.12)
            views = [table.view for table in tables if table.view is not None]
            shown = _that_fit(views, time.monotonic())
            live.update(Group(*(draw(update.view, update.version) for update in shown)))
    await players


def _that_fit(views: list[T], now_s: float) -> list[T]:
    """All tables where the terminal is high enough, else each in its turn."""
    at_once = max(1, console.height // TABLE_LINES)
    if len(views) <= at_once:
        return views
    first = int(now_s / TURN_S) * at_once % len(views)
    return views[first : first + at_once]


def _show_players(tables: list[DemoTable]) -> None:
    for table in tables:
        rows = [
            (name, money(line.deposited), money(line.delta), money(line.balance), "yes" if line.agrees else "NO")
            for name, line in sorted(table.balances.items())
        ]
        columns = ("player", "deposited", "won or lost", "balance", "agrees")
        console.print(table_of(table.table_id, columns, rows, right=columns[1:4]))


def _show_what_is_kept(tables: list[DemoTable], directory: Path, out: Console) -> None:
    for table in tables:
        out.print(
            f"replay it: {command()} replay {table.table_id} --data {directory} --at {table.last_version}",
            markup=False,
            soft_wrap=True,
        )
    out.print(f"check it:  {command()} verify --data {directory}", markup=False, soft_wrap=True)

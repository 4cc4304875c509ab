"""``stud hands``: which hands were there? Answered from an index that is brought up to date first."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from stud_cli.drawing import money
from stud_cli.exit_codes import FINE, FOUND, could_not_run, said_as
from stud_cli.index import store as stores
from stud_cli.index import updating
from stud_cli.index.asking import account_id, minor_units, moment_ms, table_id
from stud_cli.index.finding import Found, Wanted, find, knows_player, knows_table
from stud_cli.index.gathering import State
from stud_cli.index.store import Store
from stud_cli.index.updating import Update, bring_up_to_date
from stud_cli.inspect.log import Opened, open_log
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.output import DataDir, JsonFlag, command, console, last_line, notes
from stud_eventlog.types import EventLogError

MOST: Final = 10_000
"""Hands of one answer. Whoever wants all of them pages with --skip."""

NAME: Final = Path("index", "hands.sqlite3")
"""Where the index is, below the data directory."""

SHOWN_AFTER_COMMITS: Final = 2_000
"""Reading fewer takes no time worth a bar."""


class Answer(msgspec.Struct):
    """What was found, and what was done for it."""

    found: Found
    update: Update
    path: Path | None


def hands(
    table: Annotated[str | None, typer.Option(help="Only this table.")] = None,
    player: Annotated[str | None, typer.Option(help="Only hands into which this account was dealt.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Ended at this moment or later: ISO 8601, UTC unless it says.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Ended before this moment.")] = None,
    min_pot: Annotated[str | None, typer.Option(help="Least pot, rake included: 1250 (minor units) or 12.50.")] = None,
    showdown: Annotated[bool, typer.Option("--showdown", help="Only hands that came to a showdown.")] = False,
    disputed: Annotated[bool, typer.Option("--disputed", help="Only hands that are or were disputed.")] = False,
    voided: Annotated[bool, typer.Option("--voided", help="Only hands that do not count.")] = False,
    limit: Annotated[int, typer.Option(help="How many to show, newest first.", min=1, max=MOST)] = 50,
    skip: Annotated[int, typer.Option(help="How many to pass before that.", min=0, max=2**62)] = 0,
    data: DataDir = None,
    json_output: JsonFlag = False,
) -> None:
    """Find hands over all tables, newest first: by player, time, pot, how they ended.

    The answer comes from an index below the data directory (index/hands.sqlite3), which is brought up to date first.
    It is made from the log and may be deleted at any time. `stud replay TABLE --hand N` looks closer.

    Example: stud hands --player alice --min-pot 100.00 --since 2026-03-31
    """
    wanted = _wanted(table, player, since, until, min_pot)
    wanted = msgspec.structs.replace(wanted, showdown=showdown, disputed=disputed, voided=voided)
    with said_as("the hands cannot be listed: {}", EventLogError, ValueError):
        answer = run_with_one_stop(_answer(wanted, limit, skip, data, quiet=json_output))
    for unread in answer.update.unread:
        what = f"table {unread.table}: its log is broken at version {unread.version}: {unread.why}"
        notes.print(f"problem {what}", markup=False, soft_wrap=True)
    if json_output:
        last_line(_plain(answer, skip))
    else:
        _show(answer, wanted, skip)
    raise typer.Exit(FOUND if answer.update.unread else FINE)


def _wanted(table: str | None, player: str | None, since: str | None, until: str | None, min_pot: str | None) -> Wanted:
    """Read what was asked for; what was given and is empty, a variable that nobody set, is not the same as all."""

    def read(option: str, text: str | None, reader: Callable[[str], int]) -> int | None:
        with said_as(f"{option} {{}}", ValueError):
            return None if text is None else reader(text)

    for option, text, check in (("--table", table, table_id), ("--player", player, account_id)):
        with said_as(f"{option} {{}}", ValueError):
            if text is not None:
                check(text)
    asked = Wanted(
        table or "",
        player or "",
        read("--since", since, moment_ms),
        read("--until", until, moment_ms),
        read("--min-pot", min_pot, minor_units),
    )
    if asked.since_ms is not None and asked.until_ms is not None and asked.since_ms >= asked.until_ms:
        could_not_run(f"nothing ends at {since} or later and before {until}: want --since earlier than --until")
    return asked


# --- the index -------------------------------------------------------------------------------------------------------


async def _answer(wanted: Wanted, limit: int, skip: int, data: Path | None, *, quiet: bool) -> Answer:
    async with open_log(data) as opened:
        path = opened.data_dir / NAME
        try:
            try:
                return await _from_file(opened, path, wanted, limit, skip, quiet=quiet)
            except sqlite3.Error as error:
                if not stores.is_damaged(error):
                    raise
                stores.discard(path)  # found out only now: once more, from the log
                return await _from_file(opened, path, wanted, limit, skip, quiet=quiet)
        except (OSError, sqlite3.OperationalError) as error:
            why = f"no index can be kept in {path.parent} ({_in_words(error)}): it is made in memory, for this once"
        notes.print(f"[yellow]note[/yellow] {why}", soft_wrap=True)
        with stores.in_memory() as store:
            return await _from(opened, store, wanted, limit, skip, quiet=quiet)


async def _from_file(opened: Opened, path: Path, wanted: Wanted, limit: int, skip: int, *, quiet: bool) -> Answer:
    with stores.open_store(path) as store:
        return await _from(opened, store, wanted, limit, skip, quiet=quiet)


async def _from(opened: Opened, store: Store, wanted: Wanted, limit: int, skip: int, *, quiet: bool) -> Answer:
    with _progress(quiet=quiet) as show:
        update = await bring_up_to_date(opened.log, store, show)
    if wanted.table and not knows_table(store, wanted.table):
        could_not_run(f"there is no table {wanted.table!r} in this log: `stud tables --all` lists them")
    if wanted.player and not knows_player(store, wanted.player):
        could_not_run(f"nobody called {wanted.player!r} was ever dealt a hand in this log")
    return Answer(find(store, wanted, limit, skip), update, store.path)


@contextlib.contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[updating.Progress], None]]:
    """A bar with hands a second, where there is something to wait for and somebody to see it."""
    speed = TextColumn("{task.fields[speed]}")
    columns = (TextColumn("index of hands"), BarColumn(), speed, TimeRemainingColumn())
    disable = quiet or not notes.is_terminal
    began = time.monotonic()
    with Progress(*columns, console=notes, disable=disable, transient=True) as bar:
        task = bar.add_task("", visible=False, speed="")

        def show(at: updating.Progress) -> None:
            if at.of >= SHOWN_AFTER_COMMITS:
                rate = at.hands / max(time.monotonic() - began, 0.001)
                said = f"{at.hands:,} hands, {rate:,.0f} a second"
                bar.update(task, visible=True, total=at.of, completed=at.commits, speed=said)

        yield show


def _in_words(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


# --- what is shown ---------------------------------------------------------------------------------------------------


def _plain(answer: Answer, skip: int) -> dict[str, Any]:
    found, update = answer.found, answer.update
    return {
        "hands": found.hands,
        "total": found.total,
        "more": max(found.total - skip - len(found.hands), 0),
        "tables": update.tables,
        "unread": [msgspec.structs.asdict(unread) for unread in update.unread],
        "index": {
            "path": None if answer.path is None else str(answer.path),
            "commits_read": update.progress.commits,
            "hands_read": update.progress.hands,
            "tables_anew": update.anew,
        },
    }


def _show(answer: Answer, wanted: Wanted, skip: int) -> None:
    found = answer.found
    console.print(_listed(found, wanted.player))
    more = found.total - skip - len(found.hands)
    counted = f"{len(found.hands):,} of {found.total:,} hands"
    if more > 0:
        console.print(f"{counted}; {more:,} more: --skip {skip + len(found.hands)}")
    else:
        console.print(counted)
    if found.hands:
        first = found.hands[0]
        closer = f"{command()} replay {first['table']} --hand {first['hand_no']}"
        console.print(f"to look closer: {closer}", markup=False, soft_wrap=True)


def _listed(found: Found, player: str) -> Table:
    out = Table(title="Hands", title_justify="left", header_style="bold", box=None, padding=(0, 2, 0, 0))
    out.add_column("ended (UTC)", no_wrap=True)
    out.add_column("table", no_wrap=True)
    for name in ("hand", "pot", "net") if player else ("hand", "pot"):
        out.add_column(name, justify="right", no_wrap=True)
    out.add_column("won by", min_width=14, overflow="fold")
    out.add_column("end")
    for hand in found.hands:
        out.add_row(*[Text(cell) for cell in _row(hand, player)])
    return out


def _row(hand: dict[str, Any], player: str) -> tuple[str, ...]:
    ended = dt.datetime.fromtimestamp(hand["ended_at_ms"] / 1000, dt.UTC)
    won = [who for who in hand["players"] if who["delta"] > 0]
    net = [money(sum(who["delta"] for who in hand["players"] if who["account"] == player))] if player else []
    return (
        f"{ended:%Y-%m-%d %H:%M}",
        hand["table"],
        str(hand["hand_no"]),
        f"{money(hand['pot'])} {hand['currency']}",
        *net,
        ", ".join(f"{who['account']} +{money(who['delta'])}" for who in won),
        _end_of(hand),
    )


def _end_of(hand: dict[str, Any]) -> str:
    """How it ended, and what the referee and the operators say where that is not simply that it is right."""
    if hand["voided"] and not hand["disputed"]:
        return "void"
    end = "showdown" if hand["showdown"] else "uncalled"
    return end if hand["state"] == State.VERIFIED.word else f"{end}, {hand['state'].replace('_', ' ')}"

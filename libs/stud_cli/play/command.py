"""``stud play``: sit down at a table and play, at a terminal."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.exit_codes import FINE, FOUND, could_not_run, said_as
from stud_cli.local.callers import Callers
from stud_cli.local.demo import new_directory
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.operate.common import EndpointsOption, KeysOption, TokenFileOption, YesOption
from stud_cli.operate.completing import tables
from stud_cli.operate.desk import be_sure
from stud_cli.operate.repeating import keepable
from stud_cli.output import JsonFlag, command, console, last_line
from stud_cli.play import place
from stud_cli.play.company import Company, Pace
from stud_cli.play.limits import suggested
from stud_cli.play.outcome import Outcome, audited
from stud_cli.play.purse import Purse, sit_down, stand_up
from stud_cli.play.seen import Seen
from stud_cli.play.table import TablePlan, begin, close_table, look, open_table
from stud_client import StudClient, StudError
from stud_core.amounts import TEST_CURRENCY
from stud_core.presets import RULESETS

HERO: Final = "hero"
"""Whoever plays and says no name."""

OWN_TABLE: Final = "play"
MOST_CLOCK_S: Final = 600


class Asked(msgspec.Struct, frozen=True):
    """What was asked for. Amounts in minor units; ``buy_in`` 0 = what is usual."""

    table: str
    bots: int
    account: str
    ruleset: str
    small_bet: int
    buy_in: int
    clock_s: int
    think_s: float
    plain: bool
    yes: bool
    json_output: bool


def play(
    ctx: typer.Context,
    table: Annotated[
        str, typer.Option("--table", help="A table that is there; else one is opened.", autocompletion=tables)
    ] = "",
    bots: Annotated[int, typer.Option("--bots", help="Bots that sit down too.", min=0, max=7)] = 0,
    account: Annotated[
        str, typer.Option("--account", help="Who you are at the table.", show_default=f"STUD_AS, else {HERO}")
    ] = "",
    ruleset: Annotated[str, typer.Option(help="Rules of a new table: playnow or william_hill.")] = "playnow",
    small_bet: Annotated[
        int, typer.Option(help="Lower limit of a new table in minor units; the higher is twice that.", min=2)
    ] = 500,
    buy_in: Annotated[int, typer.Option(help="What to sit down with, minor units; 0 = twice the least.", min=0)] = 0,
    clock: Annotated[
        int,
        typer.Option(help="Seconds for every answer at a new table; 0 = no deadline.", min=0, max=MOST_CLOCK_S),
    ] = 30,
    think_ms: Annotated[int, typer.Option(help="Milliseconds a bot thinks on average.", min=0)] = 1500,
    plain: Annotated[bool, typer.Option("--ascii", help="Suits as letters: Ah instead of A♥.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="New directory for the data of a system of its own.", show_default=False)
    ] = None,
    token_file: TokenFileOption = None,
    keys: KeysOption = None,
    yes: YesOption = False,
    where: EndpointsOption = "",
    json_output: JsonFlag = False,
) -> None:
    """Play stud at a terminal: draws the table, and your keys act.

    With --bots and no services running it starts a system of its own, for play money. At services that run it sits down
    at --table, or with --bots at a new one. ? shows all keys, q leaves with your chips.

    Example: stud play --bots 5
    """
    keepable(ctx)
    if ruleset not in RULESETS:
        could_not_run(f"unknown ruleset {ruleset!r}: want {' or '.join(RULESETS)}")
    account = account or os.environ.get("STUD_AS", "")
    asked = Asked(table, bots, account, ruleset, small_bet, buy_in, clock, think_ms / 1000, plain, yes, json_output)
    running = place.is_named(where)
    _check(asked, running=running, token=place.has_token(token_file), data=data)
    at_a_screen()
    with said_as("{}", StudError):
        if not running:
            code = run_with_one_stop(_alone(asked, new_directory(data, "play")))
        elif place.has_token(token_file):
            name, client = place.token_client(where, account, token_file)
            code = run_with_one_stop(_with_token(asked, name, client))
        else:
            code = run_with_one_stop(_with_key(asked, place.callers_of(where, keys)))
    raise typer.Exit(code)


def _check(asked: Asked, *, running: bool, token: bool, data: Path | None) -> None:
    """Refuse what cannot be meant together, before anything is started."""
    if not running:
        if asked.table:
            could_not_run(f"no services run here, so there is no table {asked.table!r}: `stud play --bots 5` opens one")
        if not asked.bots:
            could_not_run("nobody would play with you: `stud play --bots 5` starts a system of its own with five bots")
        return
    if data is not None:
        could_not_run("--data is for a system of its own, and services run already: leave it out")
    if not (asked.table or asked.bots):
        could_not_run("name a table with --table (`stud tables` lists them), or have one opened with --bots 5")
    if token and (asked.bots or not asked.table):
        could_not_run("a player's token opens no table and makes no bots: name a table with --table, without --bots")


def at_a_screen() -> None:
    """Refuse where nothing can be drawn, or no key pressed. Raises CouldNotRun."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        could_not_run("a table is drawn and played at a terminal, and here is none: `stud bots` plays without one")


async def _alone(asked: Asked, directory: Path) -> int:
    """Play at a system of one's own, which is audited and stopped afterwards."""
    async with place.own_system(directory, quiet=asked.json_output) as (system, keeper):
        callers = Callers(system.addressed(), system.keys_dir)
        try:
            outcome = await _at_own_table(asked, callers, OWN_TABLE, asked.account or HERO, keeper)
            problems = await audited(system.redis_url)
        finally:
            await callers.close()
    return _told(asked, outcome, problems, directory)


async def _with_key(asked: Asked, callers: Callers) -> int:
    """Play at services that run, with their development key: money is made up."""
    try:
        if not asked.table:
            name = f"{OWN_TABLE}-{secrets.token_hex(3)}"
            outcome = await _at_own_table(asked, callers, name, asked.account or HERO, None)
        else:
            outcome = await _at_their_table(asked, callers)
    finally:
        await callers.close()
    return _told(asked, outcome, (), None)


async def _with_token(asked: Asked, name: str, client: StudClient) -> int:
    """Play with one's own token and money."""
    try:
        view = await look(client, asked.table)
        purse = Purse(client, name, view.config.currency)
        await _seated(client, purse, asked, view)
        outcome = await _screen(asked, client, purse, asked.table, stays=True)
    finally:
        await client.close()
    return _told(asked, outcome, (), None)


async def _at_own_table(
    asked: Asked, callers: Callers, table: str, account: str, keeper: asyncio.Task[None] | None
) -> Outcome:
    """Open a table, seat everybody, play, and close it."""
    plan = TablePlan(table, asked.ruleset, asked.small_bet, asked.clock_s)
    view = await open_table(callers.operator, plan)
    company = _company(asked, callers, table, alone=keeper is not None)
    names, player = company.names(asked.bots, account), callers.player(account)
    purse = Purse(player, account, plan.currency, callers.cashier)
    try:
        await asyncio.gather(company.sit(names, view), _seated(player, purse, asked, view))
        company.play(names)
        await begin(callers.operator, table)
        return await _screen(asked, player, purse, table, watch=company.pace.watch, keeper=keeper)
    finally:
        company.pace.hurry()
        if keeper is None or not keeper.done():
            await stand_up(player, table)  # else a hand would wait for an answer that nobody gives
            await close_table(callers.operator, table)
        await company.dismiss()


async def _at_their_table(asked: Asked, callers: Callers) -> Outcome:
    """Sit down at a table that is there, with bots where they are asked for."""
    account, table = asked.account or HERO, asked.table
    view = await look(callers.operator, table)
    if view.config.currency != TEST_CURRENCY and not asked.yes:
        be_sure(f"Deposits in {view.config.currency} are made up.")
    player = callers.player(account)
    purse = Purse(player, account, view.config.currency, callers.cashier)
    company = _company(asked, callers, table, alone=False)
    names = company.names(asked.bots, account)
    try:
        await _seated(player, purse, asked, view)
        await company.sit(names, view)
        company.play(names)
        return await _screen(asked, player, purse, table, stays=True, watch=company.pace.watch)
    finally:
        company.pace.hurry()
        await company.leave(names)
        await company.dismiss()


def _company(asked: Asked, callers: Callers, table: str, *, alone: bool) -> Company:
    seed = secrets.randbits(32)
    pace = Pace(asked.think_s, random.Random(seed))  # noqa: S311 - play, not dealing
    return Company(callers, table, pace, seed=seed, alone=alone)


async def _seated(client: StudClient, purse: Purse, asked: Asked, view: pb.TableView) -> None:
    """Sit down, unless the account sits there already. Raises StudError."""
    await purse.open()
    if any(seat.account == purse.account for seat in view.seats):
        return
    amount = asked.buy_in or suggested(view, None)
    await purse.have(amount)
    await sit_down(client, view.config.table_id, amount)


async def _screen(
    asked: Asked,
    client: StudClient,
    purse: Purse,
    table: str,
    *,
    stays: bool = False,
    watch: Callable[[Seen], None] = lambda _: None,
    keeper: asyncio.Task[None] | None = None,
) -> Outcome:
    """Draw the table until the player quits."""
    from stud_cli.play.app import PlayScreen

    async with client.play(table) as session:
        screen = PlayScreen(session, client, purse, plain=asked.plain, stays=stays, on_change=watch)
        if keeper is not None:
            keeper.add_done_callback(lambda task: setattr(screen, "ended", _why(task)))
        await screen.run_async()
    screen.check()
    seen = screen.seen
    return Outcome(
        table=table,
        account=purse.account,
        currency=purse.currency,
        hands=seen.hands,
        net=screen.net,
        made_up=purse.made_up,
        paid=screen.paid,
        seated=seen.my_seat is not None,
        ended=screen.ended,
    )


def _why(keeper: asyncio.Task[None]) -> str:
    """Why the system that is played at is no more."""
    error = None if keeper.cancelled() else keeper.exception()
    return f"{error or 'the system was stopped'}: q quits"


def _told(asked: Asked, outcome: Outcome, problems: tuple[str, ...], directory: Path | None) -> int:
    """Say how it ended; returns the exit code."""
    if asked.json_output:
        last_line({**msgspec.structs.asdict(outcome), "problems": list(problems)})
        return FOUND if problems else FINE
    for line in outcome.lines():
        console.print(line, markup=False, soft_wrap=True)
    if directory is not None:
        for problem in problems:
            console.print(f"problem  {problem}", markup=False, soft_wrap=True)
        if not problems:
            console.print("audit    every chip is accounted for, every hand verified")
        again = f"{command()} replay {outcome.table} --data {directory}"
        console.print(f"replay   {again}", markup=False, soft_wrap=True)
    return FOUND if problems else FINE

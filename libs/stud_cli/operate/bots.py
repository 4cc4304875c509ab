"""``stud bots``: bots at a table that is there, for a rehearsal: they deposit, sit down, play, and leave."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Annotated, Final

import typer

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.exit_codes import said_as
from stud_cli.local.bots import Bot
from stud_cli.local.callers import Callers
from stud_cli.local.keys import keys_dir
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.operate.common import EndpointsOption, KeysOption, YesOption
from stud_cli.operate.completing import tables
from stud_cli.operate.desk import be_sure
from stud_cli.operate.repeating import keepable
from stud_cli.output import JsonFlag, console, last_line
from stud_cli.where import endpoints
from stud_client import StudError
from stud_core.amounts import TEST_CURRENCY
from stud_load.choices import buy_in

DEPOSITED: Final = 10
"""Buy-ins that a bot brings along."""

LEAVE_WITHIN_S: Final = 60.0


def bots(
    ctx: typer.Context,
    table: Annotated[str, typer.Argument(help="Table id; `stud tables` lists them.", autocompletion=tables)],
    players: Annotated[int, typer.Option(help="How many sit down.", min=1, max=8)] = 3,
    hands: Annotated[
        int, typer.Option(help="Hands until they leave; 0 = until Ctrl-C, or the table closes.", min=0)
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of their choices.")] = 1,
    passive: Annotated[bool, typer.Option("--passive", help="Only check and call: hands go to the showdown.")] = False,
    think_ms: Annotated[int, typer.Option(help="Milliseconds a bot thinks before it acts.", min=0)] = 200,
    keys: KeysOption = None,
    yes: YesOption = False,
    where: EndpointsOption = "",
    json_output: JsonFlag = False,
) -> None:
    """Seat bots at a table of the running system and let them play, with money made up for it.

    They are players and cashier of their own making, so this needs the key that tokens are made with. At a table that
    is not in XTS it asks first, since their deposits are booked as money that came in.

    Example: stud bots t-1 --players 3 --hands 5
    """
    keepable(ctx)
    with said_as("bots need the key that tokens are made with ({}): --keys DIR or STUD_KEYS_DIR", ValueError):
        callers = Callers(endpoints(where), keys_dir() if keys is None else keys)
    with said_as("{}", StudError):
        played = run_with_one_stop(
            _play(_Table(callers, table, seed, think_ms / 1000, passive=passive), players, hands, yes=yes)
        )
    if json_output:
        last_line({"table": table, "bots": players, "hands": played})
    else:
        console.print(f"{players} bots played {played} hands at {table} and left", markup=False)


async def _play(house: _Table, players: int, hands: int, *, yes: bool) -> int:
    try:
        await house.look(yes=yes)
        accounts = await house.seat(players)
        return await house.play(accounts, hands)
    finally:
        await house.callers.close()


class _Table:
    """The table, and whoever is made up for it."""

    def __init__(self, callers: Callers, table: str, seed: int, think_s: float, *, passive: bool) -> None:
        self.callers = callers
        self._passive = passive
        self._table, self._seed, self._think_s = table, seed, think_s
        self._view = pb.TableView()

    async def look(self, *, yes: bool) -> None:
        """Ask before made-up money is booked where money is real."""
        answer = await self.callers.operator.tables.GetTable(pb.GetTableRequest(table=self._table))
        self._view = answer.update.view
        currency = self._view.config.currency
        if not yes and currency != TEST_CURRENCY:
            be_sure(f"Deposits in {currency} are made up for them.")

    async def seat(self, players: int) -> list[str]:
        """Seat bots that are not there yet; their names are the table's."""
        accounts = [f"bot-{number}-{self._table}"[:64] for number in range(1, players + 1)]
        seated = {seat.account for seat in self._view.seats}
        await asyncio.gather(*(self._sit(account) for account in accounts if account not in seated))
        return accounts

    async def _sit(self, account: str) -> None:
        currency, amount = self._view.config.currency, buy_in(self._view)
        player = self.callers.player(account)
        await player.wallet.OpenAccount(wallet.OpenAccountRequest(currency=currency))
        deposit = wallet.DepositRequest(
            currency=currency, account=account, amount=DEPOSITED * amount, reference="made up for bots"
        )
        await self.callers.cashier.wallet.Deposit(deposit)
        await player.tables.TakeSeat(pb.TakeSeatRequest(table=self._table, amount=amount, auto_post=True))

    async def play(self, accounts: list[str], hands: int) -> int:
        """Play so many hands, or until the table closes or somebody interrupts; then leave. Returns the hands."""
        tasks = [
            asyncio.create_task(
                Bot(
                    self.callers.player(account),
                    self._table,
                    random.Random(f"{self._seed} {account}"),  # noqa: S311 - play, not dealing
                    self._think_s,
                    passive=self._passive,
                ).run()
            )
            for account in accounts
        ]
        try:
            return await self._count(hands)
        finally:
            await self._leave(accounts)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _count(self, hands: int) -> int:
        played = 0
        async with self.callers.operator.watch(self._table) as session:
            async for update in session:
                played += sum(event.WhichOneof("body") == "hand_ended" for event in update.events)
                if update.view.life == pb.TABLE_LIFE_CLOSED or (hands and played >= hands):
                    break
        return played

    async def _leave(self, accounts: list[str]) -> None:
        """Give up the seats; the bots play on meanwhile, so that a running hand ends."""
        for account in accounts:
            with suppress(StudError):  # broke, paid out, or the table is closed
                await self.callers.player(account).tables.LeaveSeat(pb.LeaveSeatRequest(table=self._table))
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_WITHIN_S), self.callers.operator.watch(self._table) as session:
                async for update in session:
                    if not {seat.account for seat in update.view.seats}.intersection(accounts):
                        return

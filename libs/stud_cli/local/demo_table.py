"""One table of the demo: opened, seated, played for a number of hands, drained, closed, counted."""

from __future__ import annotations

import asyncio
import random

import msgspec

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.inspect.audit import Audit
from stud_cli.inspect.verdicts import Verdicts
from stud_cli.local.bots import Bot
from stud_cli.local.callers import Callers
from stud_load.choices import buy_in

CURRENCY = "EUR"
SMALL_BET = 500
HAND_PAUSE_MS = 100
DEPOSIT = 200_000
NAMES = ("ada", "bea", "cleo", "dora", "emil", "fred", "gus", "hal")


class TablePlan(msgspec.Struct, frozen=True):
    """What to play; ``suffix`` keeps its table and accounts apart from those of others in the same system."""

    ruleset: str
    hands: int
    players: int
    seed: int
    suffix: str = ""


class Line(msgspec.Struct, frozen=True):
    """A player's money, minor units: the balance must be the deposit plus the verified deltas."""

    deposited: int
    delta: int
    balance: int

    @property
    def agrees(self) -> bool:
        """Whether nothing was lost or made on the way."""
        return self.balance == self.deposited + self.delta


class DemoTable:
    """Plays one plan; ``view`` is the last public update, for drawing."""

    def __init__(self, callers: Callers, plan: TablePlan) -> None:
        self.callers = callers
        self.plan = plan
        self.table_id = f"demo-{plan.ruleset.replace('_', '-')}{plan.suffix}"
        self.view: pb.TableUpdate | None = None
        self.hands_played = 0
        self.last_version = 0
        self.balances: dict[str, Line] = {}

    @property
    def accounts(self) -> list[str]:
        """The players, one account each and table."""
        return [f"{name}-{self.plan.ruleset[:2]}{self.plan.suffix}" for name in NAMES[: self.plan.players]]

    async def play(self) -> None:
        """Play the whole plan."""
        operator = self.callers.operator.tables
        created = await operator.CreateTable(
            pb.CreateTableRequest(
                table=self.table_id,
                name=f"Demo {self.plan.ruleset}",
                currency=CURRENCY,
                preset=self.plan.ruleset,
                small_bet=SMALL_BET,
                hand_pause_ms=HAND_PAUSE_MS,
            )
        )
        await operator.PauseTable(pb.PauseTableRequest(table=self.table_id, reason="seating the bots"))
        amount = buy_in(pb.TableView(config=created.config))
        await asyncio.gather(*(self._seat(account, amount) for account in self.accounts))
        bots = [
            Bot(self.callers.player(account), self.table_id, random.Random(f"{self.plan.seed} {account}"))  # noqa: S311 - play, not dealing
            for account in self.accounts
        ]
        tasks = [asyncio.create_task(bot.run()) for bot in bots]
        try:
            await self._conduct()
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _seat(self, account: str, amount: int) -> None:
        cashier = self.callers.cashier.wallet
        await self.callers.player(account).wallet.OpenAccount(wallet.OpenAccountRequest(currency=CURRENCY))
        await cashier.Deposit(
            wallet.DepositRequest(currency=CURRENCY, account=account, amount=DEPOSIT, reference="demo")
        )
        await self.callers.player(account).tables.TakeSeat(
            pb.TakeSeatRequest(table=self.table_id, amount=amount, auto_post=True)
        )

    async def _conduct(self) -> None:
        """Watch; drain when the last hand begins, close when it is verified, end when everybody is paid.

        Play begins once the paused table's view is here, so that every hand is seen to end.
        """
        operator = self.callers.operator
        resumed = draining = closing = False
        async with operator.watch(self.table_id) as session:
            async for update in session:
                if not resumed:
                    resumed = True
                    await operator.tables.ResumeTable(pb.ResumeTableRequest(table=self.table_id))
                self._note(update)
                view = update.view
                if view.life == pb.TABLE_LIFE_CLOSED:
                    return
                if not draining and view.hand_no >= self.plan.hands and view.phase:
                    draining = True
                    await operator.tables.DrainTable(pb.DrainTableRequest(table=self.table_id))
                elif draining and not closing and not view.phase and view.verified_hand >= self.plan.hands:
                    closing = True
                    await operator.tables.CloseTable(pb.CloseTableRequest(table=self.table_id))

    def _note(self, update: pb.TableUpdate) -> None:
        self.view = update
        self.last_version = update.version
        self.hands_played += sum(event.WhichOneof("body") == "hand_ended" for event in update.events)

    async def check_balances(self, found: Audit, verdicts: Verdicts) -> None:
        """Check each player's balance against deposits and verified deltas; a difference is a problem."""
        deltas = dict.fromkeys(self.accounts, 0)
        for verdict in verdicts.final.get(self.table_id, {}).values():
            for posting in verdict.postings:
                deltas[posting.account] += posting.delta
        for account in self.accounts:
            answer = await self.callers.player(account).wallet.GetAccount(wallet.GetAccountRequest(currency=CURRENCY))
            line = self.balances[account] = Line(DEPOSIT, deltas[account], answer.balance)
            if not line.agrees:
                found.problems.append(f"{account}: balance {line.balance}, want {line.deposited + line.delta}")

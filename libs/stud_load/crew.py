"""Everybody who takes part: opens tables and accounts, seats players, watches, and at the end closes and counts."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_client import StudClient, StudError
from stud_load.checks import Book
from stud_load.choices import buy_in
from stud_load.pacing import Paces
from stud_load.plan import LoadPlan
from stud_load.player import Player
from stud_load.recorder import Measure, Recorder
from stud_load.table import LoadTable
from stud_load.target import Target
from stud_load.viewer import Clock, SlowReader, Viewer
from stud_load.violations import Rule
from stud_load.wire import Lines

AT_ONCE: Final = 4
"""Tables that are opened and seated at the same time: more would measure how long they keep each other waiting."""

CLOSED_AT_ONCE: Final = 64
"""Tables that play their last hand without think times; a thousand that hurry together would wait for each other."""

COUNTED_AT_ONCE: Final = 16
"""Accounts that are asked for at the same time."""

SMALL_BET: Final = 500
VIEWERS_PER_S: Final = 50
"""Streams that are opened in a second at least."""

DEPOSIT: Final = 100_000_000
"""Each player's money, minor units: enough to buy chips again all day."""

CALL_S: Final = 30.0
ENDS_WITHIN_S: Final = 120.0
"""From the end of play until every hand is verified and everybody paid, without any progress."""

Told = Callable[[float], None]


class Crew:
    """The bots of one process. ``checks`` says at the end what was looked at."""

    def __init__(self, plan: LoadPlan, target: Target, clock: Clock) -> None:
        self.plan = plan
        self.recorder = Recorder()
        self.tables: list[LoadTable] = []
        self.checks: dict[str, str] = {}
        self._target = target
        self._clock = clock
        self._operator = StudClient(target.endpoints, target.token_of("load-operator", "operator"), timeout_s=CALL_S)
        self._cashier = self._operator.with_token(target.token_of("load-cashier", "cashier"))
        self._lines = Lines(target.endpoints["table"], plan.channels, tls=target.endpoints.tls)
        slow = min(plan.channels, plan.chaos.slow_readers)
        self._slow_lines = Lines(target.endpoints["table"], slow, slow=True, tls=target.endpoints.tls)
        self._paces = Paces(plan, clock())
        self._players: list[Player] = []
        self._viewers: list[Viewer] = []
        self._tasks: list[asyncio.Task[None]] = []

    # Before

    async def prepare(self, told: Told) -> None:
        """Open all tables, paused, with everybody seated and watching. Raises StudError."""
        await _all((self._open(number) for number in range(self.plan.tables)), told)
        slow = zip(range(self.plan.chaos.slow_readers), itertools.cycle(self.tables), strict=False)
        for number, table in slow:
            self._watch(SlowReader, table, f"slow-{number}")
        viewers = [*self._players, *self._viewers]
        self._tasks = [asyncio.get_running_loop().create_task(viewer.follow()) for viewer in viewers]
        within_s = CALL_S + len(viewers) / VIEWERS_PER_S
        try:
            async with asyncio.timeout(within_s):
                await asyncio.gather(*map(_shown, viewers, self._tasks))
        except TimeoutError:
            waiting = sum(not viewer.current.is_set() for viewer in viewers)
            text = f"{waiting} of {len(viewers)} streams have shown no table within {within_s:.0f} s"
            raise StudError("CALL_DEADLINE", text) from None

    async def _open(self, number: int) -> None:
        plan = self.plan
        table = LoadTable(plan.table_id(number), self.recorder)
        created = await self._operator.tables.CreateTable(
            pb.CreateTableRequest(
                table=table.table_id,
                name=f"Load {table.table_id}",
                currency=plan.currency,
                preset=plan.ruleset,
                small_bet=SMALL_BET,
                hand_pause_ms=plan.hand_pause_ms,
            )
        )
        self.tables.append(table)
        await self._operator.tables.PauseTable(pb.PauseTableRequest(table=table.table_id, reason="load: seating"))
        amount = buy_in(pb.TableView(config=created.config))
        await asyncio.gather(*(self._seat(table, f"{table.table_id}-p{n}", amount) for n in range(plan.players)))
        for spectator in range(plan.spectators):
            self._watch(Viewer, table, f"s{spectator}")

    async def _seat(self, table: LoadTable, account: str, amount: int) -> None:
        token = self._target.token_of(account, "player")
        client = self._operator.with_token(token)
        book = table.books[account] = Book(account)
        await client.wallet.OpenAccount(wallet.OpenAccountRequest(currency=self.plan.currency))
        await self._cashier.wallet.Deposit(
            wallet.DepositRequest(currency=self.plan.currency, account=account, amount=DEPOSIT, reference="load")
        )
        book.deposited += DEPOSIT
        player = Player(table, account, token, self._lines.next(), self._clock, self.plan, client)
        self._players.append(player)
        await player.sit_down(amount)

    def _watch(self, kind: type[Viewer], table: LoadTable, name: str) -> None:
        token = self._target.token_of(f"{table.table_id}-{name}", "player")
        rng = random.Random(f"{self.plan.seed} {name}")
        lines = self._slow_lines if kind is SlowReader else self._lines
        self._viewers.append(kind(table, name, token, lines.next(), self._clock, rng, self.plan))

    async def begin(self) -> None:
        """Let the tables begin, one after the other over the plan's ramp."""
        start_s, count = self._clock(), len(self.tables)
        self._paces = Paces(self.plan, start_s)
        for number, table in enumerate(self.tables):
            await asyncio.sleep(max(0.0, start_s + self.plan.ramp_s * number / count - self._clock()))
            table.pace = self._paces.of(table.table_id)
            await self._resume(table)

    async def _resume(self, table: LoadTable) -> None:
        await self._operator.tables.ResumeTable(pb.ResumeTableRequest(table=table.table_id))

    # After

    async def settle(self, grace_s: float) -> None:
        """Wait for answers to what was due in the window; what has none then counts with the time that has passed."""
        give_up_s = self._clock() + grace_s
        while self._clock() < give_up_s and any(self._open_acts()):  # noqa: ASYNC110  (any of thousands may be the last)
            await asyncio.sleep(0.01)
        now_s = self._clock()
        for due_s in [*self._open_acts(), *self._overdue(now_s)]:
            self.recorder.unanswered += 1
            self.recorder.time(Measure.ACT, due_s, now_s)

    def _open_acts(self) -> Iterable[float]:
        for player in self._players:
            for sent in player.unanswered.values():
                if sent.measure is Measure.ACT and self.recorder.counts_from(sent.due_s):
                    yield sent.due_s

    def _overdue(self, now_s: float) -> Iterable[float]:
        return (due_s for due_s in self._paces.overdue(now_s) if self.recorder.counts_from(due_s))

    async def finish(self, told: Told) -> None:
        """Let hands end, close every table, and compare every player's book with the wallet."""
        await _all((self._close(table) for table in self.tables), told, at_once=CLOSED_AT_ONCE)
        ended = sum(table.hands.ended for table in self.tables)
        self.checks["hands"] = f"{sum(table.hands.verified for table in self.tables)} of {ended} verified"
        await _all((self._balance(player) for player in self._players), told, at_once=COUNTED_AT_ONCE)
        await self._check_ledger()

    async def _close(self, table: LoadTable) -> None:
        for player in self._players:
            if player.table is table:
                player.hurry()
        try:
            await self._operator.tables.DrainTable(pb.DrainTableRequest(table=table.table_id))
            await self._until(table, lambda: table.is_quiet)
            table.hands.check_end()
            await self._operator.tables.CloseTable(pb.CloseTableRequest(table=table.table_id))
            await self._until(table, lambda: table.is_closed)
        except StudError as error:
            self.recorder.violations.add(Rule.ENDING, f"{table.table_id}: {error}")
        except TimeoutError:
            why = table.view.waiting_for or table.view.paused or "its players do not answer"
            self.recorder.violations.add(
                Rule.ENDING, f"{table.table_id}: no progress for {ENDS_WITHIN_S:g} s at version {table.version} ({why})"
            )

    async def _until(self, table: LoadTable, done: Callable[[], bool]) -> None:
        """Raises TimeoutError when the table stands still."""
        while not done():
            table.changed.clear()
            async with asyncio.timeout(ENDS_WITHIN_S):
                await table.changed.wait()

    async def _balance(self, player: Player) -> None:
        if player.table.hands.unseen or not player.table.is_closed:
            self.recorder.events["books not checked"] += 1
            return
        try:
            account = await self._cashier.wallet.GetAccount(
                wallet.GetAccountRequest(currency=self.plan.currency, account=player.name)
            )
        except StudError as error:
            self.recorder.violations.add(Rule.BOOK, f"{player.name}: {error}")
            return
        at_tables = sum(escrow.balance for escrow in account.escrows)
        player.book.check(account.balance, at_tables, self.recorder.violations)
        self.recorder.events["books checked"] += 1

    async def _check_ledger(self) -> None:
        checked, left = self.recorder.events.pop("books checked", 0), self.recorder.events.pop("books not checked", 0)
        self.checks["books"] = f"{checked} compared" + (f", {left} could not be" if left else "")
        try:
            answer = await self._cashier.wallet.GetTrialBalance(
                wallet.GetTrialBalanceRequest(currency=self.plan.currency, page_size=1)
            )
        except StudError as error:
            self.checks["ledger"] = f"not asked: {error.reason}"
            return
        self.checks["ledger"] = f"its entries sum to {answer.sum}"
        if answer.sum:
            self.recorder.violations.add(Rule.LEDGER, f"the entries sum to {answer.sum}")

    async def close(self) -> None:
        """End every stream and connection; tables that are open still, since the run was cut short, are closed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CALL_S):
                await asyncio.gather(*(self._give_up(table) for table in self.tables if not table.is_closed))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *(player.close() for player in self._players), return_exceptions=True)
        await self._lines.close()
        await self._slow_lines.close()
        await self._operator.close()

    async def _give_up(self, table: LoadTable) -> None:
        with contextlib.suppress(StudError):  # nobody is there who could be told
            await self._operator.tables.CloseTable(pb.CloseTableRequest(table=table.table_id))


async def _shown(viewer: Viewer, following: asyncio.Task[None]) -> None:
    """Wait until a viewer sees the table. Raises StudError where their stream has ended before."""
    shown = asyncio.get_running_loop().create_task(viewer.current.wait())
    await asyncio.wait({shown, following}, return_when=asyncio.FIRST_COMPLETED)
    shown.cancel()
    if not viewer.current.is_set():
        raise StudError("STREAM_ENDED", f"{viewer.table.table_id} cannot be followed: {viewer.why}")


async def _all(work: Iterable[Coroutine[Any, Any, None]], told: Told, at_once: int = AT_ONCE) -> None:
    """Await all of it, some at a time; the first failure ends the rest."""
    queue = list(work)
    total, done, gate = len(queue), 0, asyncio.Semaphore(max(1, at_once))

    async def one(each: Coroutine[Any, Any, None]) -> None:
        nonlocal done
        async with gate:
            await each
        done += 1
        told(done / total)

    tasks = [asyncio.get_running_loop().create_task(one(each)) for each in queue]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in queue:
            each.close()

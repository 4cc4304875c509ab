"""A wallet around any event log, and a floor that says what tables and the referee say: events by hand, real logs.

``Floor`` writes table logs with their feed and verdict logs; ``Office`` is a wallet service without a process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_core import events as te
from stud_core import verdict_events as ve
from stud_core.deck_events import HandOutcome, LogRef
from stud_core.events import Delta
from stud_core.ledger import commands as cmd
from stud_core.ledger.events import BuyInFunded
from stud_core.ledger.postings import postings_of
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import START, Append, FeedItem
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from stud_wire.commits import Meta, decode_commit, decode_event, encode_commit, encode_event
from tests.support.runtime import serving, token
from tests.support.waiting import until
from wallet_service.app import WalletApp

NEVER = 10**15
LONG_S = 24 * 3600
FED = (te.BuyInRequested, te.TopUpRequested, te.CashOutRequested, te.TableOpened, te.HandEnded)


# ---------------------------------------------------------------- what tables say


def buy_in(sitting_no: int, account: str, amount: int = 500, **fields: Any) -> te.BuyInRequested:
    """``fields`` may be currency, stacked, expires_at_ms."""
    rest: dict[str, Any] = {
        "currency": "EUR",
        "stacked": False,
        "expires_at_ms": NEVER,
        "auto_post": True,
        "muck_losing": True,
    }
    return te.BuyInRequested(sitting_no=sitting_no, seat=1, account=account, amount=amount, **(rest | fields))


def top_up(sitting_no: int, number: int, account: str, amount: int = 100) -> te.TopUpRequested:
    numbers = {"sitting_no": sitting_no, "top_up_no": number, "amount": amount}
    return te.TopUpRequested(currency="EUR", stacked=False, account=account, **numbers)


def cash_out(sitting_no: int, account: str, claim: int | None, after_hand: int = 0) -> te.CashOutRequested:
    return te.CashOutRequested("EUR", sitting_no, account, claim, after_hand)


# -------------------------------------------------------------- what the referee says

REF = LogRef("", 1, 1, bytes(32))


def deltas(*figures: tuple[int, str, int]) -> tuple[Delta, ...]:
    return tuple(Delta(*figure) for figure in figures)


def verified(
    table: str, hand_no: int, *figures: tuple[int, str, int], rake: int = 0, currency: str = "EUR"
) -> ve.HandVerified:
    outcome = HandOutcome.ENDED if figures else HandOutcome.VOIDED
    return ve.HandVerified(table, hand_no, outcome, currency, REF, REF, deltas(*figures), rake, "test")


def disputed(table: str, hand_no: int, *figures: tuple[int, str, int], rake: int = 0) -> ve.HandDisputed:
    finding = ve.Finding("WRONG_AWARD", "", 1)
    about = (table, hand_no, "EUR", REF, REF, (finding,))
    return ve.HandDisputed(*about, deltas(*figures), rake, (), 0, referee_has_figures=False, build="test")


def resolved(table: str, hand_no: int, *figures: tuple[int, str, int], rake: int = 0) -> ve.HandResolved:
    choice = te.ResolutionChoice.TABLE if figures else te.ResolutionChoice.VOID
    return ve.HandResolved(table, hand_no, "EUR", choice, deltas(*figures), rake, (), ("op-1", "op-2"), "why")


class Floor:
    """Every table and the referee."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    async def say(self, table: str, *events: Any) -> None:
        """One commit of a table; what belongs into the feed is in its outbox."""
        feed = keys.table_feed(keys.shard_of(table))
        outbox = tuple(FeedItem(feed, encode_event(event)) for event in events if isinstance(event, FED))
        await self._append(keys.table_log(keys.shard_of(table), table), events, outbox)

    async def judge(self, *verdicts: Any) -> None:
        """One commit of the referee for each verdict."""
        for verdict in verdicts:
            await self._append(keys.verdicts(keys.shard_of(verdict.table)), [verdict], ())

    async def _append(self, stream: str, events: Iterable[Any], outbox: tuple[FeedItem, ...]) -> None:
        head = await self.log.head(stream)
        body = encode_commit(list(events), Meta(at_ms=1))
        await self.log.append(Append(stream, head.version, head.hash, os.urandom(16), body, outbox))

    # What came of it

    async def told(self, table: str, currency: str = "EUR") -> list[Any]:
        """What the wallet has answered the table so far."""
        feed = keys.ledger_feed(currency, keys.shard_of(table))
        entries = await self.log.read_feeds({feed: START}, 10_000, 1)
        events = [decode_event(entry.event) for entry in entries]
        return [event for event in events if event is not None and event.table == table]

    async def hears(self, table: str, *kinds: type, currency: str = "EUR") -> list[Any]:
        """Wait until the wallet has given so many answers; they must be of these kinds, in this order."""

        async def answered() -> list[Any]:
            events = await self.told(table, currency)
            return events if len(events) >= len(kinds) else []

        events: list[Any] = await until(answered, f"{[kind.__name__ for kind in kinds]} to {table}")
        assert [type(event) for event in events] == list(kinds), events
        return events

    async def entries(self, currency: str = "EUR") -> list[Any]:
        """Every event of a ledger."""
        stored = self.log.read_all(keys.ledger_log(currency))
        return [event async for commit in stored for event in decode_commit(commit.body).events]

    async def wrote(self, kind: type, number: int = 1) -> list[Any]:
        """Wait until the ledger has so many events of a kind."""

        async def there() -> list[Any]:
            events = [event for event in await self.entries() if isinstance(event, kind)]
            return events if len(events) >= number else []

        events: list[Any] = await until(there, f"{number} {kind.__name__}")
        return events

    async def balances(self, currency: str = "EUR") -> dict[str, int]:
        """Every account that is not 0, from the entries."""
        sums: dict[str, int] = {}
        for event in await self.entries(currency):
            for line in postings_of(event):
                sums[line.account] = sums.get(line.account, 0) + line.amount
        assert sum(sums.values()) == 0
        return {name: amount for name, amount in sums.items() if amount}


async def seat_two(floor: Floor, table: str) -> None:
    """Two buy-ins at a table, and their funding."""
    await floor.say(table, buy_in(1, "ann"), buy_in(2, "bob"))
    await floor.hears(table, BuyInFunded, BuyInFunded)


# ------------------------------------------------------------------ the wallet itself


@dataclass
class Office:
    """A wallet service in this process. `now_ms` is its clock."""

    log: EventLog
    currencies: tuple[str, ...] = ("EUR", "XTS")
    stacked: bool = False
    now_ms: int = 1_000_000
    runtime: Runtime = field(init=False)
    app: WalletApp = field(init=False)

    def __post_init__(self) -> None:
        settings = ServiceSettings(currencies=self.currencies, allow_stacked_decks=self.stacked, keys_dir=Path("none"))
        self.runtime = Runtime("wallet", settings, self.log, clock=lambda: self.now_ms)
        self.app = WalletApp(self.runtime)

    async def fund(self, **players: int) -> None:
        """Open accounts and pay in, as a cashier does."""
        for account, money in players.items():
            await self.submit(cmd.OpenAccount(account, f"open-{account}"))
            if money:
                await self.submit(cmd.Deposit(account, money, "", f"first-{account}", "cash"))

    async def submit(self, command: cmd.Command, currency: str = "EUR") -> Any:
        return await self.app.books[currency].submit(command)

    def check_alive(self) -> None:
        assert self.runtime.tasks.fault is None, self.runtime.tasks.fault

    async def close(self) -> None:
        await self.app.stop()
        await self.runtime.tasks.cancel_all()

    @contextlib.asynccontextmanager
    async def open_to_callers(self) -> AsyncIterator[rpc.WalletServiceStub]:
        """Serve over gRPC."""

        def add(_: Any, server: grpc.aio.Server) -> None:
            self.app.register(server)

        async with serving(None, add=add) as house:
            options = [("grpc.enable_http_proxy", 0)]
            async with grpc.aio.insecure_channel(house.address, options=options) as channel:
                yield rpc.WalletServiceStub(channel)


@contextlib.asynccontextmanager
async def working(log: EventLog, **options: Any) -> AsyncIterator[Office]:
    """A wallet that has started; at the end it must not have crashed."""
    office = Office(log, **options)
    await office.app.start()
    try:
        yield office
        office.check_alive()
    finally:
        await office.close()


def who(account: str, *roles: str) -> tuple[tuple[str, str], ...]:
    """Metadata of a caller with these roles; a player if none. Outlives any run of the tests: modules keep it."""
    return (("authorization", f"Bearer {token(account, *roles, ttl_s=LONG_S)}"),)

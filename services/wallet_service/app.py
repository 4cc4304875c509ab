"""The wallet: funds seats, settles verified hands by the referee's figures, pays out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import grpc
import msgspec
import structlog

from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_core.ledger.commands import CashOut
from stud_core.ledger.settling import obstacle
from stud_eventlog import keys
from stud_eventlog.types import EventLogError, FeedEntry, Head
from stud_service.entry_check import is_original, lately
from stud_service.feeds import FeedReader, Poison
from stud_service.meters import Value
from stud_service.metrics import BLOCKED, CASH_OUTS_HELD, ESCROW, UNSETTLED, Metric
from stud_service.retrying import patiently
from stud_service.runtime import Runtime
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit, decode_event
from wallet_service.answers import command_for
from wallet_service.book import Book
from wallet_service.servicer import WalletServicer
from wallet_service.table_queue import TableQueue
from wallet_service.table_requests import REQUESTS, requests_of
from wallet_service.verdicts import Verdicts

GATHER_S = 0.05
"""What tables and the referee have said within this time is read at once: no turn waits for the wallet."""

LAG_S = 10.0
"""A verdict that has waited this long is looked at: settlements take milliseconds."""

log = structlog.get_logger()


class WalletApp:
    """One book for each currency, one reader for all tables and verdicts."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.books = {currency: Book(runtime, currency) for currency in runtime.settings.currencies}
        self.verdicts = Verdicts(runtime.log, self._settled, self._ring)
        self._told: dict[str, tuple[int, str]] = {}
        self._next_on_log_behind = runtime.log.on_log_behind
        runtime.log.on_log_behind = self._log_behind
        runtime.meters.source(self._numbers)

    def _log_behind(self, stream: str, acknowledged: Head, found: Head) -> None:
        for book in self.books.values():
            if book.stream == stream:
                book.log_behind()
        if self._next_on_log_behind is not None:
            self._next_on_log_behind(stream, acknowledged, found)

    async def start(self) -> None:
        """Rebuild every ledger, book what was left unbooked, then listen."""
        await asyncio.gather(*(book.start() for book in self.books.values()))
        await patiently(self.verdicts.load, self._runtime.log, what="read verdicts")
        for table in self.verdicts.tables():
            await self._try_again(table)  # an operator's correction may have removed what was in the way
        reader = FeedReader(self._runtime, self.handle, table_of, gather_s=GATHER_S)
        self._runtime.spawn(reader.run(), "wallet feeds")
        self._runtime.spawn(self._watch(), "wallet settlements")

    def register(self, server: grpc.aio.Server) -> None:
        """Add WalletService to the server."""
        rpc.add_WalletServiceServicer_to_server(WalletServicer(self._runtime.log, self.books, self), server)

    async def stop(self) -> None:
        """Finish what is queued."""
        await asyncio.gather(*(book.stop() for book in self.books.values()))

    def _settled(self, currency: str, table: str) -> int:
        book = self.books.get(currency)
        return book.state.settled.get(table, 0) if book is not None else 0

    def _ring(self) -> None:
        for book in self.books.values():
            book.bell.ring_all()

    def _numbers(self) -> Mapping[Metric, Value]:
        ledgers = {currency: book.state for currency, book in self.books.items()}
        return {
            ESCROW: {currency: ledger.in_escrow for currency, ledger in ledgers.items()},
            UNSETTLED: sum(bool(self.verdicts.waiting(table)) for table in self._told),
            BLOCKED: {currency: len(ledger.blocked) for currency, ledger in ledgers.items()},
            CASH_OUTS_HELD: {currency: sum(map(len, ledger.held.values())) for currency, ledger in ledgers.items()},
        }

    # ------------------------------------------------------------- messages

    async def handle(self, entries: Sequence[FeedEntry]) -> None:
        """Handle one table's messages in order; returns when their effects are durable."""
        line: TableQueue | None = None
        for entry in entries:
            table = table_of(entry)
            if table is None:
                continue
            line = line or TableQueue(table)
            if is_verdict(entry):
                await self.verdicts.advance(keys.shard_of(table), up_to=entry.version)
                await self._settle(line)
            else:
                for version, event in await self._requests(entry):
                    await self._ask(line, event, (entry.stream, version))
        if line is not None:
            await self._finish(line)

    async def _requests(self, entry: FeedEntry) -> list[tuple[int, Any]]:
        """Return what a table has asked by an entry; where the copy differs from its log, all that it asked lately."""
        if not await is_original(self._runtime.log, entry):
            return await lately(self._runtime.log, entry.stream, REQUESTS)
        event = decode_event(entry.event)
        return [] if event is None else [(entry.version, event)]

    async def _ask(self, line: TableQueue, event: Any, cause: tuple[str, int]) -> None:
        command = command_for(line.table, event, allow_stacked=self._runtime.settings.allow_stacked_decks)
        if command is None:
            return
        if isinstance(command, CashOut):
            command = await self._drained(line, command)
        await line.post(self._book(event.currency), command, cause)

    async def _drained(self, line: TableQueue, command: CashOut) -> CashOut:
        """Settle what the referee has decided before this command's turn (architecture.md, "Leaving").

        What the referee has said of this sitting counts, whatever the table says: a hand in dispute keeps its escrow
        here.
        """
        await self.verdicts.advance(keys.shard_of(line.table))
        await self._settle(line)
        last = self.verdicts.last_hand(line.table, command.sitting_no)
        return msgspec.structs.replace(command, after_hand=max(command.after_hand, last))

    async def _settle(self, line: TableQueue) -> None:
        """Hand in a table's verdicts that wait. One that was booked meanwhile, or is blocked, changes nothing."""
        cause = keys.verdicts(keys.shard_of(line.table))
        for verdict in self.verdicts.waiting(line.table):
            if verdict.version not in line.handed_in:
                await line.post(self._book(verdict.event.currency), verdict.command, (cause, verdict.version))
                line.handed_in.add(verdict.version)

    async def _finish(self, line: TableQueue) -> None:
        """Wait until a line is durable, and settle what it was that other hands waited for."""
        unblocks = await line.unblocks()
        self.verdicts.booked(line.table, max([done.settled for done in await line.durable()], default=0))
        if unblocks and self.verdicts.waiting(line.table):
            await self._settle_table(line.table)

    def _book(self, currency: str) -> Book:
        book = self.books.get(currency)
        if book is None:
            raise Poison(f"currency {currency} is not served: want one of {', '.join(self.books)}")
        return book

    # ------------------------------------------- what operators ask for

    async def settle_from_log(self, table: str) -> None:
        """Settle what waits of one table, with the referee's log read to its end. Raises Refused, Poison,
        EventLogError.
        """
        await self.verdicts.advance(keys.shard_of(table))
        await self._settle_table(table)

    async def hear_again(self, table: str, sitting_no: int) -> None:
        """Answer what a table has asked for a sitting and got no answer to: what was answered changes nothing.

        Raises Refused, Poison, EventLogError.
        """
        line = TableQueue(table)
        stream = keys.table_log(keys.shard_of(table), table)
        for version, event in await requests_of(self._runtime.log, table, sitting_no):
            await self._ask(line, event, (stream, version))
        await self._finish(line)

    async def _settle_table(self, table: str) -> None:
        line = TableQueue(table)
        await self._settle(line)
        await self._finish(line)

    # ------------------------------------------------------ verdicts that wait

    async def _watch(self) -> None:
        """See to it that no verdict waits unseen, whatever became of the message that announced it."""
        while True:
            before = {table: self.verdicts.waiting(table)[0].version for table in self.verdicts.tables()}
            await asyncio.sleep(LAG_S)
            with suppress(EventLogError, WireError):  # the reader says so, and stands still
                await self.verdicts.load()
            for table, version in before.items():
                waiting = self.verdicts.waiting(table)
                if waiting and waiting[0].version == version:
                    await self._try_again(table)

    async def _try_again(self, table: str) -> None:
        """Settle what waits of a table; if it still waits, say why, once."""
        (fault,) = await asyncio.gather(self._settle_table(table), return_exceptions=True)
        waiting = self.verdicts.waiting(table)
        if not waiting:
            self._told.pop(table, None)
            return
        first = waiting[0]
        book = self.books.get(first.event.currency)
        if fault is not None or book is None:
            problem = str(fault) or type(fault).__name__
        else:
            problem = obstacle(book.state, first.command)
        if self._told.get(table) != (first.version, problem):
            self._told[table] = (first.version, problem)
            hand_no = first.event.hand_no
            log.warning("not_settled", table=table, hand_no=hand_no, hands=len(waiting), why=problem)


def is_verdict(entry: FeedEntry) -> bool:
    """Whether an entry is of a verdict log."""
    name = keys.parse_stream(entry.stream)
    return name is not None and name.kind == "verdicts"


def table_of(entry: FeedEntry) -> str | None:
    """Return the table an entry is about; raises WireError."""
    if is_verdict(entry):
        return next((str(event.table) for event in decode_commit(entry.event).events), None)
    name = keys.parse_stream(entry.stream)
    return name.table_id if name is not None else None

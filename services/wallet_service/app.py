"""The wallet: funds seats, settles verified hands by the referee's figures, pays out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc
import msgspec
import structlog

from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_core.ledger.commands import CashOut, Command, FundTopUp
from stud_eventlog import keys
from stud_eventlog.types import FeedEntry
from stud_service.feeds import FeedReader, Poison
from stud_service.kit import Kit
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit, decode_event
from wallet_service.answers import command_for
from wallet_service.book import Book, Done, Mail
from wallet_service.servicer import WalletServicer
from wallet_service.verdicts import Verdicts

log = structlog.get_logger()


class Line:
    """A table's commands, queued in order without waiting for each other. After one that fails all fail."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.handed_in = 0
        """Last hand whose verdict is among them."""
        self._mails: list[Mail] = []
        self._book: Book | None = None

    async def post(self, book: Book, command: Command, cause: tuple[str, int]) -> None:
        """Queue a command behind those before it."""
        if self._book not in {None, book}:
            await self.durable()  # order holds within one ledger only
        self._book = book
        last = self._mails[-1] if self._mails else None
        self._mails.append(book.post(command, cause=cause, after=last))

    async def durable(self) -> list[Done]:
        """Wait until everything is written; raises the first failure, Refused as a rule."""
        await asyncio.gather(*(mail.future for mail in self._mails), return_exceptions=True)
        return [mail.future.result() for mail in self._mails]

    @property
    def topped_up(self) -> bool:
        """Whether chips were asked for."""
        return any(isinstance(mail.command, FundTopUp) for mail in self._mails)


class WalletApp:
    """One book for each currency, one reader for all tables and verdicts."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self.books = {currency: Book(kit, currency) for currency in kit.settings.currencies}
        self.verdicts = Verdicts(kit.log)

    async def start(self) -> None:
        """Rebuild every ledger, book what was left unbooked, then listen."""
        await asyncio.gather(*(book.start() for book in self.books.values()))
        await self.verdicts.load(self._settled)
        await self.settle_waiting()
        shards = range(keys.SHARDS)
        feeds = [*map(keys.table_feed, shards), *map(keys.verdicts, shards)]
        trims = {keys.ledger_feed(currency, shard): ("table",) for currency in self.books for shard in shards}
        reader = FeedReader(self._kit, "wallet", feeds, self.handle, table_of, trim_readers=trims)
        self._kit.spawn(reader.run(), "wallet feeds")

    def register(self, server: grpc.aio.Server) -> None:
        """Add WalletService to the server."""
        servicer = WalletServicer(self._kit.log, self.books, self.settle_from_log, self.verdicts)
        rpc.add_WalletServiceServicer_to_server(servicer, server)

    async def stop(self) -> None:
        """Finish what is queued."""
        await asyncio.gather(*(book.stop() for book in self.books.values()))

    def _settled(self, currency: str, table: str) -> int:
        book = self.books.get(currency)
        return book.state.settled.get(table, 0) if book is not None else 0

    # ------------------------------------------------------------- messages

    async def handle(self, entries: Sequence[FeedEntry]) -> None:
        """Handle one table's messages in order; returns when their effects are durable."""
        line: Line | None = None
        for entry in entries:
            for table, event in read(entry):
                line = line or Line(table)
                await self._take(line, entry, event)
        if line is not None:
            self._note(line.table, await line.durable())
            if line.topped_up and any(line.table in book.state.blocked for book in self.books.values()):
                await self._settle_table(line.table)  # the chips may be those that a settlement lacked

    async def _take(self, line: Line, entry: FeedEntry, event: Any) -> None:
        if is_verdict(entry):
            self.verdicts.note(keys.shard_of(line.table), entry.version, [event])
            await self._settle(line, up_to=entry.version)
            return
        command = command_for(line.table, event, allow_stacked=self._kit.settings.allow_stacked_decks)
        if command is None:
            return
        if isinstance(command, CashOut):
            command = await self._drained(line, command)
        await line.post(self._book(event.currency), command, (entry.stream, entry.version))

    async def _drained(self, line: Line, command: CashOut) -> CashOut:
        """Settle what the referee has decided before this command's turn (architecture 5, Leave).

        What he has said of this sitting counts, whatever the table says: a hand in dispute keeps its escrow here.
        """
        await self.verdicts.advance(keys.shard_of(line.table))
        await self._settle(line)
        last = self.verdicts.last_hand(line.table, command.sitting_no)
        return msgspec.structs.replace(command, after_hand=max(command.after_hand, last))

    async def _settle(self, line: Line, up_to: int | None = None) -> None:
        """Hand in a table's verdicts that wait, up to a version of their log. One that was booked meanwhile, or is
        blocked, changes nothing.
        """
        cause = keys.verdicts(keys.shard_of(line.table))
        for verdict in self.verdicts.waiting(line.table):
            if verdict.event.hand_no <= line.handed_in or (up_to is not None and verdict.version > up_to):
                continue
            if self.verdicts.contradicted(verdict):
                raise Poison(f"hand {verdict.event.hand_no} is in dispute, and now it is called verified")
            await line.post(self._book(verdict.event.currency), verdict.command, (cause, verdict.version))
            line.handed_in = verdict.event.hand_no

    def _note(self, table: str, answers: Sequence[Done]) -> None:
        settled = max((done.settled for done in answers), default=0)
        if settled:
            self.verdicts.booked(table, settled)

    def _book(self, currency: str) -> Book:
        book = self.books.get(currency)
        if book is None:
            raise Poison(f"currency {currency} is not served: want one of {', '.join(self.books)}")
        return book

    # ------------------------------------------- verdicts that wait for something else

    async def settle_waiting(self) -> None:
        """Try again what was not settled before a restart: an operator's correction may have changed that."""
        for table in self.verdicts.tables():
            try:
                await self._settle_table(table)
            except (Refused, Poison) as why:  # told when the verdict itself is read
                log.warning("not_settled", table=table, why=str(why))

    async def settle_from_log(self, book: Book, table: str) -> None:
        """Settle what waits of one table, the referee's log read to its end. Raises Refused, Poison."""
        await self.verdicts.advance(keys.shard_of(table))
        await self._settle_table(table)
        log.info("settled_from_log", table=table, settled=book.state.settled.get(table, 0))

    async def _settle_table(self, table: str) -> None:
        line = Line(table)
        await self._settle(line)
        self._note(table, await line.durable())


def is_verdict(entry: FeedEntry) -> bool:
    """Whether an entry is of a verdict log."""
    name = keys.parse_stream(entry.stream)
    return name is not None and name.kind == "verdicts"


def read(entry: FeedEntry) -> list[tuple[str, Any]]:
    """Decode an entry into (table, event) pairs; raises WireError."""
    if is_verdict(entry):
        return [(event.table, event) for event in decode_commit(entry.event).events]
    name = keys.parse_stream(entry.stream)
    event = decode_event(entry.event)
    return [(name.table_id, event)] if event is not None and name is not None and name.table_id else []


def table_of(entry: FeedEntry) -> str | None:
    """Return the table an entry is about."""
    pairs = read(entry)
    return pairs[0][0] if pairs else None

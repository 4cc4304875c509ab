"""The wallet: funds seats, settles verified hands by the referee's figures, pays out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import structlog

from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_core.ledger.commands import CashOut, SettleHand
from stud_core.verdict_events import HandResolved, HandVerified
from stud_eventlog import keys
from stud_eventlog.types import EventLogError, FeedEntry
from stud_service.feeds import FeedReader, Poison
from stud_service.kit import Kit
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit, decode_event
from wallet_service.answers import command_for
from wallet_service.book import Book
from wallet_service.servicer import WalletServicer

RETRY = {"OUTCOME_UNKNOWN", "LOG_UNAVAILABLE", "LOG_BEHIND", "STOPPING"}
log = structlog.get_logger()


class WalletApp:
    """One book for each currency, one reader for all tables and verdicts."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self.books = {currency: Book(kit, currency) for currency in kit.settings.currencies}

    async def start(self) -> None:
        """Rebuild every ledger, then listen."""
        for book in self.books.values():
            await book.start()
        shards = range(keys.SHARDS)
        feeds = [*map(keys.table_feed, shards), *map(keys.verdicts, shards)]
        trims = {keys.ledger_feed(currency, shard): ("table",) for currency in self.books for shard in shards}
        reader = FeedReader(self._kit, "wallet", feeds, self.handle, table_of, trim_readers=trims)
        self._kit.spawn(reader.run(), "wallet feeds")

    def register(self, server: grpc.aio.Server) -> None:
        """Add WalletService to the server."""
        rpc.add_WalletServiceServicer_to_server(WalletServicer(self._kit.log, self.books, self.settle_from_log), server)

    async def stop(self) -> None:
        """Finish what is queued."""
        await asyncio.gather(*(book.stop() for book in self.books.values()))

    async def handle(self, entries: Sequence[FeedEntry]) -> None:
        """Handle one table's messages in order; returns when their effects are durable."""
        for entry in entries:
            for table, event in read(entry):
                await self._handle_one(entry, table, event)

    async def _handle_one(self, entry: FeedEntry, table: str, event: Any) -> None:
        command = command_for(table, event, entry.version, allow_stacked=self._kit.settings.allow_stacked_decks)
        if command is None:
            return
        book = self.books.get(event.currency)
        if book is None:
            raise Poison(f"currency {event.currency} is not served: want one of {', '.join(self.books)}")
        if isinstance(command, CashOut | SettleHand):
            await self._drain(book, table, command)
        await self._submit(book, command, (entry.stream, entry.version))

    async def _drain(self, book: Book, table: str, command: CashOut | SettleHand) -> None:
        """Settle what the referee has decided before this command's turn (architecture 5, Leave)."""
        wanted = command.after_hand if isinstance(command, CashOut) else command.hand_no - 1
        if book.state.settled.get(table, 0) < wanted:
            await self.settle_from_log(book, table)

    async def settle_from_log(self, book: Book, table: str) -> None:
        """Settle a table's verdicts in hand order, from the verdict log itself."""
        async for version, event in self._verdicts(table):
            if event.hand_no > book.state.settled.get(table, 0):
                command = SettleHand(table, event.hand_no, version, event.postings, event.rake)
                await self._submit(book, command, (keys.verdicts(keys.shard_of(table)), version))

    async def _verdicts(self, table: str) -> AsyncIterator[tuple[int, HandVerified | HandResolved]]:
        async for stored in self._kit.log.read_all(keys.verdicts(keys.shard_of(table))):
            for event in decode_commit(stored.body).events:
                if isinstance(event, HandVerified | HandResolved) and event.table == table:
                    yield stored.version, event

    async def _submit(self, book: Book, command: Any, cause: tuple[str, int]) -> None:
        try:
            await book.submit(command, cause=cause, within_s=None)
        except Refused as refused:
            if refused.reason in RETRY:
                raise EventLogError(refused.reason) from None
            raise Poison(f"{type(command).__name__} refused: {refused.reason}") from None


def read(entry: FeedEntry) -> list[tuple[str, Any]]:
    """Decode an entry into (table, event) pairs; raises WireError."""
    name = keys.parse_stream(entry.stream)
    if name is not None and name.kind == "verdicts":
        return [(event.table, event) for event in decode_commit(entry.event).events]
    event = decode_event(entry.event)
    return [(name.table_id, event)] if event is not None and name is not None and name.table_id else []


def table_of(entry: FeedEntry) -> str | None:
    """Return the table an entry is about."""
    pairs = read(entry)
    return pairs[0][0] if pairs else None

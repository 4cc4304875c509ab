"""One table's deck log in memory: its state, and what the dealer writes there.

Named after the box a dealer draws cards from. Whoever uses a shoe holds its lock, so that at most one append of a table
is in flight; appends of different tables share the log's pipeline.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from dealer_service.rebuild import Rebuilt, fold, nothing, rebuild
from dealer_service.seeds import Seeds
from stud_core.clear_deck import ClearDeck
from stud_core.deck import Deck, Seal
from stud_core.deck_events import DeckAudited, DeckCardsDealt, DeckClosed, DeckCommitted, DeckEvent, SealedSeed
from stud_eventlog import keys
from stud_eventlog.types import FeedItem, Head
from stud_service.log_writer import LogWriter
from stud_service.runtime import Runtime
from stud_wire.commits import DecodedCommit, Meta, commit_message, encode_event

CAPACITY = 8192
"""Tables kept in memory. One costs a few kilobytes, and coming back costs a read of its last two hands."""

_UNSEALED = SealedSeed("", b"")

T = TypeVar("T")


class Shoe:
    """See the module. Use it inside ``Shoes.use`` only."""

    def __init__(self, runtime: Runtime, seeds: Seeds, table: str) -> None:
        shard = keys.shard_of(table)
        self.table = table
        self.stream = keys.deck_log(shard, table)
        self.users = 0
        self.changed = asyncio.Condition()
        """Its lock is the shoe's; told after every commit."""
        self._runtime = runtime
        self._seeds = seeds
        self._feed = keys.dealer_feed(shard)
        self._writer = LogWriter(runtime, self.stream, self._fold)
        self._known = nothing()
        self._clear: ClearDeck | None = None
        self._seal: Seal

    def __repr__(self) -> str:
        return f"<Shoe of table {self.table}>"

    async def load(self) -> None:
        """Read the log unless its state is known."""
        await self._writer.know()

    async def catch_up(self) -> bool:
        """Read the log again where somebody else wrote to it; return whether anybody has."""
        return await self._writer.catch_up()

    async def decided(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do what decides and records, again where somebody else wrote first."""
        return await self._writer.decided(work)

    async def _fold(self) -> Head:
        self._clear = None
        self._known = await rebuild(self._runtime.log, self.stream)
        return self._known.head

    @property
    def known(self) -> Rebuilt:
        if self._writer.in_doubt:
            raise RuntimeError(f"the deck log of table {self.table} was not loaded")
        return self._known

    @property
    def deck(self) -> Deck:
        return self.known.deck

    @property
    def head(self) -> Head:
        return self.known.head

    @property
    def is_blank(self) -> bool:
        """Whether nothing is known of this table, or it must be read again."""
        return self._writer.in_doubt or self._known.head.version == 0

    def clear(self) -> ClearDeck:
        """Return the newest deck in clear; opened once for a hand."""
        deck = self.deck
        if self._clear is None or self._clear.commitment != deck.commitment:
            self._clear = self._seeds.open(self.table, deck)
            self._seal = self._seeds.sealer(self._clear)
        return self._clear

    def seal(self, seat: int, pos: int, card: int) -> bytes:
        """Put a down card of the newest deck into its box."""
        self.clear()
        return self._seal(seat, pos, card)

    async def record(self, events: Sequence[DeckEvent], **meta: Any) -> Head:
        """Write one commit with its outbox and fold it; ``meta`` are fields of :class:`Meta`."""
        known = self.known
        about = Meta(at_ms=self._runtime.clock(), build=self._runtime.build, **meta)
        message = commit_message(events, about)
        for event, part in zip(events, message.events, strict=True):
            part.ignorable = isinstance(event, DeckAudited)
        outbox = [
            FeedItem(self._feed, encode_event(_public(event)) if isinstance(event, DeckCommitted) else part)
            for event, part in zip(events, [part.SerializeToString() for part in message.events], strict=True)
            if isinstance(event, DeckCommitted | DeckCardsDealt | DeckClosed)
        ]
        body = message.SerializeToString()
        written = await self._writer.write(self._writer.draft(body, outbox))
        fold(known, DecodedCommit(tuple(events), about), written)
        self.changed.notify_all()
        return written


def _public(committed: DeckCommitted) -> DeckCommitted:
    """The copy for the feed: nobody there can open the seed, so nobody there gets it."""
    return msgspec.structs.replace(committed, seed=_UNSEALED, stacked_order=b"")


class Shoes:
    """The shoes of all tables used lately."""

    def __init__(self, runtime: Runtime, seeds: Seeds, capacity: int = CAPACITY) -> None:
        self._runtime = runtime
        self._seeds = seeds
        self._capacity = capacity
        self._shoes: OrderedDict[str, Shoe] = OrderedDict()

    def __len__(self) -> int:
        return len(self._shoes)

    @asynccontextmanager
    async def use(self, table: str) -> AsyncIterator[Shoe]:
        """Lock a table's shoe, its state read from the log if it is not in memory."""
        shoe = self._shoes.get(table)
        if shoe is None:
            shoe = self._shoes[table] = Shoe(self._runtime, self._seeds, table)
        self._shoes.move_to_end(table)
        shoe.users += 1
        try:
            async with shoe.changed:
                await shoe.load()
                yield shoe
        finally:
            shoe.users -= 1
            self._shrink(shoe)

    def _shrink(self, last: Shoe) -> None:
        """Drop a shoe that holds nothing (anybody may ask for tables that do not exist), then the least recently
        used.
        """
        if not last.users and last.is_blank and self._shoes.get(last.table) is last:
            del self._shoes[last.table]
        surplus = len(self._shoes) - self._capacity
        if surplus > 0:
            idle = [table for table, shoe in self._shoes.items() if not shoe.users]
            for table in idle[:surplus]:
                del self._shoes[table]

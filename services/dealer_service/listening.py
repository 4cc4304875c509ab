"""What the tables tell the dealer, and what it does about it: one commit per message (architecture.md, "A hand")."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from dealer_service.seeds import Seeds
from dealer_service.shoe import Shoe, Shoes
from stud_core.clear_deck import UnknownShuffle
from stud_core.deck import decide_closed, decide_deal, decide_opened
from stud_core.deck_events import DeckCommitted, DeckEvent, LogRef
from stud_core.events import DealRequested, HandEnded, HandVoided, TableOpened
from stud_core.rejection import Rejection
from stud_eventlog import keys
from stud_eventlog.types import FeedEntry
from stud_service.feeds import Poison
from stud_service.runtime import Runtime
from stud_service.sealing import SealError
from stud_wire.commits import decode_event

log = structlog.get_logger(__name__)

Message = TableOpened | DealRequested | HandEnded | HandVoided


def table_of(entry: FeedEntry) -> str | None:
    """Return the table that an entry of a table feed comes from; None for what is not a table's log."""
    name = keys.parse_stream(entry.stream)
    return name.table_id if name is not None and name.kind == "table" else None


class Listener:
    """Handles the entries of one table, in order. Every message may come twice; the second time changes nothing."""

    def __init__(self, runtime: Runtime, seeds: Seeds, shoes: Shoes) -> None:
        self._runtime = runtime
        self._seeds = seeds
        self._shoes = shoes

    async def handle(self, entries: Sequence[FeedEntry]) -> None:
        """Return when the effects of all entries are durable. Raises Poison for what will never work."""
        for entry in entries:
            event = decode_event(entry.event)
            if isinstance(event, Message):
                await self._one(entry, event)

    async def _one(self, entry: FeedEntry, event: Message) -> None:
        table = table_of(entry)
        if table is None:
            raise Poison(f"{entry.stream} is not a table's log")
        async with self._shoes.use(table) as shoe:
            try:
                decided = self._decide(shoe, entry, event)
                if isinstance(decided, Rejection) and await shoe.catch_up():
                    decided = self._decide(shoe, entry, event)  # somebody else had written to this deck's log
            except (SealError, UnknownShuffle) as closed:
                raise Poison(f"{type(closed).__name__}: {closed}") from None
            if isinstance(decided, Rejection):
                raise Poison(f"{type(event).__name__}: {decided.reason}: {decided.text}")
            if decided:
                written = await shoe.record(decided, cause=(entry.stream, entry.version))
                names = [type(made).__name__ for made in decided]
                log.debug("deck", table=table, hand=shoe.deck.hand_no, version=written.version, events=names)

    def _decide(self, shoe: Shoe, entry: FeedEntry, event: Message) -> list[DeckEvent] | Rejection:
        deck = shoe.deck

        def next_deck(hand_no: int) -> DeckCommitted:
            return self._seeds.new_deck(shoe.table, hand_no)

        if isinstance(event, TableOpened):
            return decide_opened(deck, event, next_deck)
        if isinstance(event, DealRequested):
            if deck.stacked and not self._runtime.settings.allow_stacked_decks:
                return Rejection("STACKED_DECKS_OFF", "this dealer runs without --allow-stacked-decks")
            ref = LogRef(entry.stream, entry.version, entry.version, entry.head_hash)
            return decide_deal(deck, event, ref, shoe.clear, shoe.seal)
        table_range = LogRef(entry.stream, event.from_version, entry.version, entry.head_hash)
        head = LogRef(shoe.stream, 1, shoe.head.version, shoe.head.hash)
        return decide_closed(deck, event, table_range, head, lambda: self._seeds.reseal(shoe.clear()), next_deck)

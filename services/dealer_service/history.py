"""What the log says about a hand of long ago, found by bisection: versions and hand numbers rise together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dealer_service.seeds import Committed
from stud_core.deck_events import DeckAwaited, DeckCardsDealt, DeckClosed, DeckCommitted, DeckSealed, LogRef
from stud_core.events import DownCard
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import read_forwards
from stud_eventlog.types import ChainBroken, StoredCommit
from stud_service.limits import Share
from stud_wire.commits import decode_commit

PAGE = 16
"""Commits per read: more than a hand usually has."""


class HandRecord(msgspec.Struct):
    """The deck of one hand as it was logged; ``table`` is the hand's range of the table's log once it is over. ``down``
    are the down cards in the order dealt, where the hand was read from the log.
    """

    committed: Committed
    root: bytes = b""
    table: LogRef | None = None
    down: tuple[DownCard, ...] = ()

    @property
    def closed(self) -> bool:
        return self.table is not None


READ_S = 0.0005
"""What a read costs of the loop's time."""


async def find_hand(
    log: CommitLog, stream: str, last: int, hand_no: int, share: Share | None = None
) -> HandRecord | None:
    """Return the record of a hand within versions 1..``last``; None when it has no deck there. It takes a dozen reads,
    and anybody may ask: it gets only a ``share`` of the loop's time.

    Raises ChainBroken when the commits of the hand do not follow from each other.
    """
    first, best = 1, 0
    while first <= last:
        middle = (first + last) // 2
        found = await _next_hand(log, stream, middle, last)
        if share is not None:
            share.worked(READ_S)
            await share.rest()
        if found is None or found[1] >= hand_no:
            best = found[0] if found is not None else best
            last = middle - 1
        else:
            first = found[0] + 1
    return await _read_hand(log, stream, best, hand_no) if best else None


async def _next_hand(log: CommitLog, stream: str, first: int, last: int) -> tuple[int, int] | None:
    """Return version and newest hand of the first commit from ``first`` to ``last`` that belongs to a hand."""
    async for stored in read_forwards(log, stream, first - 1, up_to=last, page=PAGE):
        hand = newest_hand(decode_commit(stored.body).events)
        if hand is not None:
            return stored.version, hand
    return None


def newest_hand(events: Iterable[object]) -> int | None:
    """Return the newest hand that had a deck when these events were written; None when they do not tell."""
    hands = [
        0 if isinstance(event, DeckAwaited) else event.hand_no
        for event in events
        if isinstance(event, DeckAwaited | DeckCommitted | DeckSealed | DeckCardsDealt | DeckClosed)
    ]
    return max(hands, default=None)


async def _read_hand(log: CommitLog, stream: str, version: int, hand_no: int) -> HandRecord | None:
    record: HandRecord | None = None
    before: StoredCommit | None = None
    async for stored in read_forwards(log, stream, version - 1, page=PAGE):
        if before is not None and stored.prev_hash != before.hash:
            raise ChainBroken(stream, stored.version)
        before = stored
        for event in decode_commit(stored.body).events:
            if isinstance(event, DeckCommitted):
                if record is not None or event.hand_no != hand_no:
                    return record
                record = HandRecord(event)
            elif record is not None and isinstance(event, DeckSealed):
                record.root = event.merkle_root
            elif record is not None and isinstance(event, DeckCardsDealt):
                record.down += event.down
            elif record is not None and isinstance(event, DeckClosed):
                record.table = event.table
    return record

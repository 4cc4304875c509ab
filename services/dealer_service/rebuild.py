"""A table's deck state from nothing but its log, reading no more than its last two hands.

A DeckCommitted starts everything about its hand afresh, and what is remembered of the hand before comes with the events
between the two. So folding from the last but one DeckCommitted gives what folding the whole log gives (a test holds
that for every version), and a table that comes back into the cache costs one read, however many hands it has played.
"""

from __future__ import annotations

import msgspec

from dealer_service.requests import Requests
from stud_core.deck import Deck, evolve
from stud_core.deck_events import DeckCommitted
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import read_backwards
from stud_eventlog.types import Head
from stud_wire.commits import DecodedCommit, decode_commit

WINDOW = 64
"""Commits per step backwards: a hand has two to nine."""


class Rebuilt(msgspec.Struct):
    """What the log says: the deck, the log's head, and the requests that may be repeated."""

    deck: Deck
    head: Head
    requests: Requests


def nothing() -> Rebuilt:
    """Return what an empty log says."""
    return Rebuilt(Deck(), Head(), Requests())


async def rebuild(log: CommitLog, stream: str) -> Rebuilt:
    """Fold the end of a deck's log. Raises ChainBroken (a changed byte), WireError (a log newer than this build)."""
    out = nothing()
    async for stored in log.read_all(stream, await _fold_from(log, stream) - 1):
        fold(out, decode_commit(stored.body), stored.head)
    return out


def fold(out: Rebuilt, commit: DecodedCommit, head: Head) -> None:
    """Take one more commit in, whose head is ``head``."""
    for event in commit.events:
        out.deck = evolve(out.deck, event, head.version)
    out.requests.fold(head.version, commit.meta, commit.events)
    out.head = head


async def _fold_from(log: CommitLog, stream: str) -> int:
    """Return the version of the last but one commit with a DeckCommitted, or 1."""
    seen = 0
    async for stored in read_backwards(log, stream, page=WINDOW):
        seen += any(isinstance(event, DeckCommitted) for event in decode_commit(stored.body).events)
        if seen == 2:
            return stored.version
    return 1

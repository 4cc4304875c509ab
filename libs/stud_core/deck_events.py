"""Facts in a deck log: what the dealer committed to and dealt.

Field names equal those of ``stud/events/v1/deck_events.proto``, which documents units.
"""

from __future__ import annotations

from enum import IntEnum

from stud_core.events import DownCard, E, UpCard


class HandOutcome(IntEnum):
    """How a hand ended at the table."""

    ENDED = 1
    VOIDED = 2


class SealedSeed(E, frozen=True, gc=False):
    """A hand's seed, sealed."""

    key_id: str
    box: bytes


class LogRef(E, frozen=True, gc=False):
    """A range of a log, pinned by its head hash."""

    stream: str
    from_version: int
    to_version: int
    head_hash: bytes


class DeckCommitted(E, frozen=True, gc=False):
    """A deck is fixed before anybody antes."""

    hand_no: int
    commitment: bytes
    seed: SealedSeed
    shuffle_version: int
    stacked: bool
    stacked_order: bytes


class DeckSealed(E, frozen=True, gc=False):
    """The deck's Merkle root, before the first card."""

    hand_no: int
    merkle_root: bytes


class DeckCardsDealt(E, frozen=True, gc=False):
    """The dealer's answer to one DealRequested."""

    hand_no: int
    deal_no: int
    request: LogRef
    burns: tuple[int, ...]
    up: tuple[UpCard, ...]
    down: tuple[DownCard, ...]
    community: int | None
    root: bytes | None
    positions: tuple[int, ...]


class DeckClosed(E, frozen=True, gc=False):
    """A hand is over at the table; the referee may judge it."""

    hand_no: int
    outcome: HandOutcome
    table: LogRef
    deck: LogRef
    seed: SealedSeed
    stacked_order: bytes


class DeckAwaited(E, frozen=True, gc=False):
    """A rehearsal table wants the deck of its first hand, which an operator must stack."""

    hand_no: int
    currency: str


class DeckAudited(E, frozen=True, gc=False):
    """An auditor is about to see a finished hand's deck, or the down cards of one ``account``; stands between the
    events of whatever hand is running.
    """

    hand_no: int
    auditor: str
    reason: str
    account: str = ""


DeckEvent = DeckCommitted | DeckSealed | DeckCardsDealt | DeckClosed | DeckAwaited | DeckAudited

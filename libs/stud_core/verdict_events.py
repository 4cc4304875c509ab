"""Facts in the referee's log.

Field names equal those of ``stud/events/v1/verdict_events.proto``, which documents units.
"""

from __future__ import annotations

from stud_core.deck_events import HandOutcome, LogRef
from stud_core.events import Delta, E, ResolutionChoice, SeatStack


class Finding(E, frozen=True, gc=False):
    """What the referee found wrong; never a card."""

    code: str
    stream: str
    version: int


class HandVerified(E, frozen=True, gc=False):
    """The referee replayed the hand and found it right; the wallet pays these figures."""

    table: str
    hand_no: int
    outcome: HandOutcome
    currency: str
    table_ref: LogRef
    deck_ref: LogRef
    postings: tuple[Delta, ...]
    rake: int
    build: str


class HandDisputed(E, frozen=True, gc=False):
    """The referee found the hand wrong; nothing is paid."""

    table: str
    hand_no: int
    currency: str
    table_ref: LogRef
    deck_ref: LogRef
    findings: tuple[Finding, ...]
    table_postings: tuple[Delta, ...]
    table_rake: int
    referee_postings: tuple[Delta, ...]
    referee_rake: int
    referee_has_figures: bool
    build: str


class ResolutionProposed(E, frozen=True, gc=False):
    """A first operator proposes how to settle a hand."""

    table: str
    hand_no: int
    choice: ResolutionChoice
    operator: str
    reason: str


class HandResolved(E, frozen=True, gc=False):
    """A second operator agreed; treated like a verdict."""

    table: str
    hand_no: int
    currency: str
    choice: ResolutionChoice
    postings: tuple[Delta, ...]
    rake: int
    stacks: tuple[SeatStack, ...]
    operators: tuple[str, ...]
    reason: str


VerdictEvent = HandVerified | HandDisputed | ResolutionProposed | HandResolved

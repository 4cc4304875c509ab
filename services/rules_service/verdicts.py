"""What the referee has said so far, folded from the verdict logs at start and kept up with every append.

One final verdict per table and hand (architecture.md, R3): a hand at or below ``final_hand`` is decided for good.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import msgspec

from rules_service.verdict_check import Known
from stud_core.events import TableHandResolved
from stud_core.remembered import Remembered, name_of
from stud_core.verdict_events import HandDisputed, HandResolved, HandVerified, ResolutionProposed
from stud_eventlog.types import Head
from stud_wire.commits import Meta


class TableVerdicts(msgspec.Struct):
    """Verdicts of one table."""

    final_hand: int = 0
    final_version: int = 0
    resolved: HandResolved | None = None  # the final verdict on final_hand, when operators made it
    disputed: HandDisputed | None = None  # an open dispute
    disputed_hand: int = 0  # the last dispute, open or not
    disputed_version: int = 0
    proposal: ResolutionProposed | None = None
    answered: Remembered = msgspec.field(default_factory=Remembered)  # all of ResolveHand; number 1 = it was final
    versions: array[int] = msgspec.field(default_factory=lambda: array("q"))  # this table's lines in the log …
    hands: array[int] = msgspec.field(default_factory=lambda: array("q"))  # … and the hands they are about

    def known(self) -> Known:
        """Return what the next hand's range must have recorded of these verdicts."""
        resolved = None
        if self.resolved is not None:
            event = self.resolved
            resolved = TableHandResolved(event.hand_no, self.final_version, event.choice, event.stacks)
        return Known(self.final_hand, self.final_version, resolved, self.disputed_hand, self.disputed_version)

    def is_judged(self, hand_no: int) -> bool:
        """Whether a verdict on the hand stands: a final one, or a dispute."""
        return hand_no <= self.final_hand or hand_no == self.disputed_hand


class Proposal(msgspec.Struct, frozen=True):
    """A resolution that waits for a second operator, and the version in the verdict log that proposed it."""

    proposed: ResolutionProposed
    at_ms: int
    version: int


class ShardVerdicts:
    """Verdicts of one shard and the head of its log. ``proposals`` has those that wait, by table."""

    def __init__(self) -> None:
        self.head = Head()
        self.tables: dict[str, TableVerdicts] = {}
        self.proposals: dict[str, Proposal] = {}

    def table(self, table_id: str) -> TableVerdicts:
        """Return the table's book, an empty one when nothing was said yet."""
        found = self.tables.get(table_id)
        if found is None:
            found = self.tables[table_id] = TableVerdicts()
        return found

    def fold(self, head: Head, events: Iterable[Any], meta: Meta) -> None:
        """Take one commit of the verdict log."""
        self.head = head
        for event in events:
            step = _STEPS.get(type(event))
            if step is not None:
                book = self.table(event.table)
                book.versions.append(head.version)
                book.hands.append(event.hand_no)
                step(book, event, head.version, meta)
                self._note(event, head.version, meta)

    def _note(self, event: Any, version: int, meta: Meta) -> None:
        """Another choice replaces a proposal, a final verdict ends it; a dispute changes nothing."""
        if isinstance(event, ResolutionProposed):
            self.proposals[event.table] = Proposal(event, meta.at_ms, version)
        elif isinstance(event, HandVerified | HandResolved):
            self.proposals.pop(event.table, None)


def _verified(book: TableVerdicts, event: HandVerified, version: int, _meta: Meta) -> None:
    _final(book, event.hand_no, version)
    book.resolved = None


def _final(book: TableVerdicts, hand_no: int, version: int) -> None:
    book.final_hand, book.final_version = hand_no, version
    book.disputed = None
    book.proposal = None


def _disputed(book: TableVerdicts, event: HandDisputed, version: int, _meta: Meta) -> None:
    book.disputed, book.disputed_hand, book.disputed_version = event, event.hand_no, version


def _proposed(book: TableVerdicts, event: ResolutionProposed, version: int, meta: Meta) -> None:
    book.proposal = event
    book.answered.put(name_of(meta.actor, meta.request_id), meta.request_digest, version)


def _resolved(book: TableVerdicts, event: HandResolved, version: int, meta: Meta) -> None:
    _final(book, event.hand_no, version)
    book.resolved = event
    book.answered.put(name_of(meta.actor, meta.request_id), meta.request_digest, version, 1)


_STEPS: dict[type, Any] = {
    HandVerified: _verified,
    HandDisputed: _disputed,
    ResolutionProposed: _proposed,
    HandResolved: _resolved,
}

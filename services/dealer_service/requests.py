"""Request ids of accepted calls, folded from the log: a repeated call answers the first result.

See architecture.md, "Calls".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stud_core.deck_events import DeckCommitted
from stud_wire.commits import Meta

KEPT_HANDS = 2
"""This hand and the last."""


class Accepted(msgspec.Struct, frozen=True):
    """An accepted request: a digest of its content, and what it did."""

    digest: bytes
    hand_no: int
    commitment: bytes


class Requests:
    """Accepted requests by caller and id."""

    __slots__ = ("_accepted",)

    def __init__(self) -> None:
        self._accepted: dict[tuple[str, str], Accepted] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requests) and self._accepted == other._accepted

    __hash__ = None  # type: ignore[assignment]  # it changes

    def find(self, actor: str, request_id: str) -> Accepted | None:
        """Return what ``actor`` was answered under this id, None if nothing."""
        return self._accepted.get((actor, request_id))

    def fold(self, meta: Meta, events: Sequence[Any]) -> None:
        """Take a commit in, and forget what is older than the last hand."""
        for event in events:
            if isinstance(event, DeckCommitted):
                oldest = event.hand_no - KEPT_HANDS + 1
                self._accepted = {key: done for key, done in self._accepted.items() if done.hand_no >= oldest}
                if meta.request_id:
                    done = Accepted(meta.request_digest, event.hand_no, event.commitment)
                    self._accepted[meta.actor, meta.request_id] = done

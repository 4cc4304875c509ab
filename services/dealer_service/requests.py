"""Decks that were stacked under a request id, folded from the log: a repeated call gets the first commitment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stud_core.deck_events import DeckCommitted
from stud_core.remembered import Generations, name_of
from stud_service.refusals import Refused
from stud_wire.commits import Meta

KEPT_HANDS = 2
"""This hand and the last."""


class Requests:
    """Accepted calls of this hand and the last, and the commitments they were given."""

    __slots__ = ("_accepted", "_commitments")

    def __init__(self) -> None:
        self._accepted = Generations()
        self._commitments: dict[int, bytes] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requests) and self._accepted == other._accepted

    __hash__ = None  # type: ignore[assignment]  # it changes

    def find(self, actor: str, request_id: str, digest: bytes) -> bytes | None:
        """Return the commitment that ``actor`` was given under this id, None if nothing. Raises
        Refused(REQUEST_ID_REUSED) if it was for another deck.
        """
        first = self._accepted.get(name_of(actor, request_id))
        if first is None:
            return None
        if not first.repeats(digest):
            raise Refused("REQUEST_ID_REUSED", "this request_id stacked another deck")
        return self._commitments[first.number]

    def fold(self, version: int, meta: Meta, events: Sequence[Any]) -> None:
        """Take a commit in, and forget what is older than the last hand."""
        for event in events:
            if isinstance(event, DeckCommitted):
                self._accepted.turn()
                oldest = event.hand_no - KEPT_HANDS + 1
                self._commitments = {no: told for no, told in self._commitments.items() if no >= oldest}
                self._commitments[event.hand_no] = event.commitment
                if meta.request_id:
                    name = name_of(meta.actor, meta.request_id)
                    self._accepted.put(name, meta.request_digest, version, event.hand_no)

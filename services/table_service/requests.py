"""What was accepted under which request id, folded from the log: this hand and the last.

The same id and content answers the first result again; the same id with other content is
REQUEST_ID_REUSED; a refused request is not remembered and is judged afresh (architecture 7).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stud_core.events import BuyInRequested, Event, HandEnded, HandVoided, TopUpRequested
from stud_service.refusals import Refused
from stud_wire.commits import Meta


class Accepted(msgspec.Struct, frozen=True):
    """The first result: version of the commit, and the number it gave out (sitting or top-up; 0 none)."""

    version: int
    digest: bytes
    number: int = 0


class RequestMemory:
    """Two generations of accepted requests; a hand's end drops the older one."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, str], Accepted] = {}
        self._last: dict[tuple[str, str], Accepted] = {}

    def find(self, actor: str, request_id: str, digest: bytes) -> Accepted | None:
        """Return the first result of this request; raises Refused(REQUEST_ID_REUSED) for other content."""
        key = (actor, request_id)
        found = self._now.get(key) or self._last.get(key)
        if found is not None and found.digest != digest:
            raise Refused(
                "REQUEST_ID_REUSED",
                f"request_id {request_id!r} was used for another request: send a new id with new content",
            )
        return found

    def fold(self, version: int, meta: Meta, events: Sequence[Event]) -> None:
        """Remember a commit's request, if it had one, and age the memory when it ended a hand."""
        if meta.request_id:
            self._now[meta.actor, meta.request_id] = Accepted(version, meta.request_digest, number_of(events))
        if any(isinstance(event, HandEnded | HandVoided) for event in events):
            self._last, self._now = self._now, {}


def number_of(events: Sequence[Event]) -> int:
    """Return the sitting or top-up number that a commit gave out, 0 = none."""
    for event in events:
        if isinstance(event, BuyInRequested):
            return event.sitting_no
        if isinstance(event, TopUpRequested):
            return event.top_up_no
    return 0

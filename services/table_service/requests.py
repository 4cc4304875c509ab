"""What was accepted under which request id, folded from the log (architecture.md, "Calls"; ADR 0007).

Requests about money (TakeSeat, AddChips, LeaveSeat) are remembered for good, about 160 bytes a call; everything else
for this hand and the last. The same id and content gets the first result again; the same id with other content is
REQUEST_ID_REUSED; a refused request is not remembered and is judged afresh, and a seat that the wallet declined counts
as refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stud_core import events as ev
from stud_core.events import Event
from stud_core.remembered import First, Generations, Remembered, name_of
from stud_service.refusals import Refused
from stud_wire.commits import Meta

NOTED = 64
"""Requests of one player in one hand that were accepted and wrote nothing: beyond these the oldest is forgotten, since
whoever is seated could fill the memory with them.
"""

RELEASED = 64
"""Reservations whose end is kept for those who wait for them: they look within a turn of the loop."""

_MONEY = (ev.BuyInRequested, ev.TopUpRequested, ev.LeaveRequested, ev.SeatReleased)
"""First events of TakeSeat, AddChips and LeaveSeat; of commits that answer a request only theirs begin so."""


_BUY_IN, _TOP_UP = ev.BuyInRequested, ev.TopUpRequested

_AGEING = frozenset({ev.PlayerSeated, ev.SeatReleased, ev.HandEnded, ev.HandVoided})
"""What ages the memory; few events are."""


class Released(msgspec.Struct, frozen=True):
    """How a reservation ended: by the wallet's word (``declined``), or by its player, its clock or the table's end."""

    reason: str
    balance: int | None
    declined: bool


class RequestMemory:
    """Accepted requests of one table: those about money, and of two hands the others."""

    def __init__(self) -> None:
        self.released: dict[int, Released] = {}
        """The last reservations that ended without a player, by sitting."""
        self._money = Remembered()
        self._reserved: dict[int, bytes] = {}
        self._written = Generations()
        self._noted: dict[str, Generations] = {}
        """By account, those that were accepted and had nothing to write."""

    def find(self, actor: str, request_id: str, digest: bytes, *, unwritten: bool = True) -> First | None:
        """Return the first result of this request; raises Refused(REQUEST_ID_REUSED) for other content.

        ``unwritten`` False: only where it is in the log. A choice ahead was accepted before, and is done now.
        """
        name = name_of(actor, request_id)
        found = self._money.get(name) or self._written.get(name)
        if found is None and unwritten and actor in self._noted:
            found = self._noted[actor].get(name)
        if found is not None and not found.repeats(digest):
            raise Refused(
                "REQUEST_ID_REUSED",
                f"request_id {request_id!r} was used for another request: send a new id with new content",
            )
        return found

    def note(self, actor: str, request_id: str, digest: bytes, version: int) -> None:
        """Remember a request that was accepted and wrote nothing; a restart forgets it."""
        noted = self._noted.setdefault(actor, Generations())
        noted.put(name_of(actor, request_id), digest, version, most=NOTED)

    def fold(self, version: int, meta: Meta, events: Sequence[Event]) -> None:
        """Remember a commit's request, if it had one, and age the memory when it ended a hand."""
        if meta.request_id:
            self._remember(version, meta, events)
        for event in events:
            if type(event) not in _AGEING:
                continue
            if isinstance(event, ev.PlayerSeated):
                self._reserved.pop(event.sitting_no, None)
            elif isinstance(event, ev.SeatReleased):
                self._release(event, events)
            else:
                self._turn()

    def _turn(self) -> None:
        self._written.turn()
        for noted in self._noted.values():
            noted.turn()
        self._noted = {account: noted for account, noted in self._noted.items() if len(noted)}

    def _remember(self, version: int, meta: Meta, events: Sequence[Event]) -> None:
        first = events[0] if events else None
        if not isinstance(first, _MONEY):
            self._written.put_unnamed(meta.actor, meta.request_id, meta.request_digest, version, number_of(events))
            return
        name = name_of(meta.actor, meta.request_id)
        self._money.put(name, meta.request_digest, version, number_of(events))
        if isinstance(first, ev.BuyInRequested):
            self._reserved[first.sitting_no] = name

    def _release(self, event: ev.SeatReleased, events: Sequence[Event]) -> None:
        """When the wallet has declined no money is on its way, and nothing is asked back: that tells it apart."""
        name = self._reserved.pop(event.sitting_no, None)
        asked_back = [other.sitting_no for other in events if isinstance(other, ev.CashOutRequested)]
        declined = event.sitting_no not in asked_back
        if declined and name is not None:
            self._money.forget(name)
        self.released[event.sitting_no] = Released(event.reason, event.balance, declined)
        if len(self.released) > RELEASED:
            del self.released[next(iter(self.released))]


def number_of(events: Sequence[Event]) -> int:
    """Return the sitting or top-up number that a commit gave out, 0 = none."""
    for event in events:
        kind = type(event)  # asked of every commit that is folded: an `isinstance` takes twice as long
        if kind is _BUY_IN or kind is _TOP_UP:
            return event.sitting_no if isinstance(event, ev.BuyInRequested) else event.top_up_no  # type: ignore[union-attr]
    return 0

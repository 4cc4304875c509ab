"""Through whose eyes a table is looked at: an operator's, who read the whole log, or a player's, who were told less.

No card is opened here. A player's down cards come in clear, hand by hand, from whoever had them opened; those of
others, and of a hand that runs, never come in.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.state import Table
from stud_wire.commits import read_event
from table_service.private_views import own, private_view
from table_service.public_events import put_public
from table_service.views import sitting_of

NOT_ASKED: Final = "nobody had them opened"


class Viewer(msgspec.Struct, frozen=True):
    """Who looks. ``account`` empty = an operator. ``down`` are the account's own down cards by hand, in the order dealt
    (cards of the core); ``sealed`` says by hand why there are none, ``otherwise`` for every other hand.
    """

    account: str = ""
    down: Mapping[int, tuple[int, ...]] = MappingProxyType({})
    sealed: Mapping[int, str] = MappingProxyType({})
    otherwise: str = NOT_ASKED

    def __repr__(self) -> str:
        return f"<Viewer {self.account or 'operator'}>"  # there may be down cards in it

    def sees(self, table: Table, event: Any, message: commit_pb2.Event) -> tuple[commit_pb2.Event, Any] | None:
        """Return as much of an event as this viewer was told, as message and as event; None = nothing. ``table`` is the
        table before it.
        """
        if not self.account or self._is_own(table, event):
            return message, event
        update = pb.TableUpdate()
        put_public(update, [message])
        return (update.events[0], read_event(update.events[0])) if update.events else None

    def _is_own(self, table: Table, event: Any) -> bool:
        """Whether it is between this player and the house, who told them in an answer or in their own view; or an
        action of theirs, of which others do not see that it was chosen ahead.
        """
        match event:
            case ev.ActionTaken():
                return table.at(event.seat).account == self.account
            case ev.BuyInRequested() | ev.TopUpRequested():
                return event.account == self.account
            case ev.SeatReleased() | ev.PreferencesSet() | ev.TopUpRefused() | ev.TopUpPending() | ev.PlayerLeft():
                sitting = table.sittings.get(event.sitting_no)
                return sitting is not None and sitting.account == self.account
            case _:
                return False


OPERATOR: Final = Viewer()


def own_view(table: Table, viewer: Viewer) -> tuple[pb.PrivateView | None, str]:
    """Return what a player saw of their own, and why their down cards are not in it (empty: they are, or there are
    none). What a table's log does not say is left out: a choice ahead of the turn.
    """
    sitting = sitting_of(table, viewer.account) if viewer.account else None
    if sitting is None:
        return None, ""
    hand = table.hand
    dealt = 0 if hand is None or sitting.seat not in hand.order else len(hand.down[sitting.seat])
    known = viewer.down.get(hand.hand_no, ()) if hand is not None else ()
    down = known[:dealt] if len(known) >= dealt else ()
    sealed = ""
    if dealt and not down and hand is not None:
        sealed = viewer.sealed.get(hand.hand_no, viewer.otherwise)
    return private_view(own(table, sitting, down)), sealed


def without_boxes(message: commit_pb2.Event) -> commit_pb2.Event:
    """Take the sealed boxes out of an event; where the cards lie in the deck is public."""
    if message.WhichOneof("body") == "cards_dealt":
        for card in message.cards_dealt.down:
            card.ClearField("sealed")
    return message

"""What happened at a table, a short line for each event that players care about. Why it was legal and by which rule is
said by `stud replay`, which has the whole log; here are only the events that everybody at the table is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from stud.common.v1 import seat_pb2
from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import STREETS, card_text
from stud_cli.play.waiting import why_paused
from stud_core.events import OutReason, Verb
from stud_core.house_rules.saying import money
from stud_replay.words.betting import TAKEN
from stud_replay.words.saying import chips, listed
from stud_replay.words.seats import OUT

Names = dict[int, str]
"""Who sits, or sat last, at each seat."""

BY: Final = {
    seat_pb2.ACTION_ORIGIN_TIMEOUT: " (time is up)",
    seat_pb2.ACTION_ORIGIN_LEAVING: " (leaves)",
}


class _At(msgspec.Struct):
    """Where an event happened."""

    names: Mapping[int, str]
    view: pb.TableView
    plain: bool

    def who(self, seat: int) -> str:
        """Who it is about."""
        return self.names.get(seat) or f"seat {seat}"

    def cards(self, codes: Iterable[int]) -> str:
        """Cards by name."""
        return " ".join([card_text(code, plain=self.plain).plain for code in codes])


def lines(
    event: commit_pb2.Event, names: Mapping[int, str], view: pb.TableView, *, plain: bool = False
) -> tuple[str, ...]:
    """Return what an update's event comes to in words, often nothing; ``view`` is the table after it."""
    name = event.WhichOneof("body") or ""
    say = _SAY.get(name)
    text = say(getattr(event, name), _At(names, view, plain)) if say is not None else ""
    return (text,) if text else ()


def taken(action: Any) -> str:
    """Return what an action was: ``raises to 10, all-in``; takes an event or the ``last_action`` of a seat."""
    amount = chips(action.amount, all_in=action.all_in)
    return TAKEN[Verb(action.verb)].format(amount=amount, to=chips(action.to, all_in=action.all_in))


def _seated(event: Any, at: _At) -> str:
    return f"{at.who(event.seat)} sits down with {money(event.stack)}"


def _chips_added(event: Any, at: _At) -> str:
    return f"{at.who(event.seat)} adds {money(event.amount)}: {money(event.stack)}"


def _sat_out(event: Any, at: _At) -> str:
    return f"{at.who(event.seat)} sits out: {OUT[OutReason(event.reason)][0]}"


def _antes(event: Any, at: _At) -> str:
    return f"hand {event.hand_no}: antes of {money(at.view.config.ante)}"


def _ante_posted(event: Any, at: _At) -> str:
    return f"{at.who(event.seat)} antes {money(event.amount)} and is all-in" if event.all_in else ""


def _dealt(event: Any, at: _At) -> str:
    parts = [f"{at.who(card.seat)} {at.cards([card.card])}" for card in event.up]
    if event.community:
        parts.append(f"for everybody {at.cards([event.community])}")
    street = STREETS.get(event.street, "")
    return f"{street}: {', '.join(parts) if parts else 'face down'}"


def _extended(event: Any, at: _At) -> str:
    if event.reason == seat_pb2.EXTENSION_TIME_CHIP:
        return f"{at.who(event.seat)} takes more time ({event.time_chips} time chips left)"
    return f"{at.who(event.seat)} has lost their connection and gets more time"


def _action(event: Any, at: _At) -> str:
    return f"{at.who(event.seat)} {taken(event)}{BY.get(event.by, '')}"


def _uncalled(event: Any, at: _At) -> str:
    return f"{money(event.amount)} that nobody called goes back to {at.who(event.seat)}"


def _shown(event: Any, at: _At) -> str:
    found = [seat.hand_in_words for seat in at.view.last_hand.seats if seat.seat == event.seat]
    found += [seat.hand_in_words for seat in at.view.seats if seat.seat == event.seat]
    words = next((text for text in found if text), "")
    return f"{at.who(event.seat)} shows {at.cards(event.cards)}" + (f": {words}" if words else "")


def _pot(event: Any, at: _At) -> str:
    which = f"side pot {event.pot_no}" if event.pot_no else "the pot"
    to = listed([f"{money(share.amount)} to {at.who(share.seat)}" for share in event.shares])
    return f"{which} of {money(event.amount)}: {to}" + (f", rake {money(event.rake)}" if event.rake else "")


def _voided(event: Any, at: _At) -> str:
    back = listed([f"{money(refund.amount)} to {at.who(refund.seat)}" for refund in event.refunds])
    return f"hand {event.hand_no} is void: {back}"


_SAY: Final[dict[str, Callable[[Any, _At], str]]] = {
    "waiting_joined": lambda *_: "somebody waits for a seat",
    "waiting_left": lambda *_: "somebody waits for a seat no more",
    "seat_offered": lambda event, _: f"seat {event.seat} is offered to who has waited longest",
    "player_seated": _seated,
    "chips_added": _chips_added,
    "sat_out": _sat_out,
    "sat_in": lambda event, at: f"{at.who(event.seat)} is back",
    "leave_requested": lambda event, at: f"{at.who(event.seat)} leaves the table",
    "antes_opened": _antes,
    "ante_posted": _ante_posted,
    "ante_missed": lambda event, at: f"{at.who(event.seat)} posts no ante",
    "antes_returned": lambda event, _: f"hand {event.hand_no}: the antes go back",
    "cards_dealt": _dealt,
    "clock_restarted": lambda *_: "the clock starts afresh: an outage of the house folds nobody",
    "clock_extended": _extended,
    "action_taken": _action,
    "uncalled_returned": _uncalled,
    "hand_shown": _shown,
    "hand_mucked": lambda event, at: f"{at.who(event.seat)} does not show",
    "pot_awarded": _pot,
    "hand_voided": _voided,
    "table_hand_verified": lambda event, _: f"the referee has verified hand {event.hand_no}",
    "table_hand_disputed": lambda event, _: f"hand {event.hand_no} is disputed: operators decide, nothing is paid yet",
    "table_hand_resolved": lambda event, _: f"operators have decided hand {event.hand_no}",
    "table_paused": lambda event, _: why_paused(event.reason),
    "table_resumed": lambda *_: "the table goes on",
    "table_draining": lambda *_: "the table starts no more hands",
    "table_closing": lambda *_: "the table is closing: everybody is paid out",
    "table_closed": lambda *_: "the table is closed",
}
"""What is not here is drawn already (turns, decks), or is nobody's at the table."""

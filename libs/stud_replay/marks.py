"""What happened in a version, as bits of one byte: enough to step by action, street and hand, and to search."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag
from typing import Any, Final

from stud_core import events as ev
from stud_core.decide.boundary import RESERVATION_EXPIRED, SEAT_LEFT, TABLE_NOT_OPEN


class Mark(IntFlag):
    """What a version holds. ANY is every version."""

    ANY = 0
    ACTION = 1
    STREET = 2
    HAND = 4
    SHOWDOWN = 8
    DISPUTE = 16
    REFUSAL = 32
    VOID = 64


_OF: Final[dict[type, Mark]] = {
    ev.ActionTaken: Mark.ACTION,
    ev.CardsDealt: Mark.STREET,
    ev.AntesOpened: Mark.HAND,
    ev.TableHandDisputed: Mark.DISPUTE,
    ev.SeatReleased: Mark.REFUSAL,
    ev.TopUpRefused: Mark.REFUSAL,
    ev.CashOutHeld: Mark.REFUSAL,
    ev.HandVoided: Mark.VOID,
}


def marks_of(events: Sequence[Any]) -> int:
    """Return the marks of a commit."""
    marks = 0
    for event in events:
        mark = _OF.get(type(event))
        if mark is not None:
            if mark is not Mark.REFUSAL or _is_refusal(event):
                marks |= mark
        elif type(event) is ev.HandShown and event.rank > 0:
            marks |= Mark.SHOWDOWN
    return marks


def _is_refusal(event: ev.SeatReleased | ev.TopUpRefused | ev.CashOutHeld) -> bool:
    """Whether money was not there; a reservation may also end for other reasons, of which a balance says nothing."""
    return not isinstance(event, ev.SeatReleased) or event.reason not in _ENDS


_ENDS: Final = frozenset({SEAT_LEFT, TABLE_NOT_OPEN, RESERVATION_EXPIRED})

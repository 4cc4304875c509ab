"""What is said of the waiting list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.house_rules.saying import money
from stud_core.state import Table
from stud_replay.words.saying import Told


def _joined(state: Table, event: ev.WaitingJoined) -> Told:
    why = f"no seat is free; they mean to sit down with {money(event.amount)}"
    return Told(f"{event.account} waits for a seat, number {len(state.waiting) + 1} of the list", why, ("B.22",))


def _left(_state: Table, event: ev.WaitingLeft) -> Told:
    why = "the offer of a seat passed" if event.expired else "they asked to"
    return Told(f"{event.account} waits no more", why, ("B.22",))


def _offered(_state: Table, event: ev.SeatOffered) -> Told:
    what = f"seat {event.seat} is kept for {event.account}"
    return Told(what, "it is free, and they have waited longest", ("B.22",), event.seat)


SAY: Final[dict[type, Callable[[Table, Any], Told]]] = {
    ev.WaitingJoined: _joined,
    ev.WaitingLeft: _left,
    ev.SeatOffered: _offered,
}

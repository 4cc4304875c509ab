"""Sitting down, chips, presence, leaving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.decide.boundary import RESERVATION_EXPIRED, SEAT_LEFT, TABLE_NOT_OPEN
from stud_core.decide.rules import cite
from stud_core.events import OutReason
from stud_core.house_rules.saying import money, span
from stud_core.state import Table
from stud_replay.words.saying import Told, at_seat, of_sitting


def _buy_in_requested(state: Table, event: ev.BuyInRequested) -> Told:
    asked = f" for {money(event.amount)}" if event.amount else ""
    what = f"{event.account} reserves seat {event.seat}{asked}"
    why = "within the limits of the buy-in; the wallet is asked for the money"
    return Told(what, why, (cite(state.rules.ruleset, "P3", "W2"),), event.seat)


def _player_seated(state: Table, event: ev.PlayerSeated) -> Told:
    who, seat = of_sitting(state, event.sitting_no)
    return Told(f"{who} sits down with {money(event.stack)}", "the wallet has paid the buy-in", (), seat)


_RELEASED: Final = {
    SEAT_LEFT: "the player took it back",
    TABLE_NOT_OPEN: "the table is closing",
    RESERVATION_EXPIRED: "the money did not come in time",
}


def _seat_released(state: Table, event: ev.SeatReleased) -> Told:
    who, seat = of_sitting(state, event.sitting_no)
    why = _RELEASED.get(event.reason) or (_declined(event.reason, event.balance) if event.reason else "")
    return Told(f"the reservation of {who} ends", why, (), seat)


def _declined(reason: str, balance: int | None) -> str:
    there = "" if balance is None else f": there was {money(balance)}"
    return f"the wallet declined, {reason}{there}"


def _top_up_requested(state: Table, event: ev.TopUpRequested) -> Told:
    who, seat = of_sitting(state, event.sitting_no)
    what = f"{who} asks for {money(event.amount)} more (top-up {event.top_up_no})"
    return Told(what, "within the limits; the wallet is asked for the money", ("B.19",), seat)


def _top_up_pending(state: Table, event: ev.TopUpPending) -> Told:
    who, seat = of_sitting(state, event.sitting_no)
    what = f"{money(event.amount)} for {who} has come, {money(event.pending)} waits"
    return Told(what, "the wallet has paid; chips are added between hands only", ("B.19",), seat)


def _top_up_refused(state: Table, event: ev.TopUpRefused) -> Told:
    who, seat = of_sitting(state, event.sitting_no)
    return Told(f"the top-up of {who} is refused", _declined(event.reason, event.balance), (), seat)


def _chips_added(state: Table, event: ev.ChipsAdded) -> Told:
    who, seat = of_sitting(state, event.sitting_no)
    what = f"{money(event.amount)} joins the stack of {who}: {money(event.stack)}"
    return Told(what, "no hand is running and the stack lies within the limits", ("B.19",), seat)


OUT: Final = {
    OutReason.REQUESTED: ("they asked to", "B.17"),
    OutReason.MISSED_ACTION: ("they missed their turn", "B.18"),
    OutReason.MISSED_BRING_IN: ("they missed the bring-in", "B.18"),
    OutReason.MISSED_ANTE: ("they missed the ante", "B.18"),
    OutReason.NO_CHIPS: ("there are no chips to play with", "B.19"),
}


def _sat_out(state: Table, event: ev.SatOut) -> Told:
    why, rule = OUT[event.reason]
    if event.leaves_at_ms and state.rules.ruleset.sit_out_max_ms:
        why += f"; after {span(state.rules.ruleset.sit_out_max_ms)} of it the seat is given up"
    return Told(f"{at_seat(state, event.seat)} sits out from the next hand on", why, (rule,), event.seat)


def _sat_in(state: Table, event: ev.SatIn) -> Told:
    what = f"{at_seat(state, event.seat)} is dealt in again from the next hand on"
    return Told(what, "they asked to, and nothing is owed", ("B.17",), event.seat)


def _preferences_set(state: Table, event: ev.PreferencesSet) -> Told:
    ruleset = state.rules.ruleset
    switches = f"Auto Post Ante {_on(event.auto_post)}, Muck Losing Hands {_on(event.muck_losing)}"
    rules = (cite(ruleset, "P7", "B.17"), cite(ruleset, "P44", "B.15"))
    return Told(f"{at_seat(state, event.seat)} sets {switches}", "their own choice", rules, event.seat)


def _on(switch: bool) -> str:
    return "on" if switch else "off"


def _leave_requested(state: Table, event: ev.LeaveRequested) -> Told:
    if event.idle:
        why = "they sat out for as long as this house lets anybody, and are paid out"
        return Told(f"the seat of {at_seat(state, event.seat)} is given up", why, ("B.17",), event.seat)
    why = "they check or fold at once, and are paid out when the hand is over and verified"
    return Told(f"{at_seat(state, event.seat)} leaves", why, ("B.21",), event.seat)


def _cash_out_requested(state: Table, event: ev.CashOutRequested) -> Told:
    if event.claim is None:
        return Told(f"whatever {event.account} had paid in is asked back", "the sitting never sat")
    who, seat = of_sitting(state, event.sitting_no)
    why = "no hand of theirs waits for its verdict any more"
    if event.back_until_ms:
        why += f"; whoever comes back within {span(state.rules.ruleset.rathole_ms)} brings as much"
    return Told(f"{who} is to be paid {money(event.claim)}", why, ("B.19",), seat)


def _player_left(state: Table, event: ev.PlayerLeft) -> Told:
    who = of_sitting(state, event.sitting_no)[0]
    return Told(f"{who} is paid {money(event.paid)} and gone", "the wallet has paid: the sitting is final")


def _cash_out_held(state: Table, event: ev.CashOutHeld) -> Told:
    who = of_sitting(state, event.sitting_no)[0]
    return Told(f"the cash-out of {who} is held", f"claim and escrow differ, two operators decide: {event.reason}")


SAY: Final[dict[type, Callable[[Table, Any], Told]]] = {
    ev.BuyInRequested: _buy_in_requested,
    ev.PlayerSeated: _player_seated,
    ev.SeatReleased: _seat_released,
    ev.TopUpRequested: _top_up_requested,
    ev.TopUpPending: _top_up_pending,
    ev.TopUpRefused: _top_up_refused,
    ev.ChipsAdded: _chips_added,
    ev.SatOut: _sat_out,
    ev.SatIn: _sat_in,
    ev.PreferencesSet: _preferences_set,
    ev.LeaveRequested: _leave_requested,
    ev.CashOutRequested: _cash_out_requested,
    ev.PlayerLeft: _player_left,
    ev.CashOutHeld: _cash_out_held,
}

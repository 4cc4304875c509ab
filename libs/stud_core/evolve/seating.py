"""Sittings: reservation, chips, presence, leaving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from stud_core import events as ev
from stud_core.evolve.changes import lift, own, put
from stud_core.state import CASH_OUT_BLOCKED, Left, Sit, Sitting, Table, Waiter


def _buy_in_requested(state: Table, event: ev.BuyInRequested) -> None:
    state.sittings[event.sitting_no] = Sitting(
        sitting_no=event.sitting_no,
        seat=event.seat,
        account=event.account,
        status=Sit.RESERVED,
        stack=0,
        buy_in=event.amount,
        expires_at_ms=event.expires_at_ms,
        auto_post=event.auto_post,
        muck_losing=event.muck_losing,
        profile=event.profile,
    )
    state.seats = put(state.seats, event.seat, event.sitting_no)
    state.next_sitting_no = event.sitting_no + 1
    if state.waiting:
        _no_longer_waits(state, event.account)


def _player_seated(state: Table, event: ev.PlayerSeated) -> None:
    sitting = own(state, event.sitting_no)
    sitting.status = Sit.SEATED
    sitting.stack = event.stack
    sitting.expires_at_ms = 0
    state.paid_in += event.stack
    if sitting.account in state.left:
        state.left = {account: left for account, left in state.left.items() if account != sitting.account}


def _seat_released(state: Table, event: ev.SeatReleased) -> None:
    """The sitting is final here, unless a CashOutRequested follows: then the wallet's answer ends it."""
    del state.sittings[event.sitting_no]
    state.seats = put(state.seats, event.seat, 0)


def _cash_out_requested(state: Table, event: ev.CashOutRequested) -> None:
    if event.claim is None:  # released before it sat; what its escrow holds will be paid
        state.sittings[event.sitting_no] = Sitting(
            sitting_no=event.sitting_no,
            seat=0,
            account=event.account,
            status=Sit.CASHING_OUT,
            stack=0,
            buy_in=0,
            expires_at_ms=0,
            auto_post=False,
            muck_losing=False,
        )
        return
    sitting = own(state, event.sitting_no)
    sitting.status = Sit.CASHING_OUT
    sitting.claim = event.claim
    state.seats = put(state.seats, sitting.seat, 0)
    if event.back_until_ms:
        _note_leaver(state, event.account, Left(event.claim, event.back_until_ms))


def _note_leaver(state: Table, account: str, left: Left) -> None:
    """Remember what a leaver takes along; what nobody has to bring back by now is forgotten."""
    now = left.until_ms - state.rules.ruleset.rathole_ms
    state.left = {other: kept for other, kept in state.left.items() if kept.until_ms > now} | {account: left}


def _player_left(state: Table, event: ev.PlayerLeft) -> None:
    """What was paid may differ from the stack when operators corrected it: the difference came from outside."""
    sitting = state.sittings.pop(event.sitting_no)
    state.paid_in += event.paid - sitting.stack - sitting.pending
    state.paid_out += event.paid
    lift(state, CASH_OUT_BLOCKED)
    kept = state.left.get(sitting.account)
    if kept is not None and sitting.claim is not None and event.paid != sitting.claim:
        state.left = state.left | {sitting.account: Left(event.paid, kept.until_ms)}


def _cash_out_held(state: Table, event: ev.CashOutHeld) -> None:
    own(state, event.sitting_no).status = Sit.HELD


def _leave_requested(state: Table, event: ev.LeaveRequested) -> None:
    own(state, event.sitting_no).status = Sit.LEAVING


def _top_up_requested(state: Table, event: ev.TopUpRequested) -> None:
    sitting = own(state, event.sitting_no)
    sitting.top_up_no = event.top_up_no
    sitting.top_up_open = sitting.top_up_amount = event.amount
    sitting.top_up_refused = ""
    sitting.top_up_balance = None


def _top_up_pending(state: Table, event: ev.TopUpPending) -> None:
    sitting = own(state, event.sitting_no)
    sitting.top_up_open = 0
    sitting.pending = event.pending
    state.paid_in += event.amount


def _top_up_refused(state: Table, event: ev.TopUpRefused) -> None:
    sitting = own(state, event.sitting_no)
    sitting.top_up_open = 0
    sitting.top_up_refused = event.reason
    sitting.top_up_balance = event.balance


def _chips_added(state: Table, event: ev.ChipsAdded) -> None:
    sitting = own(state, event.sitting_no)
    sitting.pending = event.pending
    sitting.stack = event.stack


def _sat_out(state: Table, event: ev.SatOut) -> None:
    sitting = own(state, event.sitting_no)
    sitting.sitting_out = True
    sitting.out_reason = event.reason
    sitting.out_until_ms = event.leaves_at_ms


def _sat_in(state: Table, event: ev.SatIn) -> None:
    sitting = own(state, event.sitting_no)
    sitting.sitting_out = False
    sitting.out_reason = None
    sitting.out_until_ms = sitting.hands_missed = 0


def _preferences_set(state: Table, event: ev.PreferencesSet) -> None:
    sitting = own(state, event.sitting_no)
    sitting.auto_post = event.auto_post
    sitting.muck_losing = event.muck_losing


def _waiting_joined(state: Table, event: ev.WaitingJoined) -> None:
    state.waiting += (Waiter(event.account, event.amount),)


def _waiting_left(state: Table, event: ev.WaitingLeft) -> None:
    _no_longer_waits(state, event.account)


def _no_longer_waits(state: Table, account: str) -> None:
    state.waiting = tuple([waiter for waiter in state.waiting if waiter.account != account])


def _seat_offered(state: Table, event: ev.SeatOffered) -> None:
    state.waiting = tuple(
        [
            replace(waiter, seat=event.seat, expires_at_ms=event.expires_at_ms)
            if waiter.account == event.account
            else waiter
            for waiter in state.waiting
        ]
    )


APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
    ev.BuyInRequested: _buy_in_requested,
    ev.PlayerSeated: _player_seated,
    ev.SeatReleased: _seat_released,
    ev.CashOutRequested: _cash_out_requested,
    ev.PlayerLeft: _player_left,
    ev.CashOutHeld: _cash_out_held,
    ev.LeaveRequested: _leave_requested,
    ev.TopUpRequested: _top_up_requested,
    ev.TopUpPending: _top_up_pending,
    ev.TopUpRefused: _top_up_refused,
    ev.ChipsAdded: _chips_added,
    ev.SatOut: _sat_out,
    ev.SatIn: _sat_in,
    ev.PreferencesSet: _preferences_set,
    ev.WaitingJoined: _waiting_joined,
    ev.WaitingLeft: _waiting_left,
    ev.SeatOffered: _seat_offered,
}

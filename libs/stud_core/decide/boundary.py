"""What is due between hands: pending chips, cash-outs of those who leave, the end of a closing table.

See architecture.md, "Topping up", "Leaving" and "The life of a table". Commands call ``boundary`` wherever a hand may
just have become final or a sitting free; each part checks for itself whether its moment has come.
"""

from __future__ import annotations

from stud_core import events as ev
from stud_core.decide.away import send_off_idle
from stud_core.decide.draft import Draft
from stud_core.decide.returning import back_until
from stud_core.decide.waiting import offer_seats
from stud_core.presence import in_hand
from stud_core.ruleset import TableConfig, TopUp
from stud_core.state import Life, Sit, Sitting

SEAT_LEFT = "SEAT_LEFT"
TABLE_NOT_OPEN = "TABLE_NOT_OPEN"
RESERVATION_EXPIRED = "RESERVATION_EXPIRED"


def release(draft: Draft, sitting: Sitting, reason: str) -> None:
    """End a reservation. The money may be on its way: a cash-out on the same feed pays back what arrives."""
    draft.emit(ev.SeatReleased(sitting.sitting_no, sitting.seat, reason))
    currency = draft.state.rules.currency
    draft.emit(ev.CashOutRequested(currency, sitting.sitting_no, sitting.account, claim=None, after_hand=0))
    offer_seats(draft)


def free_leavers(draft: Draft) -> None:
    """Cash out everybody who leaves and has no top-up open, no ante posted and no unverified hand behind them."""
    state = draft.state
    for sitting in list(state.sittings.values()):
        if sitting.status is not Sit.LEAVING or sitting.top_up_open:
            continue
        if sitting.last_hand > state.verified_hand or in_hand(state, sitting):
            continue
        draft.emit(
            ev.CashOutRequested(
                state.rules.currency,
                sitting.sitting_no,
                sitting.account,
                claim=sitting.stack + sitting.pending,
                after_hand=sitting.last_hand,
                back_until_ms=back_until(state, sitting, draft.ctx.now_ms),
            )
        )
    offer_seats(draft)


def add_pending_chips(draft: Draft) -> None:
    """Make funded top-ups playable at the first hand boundary where the resulting stack fits (B.19)."""
    state = draft.state
    if state.hand is not None or state.verified_hand < state.ended_hand:
        return
    for sitting in list(state.sittings.values()):
        if sitting.pending and sitting.status is Sit.SEATED and _fits(state.rules, sitting):
            stack = sitting.stack + sitting.pending
            draft.emit(ev.ChipsAdded(sitting.sitting_no, sitting.seat, sitting.pending, pending=0, stack=stack))


def _fits(config: TableConfig, sitting: Sitting) -> bool:
    stack = sitting.stack + sitting.pending
    most = config.max_buy_in
    if most is not None and stack > most:
        return False
    return config.ruleset.top_up is TopUp.ANY_AMOUNT or stack >= config.min_buy_in


def boundary(draft: Draft) -> None:
    """Do whatever is due now."""
    add_pending_chips(draft)
    send_off_idle(draft)
    free_leavers(draft)
    go_on_closing(draft)


def go_on_closing(draft: Draft) -> None:
    """At a closing table send off everybody who is not in the running hand, and close it after the last."""
    state = draft.state
    if state.life is not Life.CLOSING:
        return
    for sitting in list(state.sittings.values()):
        if sitting.status is Sit.RESERVED:
            release(draft, sitting, TABLE_NOT_OPEN)
        elif sitting.status is Sit.SEATED and not in_hand(state, sitting):
            draft.emit(ev.LeaveRequested(sitting.sitting_no, sitting.seat))
    free_leavers(draft)
    if not state.sittings:
        draft.emit(ev.TableClosed())

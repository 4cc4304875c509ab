"""The waiting list: who wants a seat, and whose a seat that becomes free is for a while (B.22).

Whoever waits longest is offered the next free seat. Nobody else can take it until the offer ends; whoever lets it pass
is off the list, and it goes to the next.
"""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide.buying_in import outside_limits
from stud_core.decide.draft import Answer, Draft
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import OFFER_MS
from stud_core.state import Life, Table, Waiter


def join(state: Table, command: cmd.JoinWaitingList, ctx: Context) -> Answer:
    """Wait for a seat, with the buy-in that is meant; only while none is free."""
    if state.life is not Life.OPEN:
        return Rejection(Reason.TABLE_NOT_OPEN, f"the table is {state.life.name.lower()}")
    most = state.rules.ruleset.waiting_list
    if most is None:
        return Rejection(Reason.NO_WAITING_LIST, "this table has no waiting list", "B.22")
    if state.of(command.account) is not None:
        return Rejection(Reason.ALREADY_SEATED, "an account has one seat at a table")
    if state.waiter(command.account) is not None:
        return Rejection(Reason.ALREADY_WAITING, "the account is on the waiting list")
    outside = outside_limits(state, command.account, command.amount, ctx.now_ms)
    if outside is not None:
        return outside
    free = free_seats(state)
    if free:
        return Rejection(Reason.SEAT_FREE, f"seat {free[0]} is free: take it", "B.22")
    if len(state.waiting) >= most:
        return Rejection(Reason.WAITING_LIST_FULL, f"the waiting list has {most} places", "B.22", most=most)
    return [ev.WaitingJoined(command.account, command.amount)]


def leave(state: Table, command: cmd.LeaveWaitingList, ctx: Context) -> Answer:
    """Wait no more; a seat that was offered goes to the next."""
    if state.waiter(command.account) is None:
        return Rejection(Reason.NOT_WAITING, "the account is not on the waiting list")
    draft = Draft(state, ctx)
    draft.emit(ev.WaitingLeft(command.account))
    offer_seats(draft)
    return draft


def free_seats(state: Table, account: str = "") -> list[int]:
    """Seats that the account could take now: its own offer first, those offered to others not at all."""
    offered = {waiter.seat: waiter.account for waiter in state.waiting if waiter.seat}
    free = [seat for seat in range(1, state.rules.ruleset.seats + 1) if not state.seats[seat]]
    mine = [seat for seat in free if offered.get(seat) == account]
    return mine + [seat for seat in free if seat not in offered]


def offer_seats(draft: Draft) -> None:
    """Offer every free seat to whoever has waited longest."""
    state = draft.state
    if not state.waiting or state.life is not Life.OPEN:
        return
    clock = state.rules.ruleset.offer_ms or OFFER_MS
    unoffered = [waiter for waiter in state.waiting if not waiter.seat]
    for waiter, seat in zip(unoffered, free_seats(state), strict=False):
        draft.emit(ev.SeatOffered(waiter.account, seat, draft.deadline(clock)))


def offer_again(draft: Draft) -> None:
    """Give every offer its whole time again, after an outage of ours."""
    clock = draft.state.rules.ruleset.offer_ms or OFFER_MS
    for waiter in draft.state.waiting:
        if waiter.seat:
            draft.emit(ev.SeatOffered(waiter.account, waiter.seat, draft.deadline(clock)))


def expire_offers(draft: Draft) -> None:
    """Whoever let an offer pass is off the list, and the seat is offered to the next."""
    over = [waiter for waiter in draft.state.waiting if _is_over(waiter, draft.ctx.now_ms)]
    for waiter in over:
        draft.emit(ev.WaitingLeft(waiter.account, expired=True))
    offer_seats(draft)


def _is_over(waiter: Waiter, now_ms: int) -> bool:
    return waiter.seat > 0 and waiter.expires_at_ms <= now_ms

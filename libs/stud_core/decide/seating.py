"""Seats: reserving, sitting down, presence, preferences, leaving."""

from __future__ import annotations

from typing import Final

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide import acting, antes, showing
from stud_core.decide.away import put_out
from stud_core.decide.boundary import SEAT_LEFT, boundary, release
from stud_core.decide.buying_in import outside_limits
from stud_core.decide.draft import Answer, Draft
from stud_core.decide.rules import cite
from stud_core.decide.waiting import free_seats, offer_seats
from stud_core.prompts import answered_by
from stud_core.rejection import Reason, Rejection
from stud_core.state import Life, Phase, Sit, Sitting, Table

RESERVATION_MS: Final = 30_000
"""How long a seat waits for its buy-in to be funded (architecture.md, "Buying in")."""


def take_seat(state: Table, command: cmd.TakeSeat, ctx: Context) -> Answer:
    config = state.rules
    ruleset = config.ruleset
    if state.life is not Life.OPEN:
        return Rejection(Reason.TABLE_NOT_OPEN, f"the table is {state.life.name.lower()}")
    if state.of(command.account) is not None:
        return Rejection(Reason.ALREADY_SEATED, "an account has one seat at a table")
    seats = ruleset.seats
    rule = cite(ruleset, "P2", "W3")
    if command.seat is not None and not 1 <= command.seat <= seats:
        text = f"seats are numbered 1 to {seats}"
        return Rejection(Reason.SEAT_OUT_OF_RANGE, text, rule, field="seat", least=1, most=seats)
    free = free_seats(state, command.account)
    if command.seat is not None and command.seat not in free:
        kept = "taken" if state.seats[command.seat] else "kept for somebody from the waiting list"
        return Rejection(Reason.SEAT_TAKEN, f"seat {command.seat} is {kept}")
    if not free:
        kept = "" if all(state.seats[1 : seats + 1]) else ", or kept for the waiting list"
        return Rejection(Reason.TABLE_FULL, f"all {seats} seats are taken{kept}", rule)
    seat = command.seat or free[0]
    alike = _of_that_name(state, command.profile)
    if alike is not None:
        text = f"somebody at the table is called {alike.name!r}, which looks the same: choose another"
        return Rejection(Reason.NAME_TAKEN, text)
    outside = outside_limits(state, command.account, command.amount, ctx.now_ms)
    if outside is not None:
        return outside
    auto_post, muck = command.auto_post, command.muck_losing
    draft = Draft(state, ctx)
    draft.emit(
        ev.BuyInRequested(
            currency=config.currency,
            stacked=config.stacked,
            sitting_no=state.next_sitting_no,
            seat=seat,
            account=command.account,
            amount=command.amount,
            expires_at_ms=ctx.now_ms + RESERVATION_MS,
            auto_post=ruleset.auto_post_default if auto_post is None else auto_post,
            muck_losing=ruleset.muck_losing_default if muck is None else muck,
            profile=command.profile,
        )
    )
    offer_seats(draft)  # whoever was offered another seat leaves that one to the next
    return draft


def _of_that_name(state: Table, profile: ev.Profile | None) -> ev.Profile | None:
    """Return the profile of somebody at the table whose name cannot be told from this one."""
    if profile is not None and profile.name_key:
        for number in filter(None, state.seats):
            other = state.sittings[number].profile
            if other is not None and other.name_key == profile.name_key:
                return other
    return None


def unknown(state: Table, sitting_no: int) -> Rejection:
    """Refuse a fact about a sitting that is not there: it is final already, or never was."""
    if 0 < sitting_no < state.next_sitting_no:
        return Rejection(Reason.ALREADY_DONE, f"sitting {sitting_no} is final")
    return Rejection(Reason.UNKNOWN_SITTING, f"there is no sitting {sitting_no}")


def record_funding(state: Table, command: cmd.RecordFunding, _ctx: Context) -> Answer:
    sitting = state.sittings.get(command.sitting_no)
    if sitting is None:
        return unknown(state, command.sitting_no)
    if sitting.status is not Sit.RESERVED:
        return Rejection(Reason.ALREADY_DONE, f"sitting {sitting.sitting_no} waits for no buy-in")
    if command.amount != sitting.buy_in:
        return not_asked(sitting.sitting_no, sitting.buy_in, command.amount)
    return [ev.PlayerSeated(sitting.sitting_no, sitting.seat, command.amount)]


def record_funding_declined(state: Table, command: cmd.RecordFundingDeclined, ctx: Context) -> Answer:
    sitting = state.sittings.get(command.sitting_no)
    if sitting is None:
        return unknown(state, command.sitting_no)
    if sitting.status is not Sit.RESERVED:
        return Rejection(Reason.ALREADY_DONE, f"sitting {sitting.sitting_no} waits for no buy-in")
    draft = Draft(state, ctx)
    draft.emit(ev.SeatReleased(sitting.sitting_no, sitting.seat, command.reason, command.balance))
    offer_seats(draft)
    return draft


def not_asked(sitting_no: int, asked: int, amount: int) -> Rejection:
    """The wallet reports another amount than it was asked for: no chip may come to the table or leave it for that."""
    return Rejection(Reason.CLAIM_MISMATCH, f"sitting {sitting_no} asked for {asked}, the wallet reports {amount}")


def seated(state: Table, account: str, *, or_reserved: bool = False) -> Sitting | Rejection:
    """The account's sitting if it sits (or has reserved) and does not leave."""
    sitting = state.of(account)
    if sitting is None or (sitting.status is Sit.RESERVED and not or_reserved):
        return Rejection(Reason.NOT_SEATED, "the account does not sit at this table")
    if sitting.status not in {Sit.SEATED, Sit.RESERVED}:
        return Rejection(Reason.LEAVING, "the account is leaving this table")
    return sitting


def sit_out(state: Table, command: cmd.SitOut, ctx: Context) -> Answer:
    """Sit out from the next hand on; an open ante prompt is declined (B.17)."""
    sitting = seated(state, command.account)
    if isinstance(sitting, Rejection):
        return sitting
    if sitting.sitting_out:
        return Rejection(Reason.ALREADY_SITTING_OUT, "the account is sitting out already")
    draft = Draft(state, ctx)
    seat = sitting.seat
    put_out(draft, sitting, ev.OutReason.REQUESTED)
    hand = state.hand
    if hand is not None:
        if hand.phase is Phase.ANTES:
            antes.decline(draft, seat)
        elif hand.turn_seat == seat and state.rules.ruleset.away_folds_now:
            acting.act_for(draft, seat, hand.turn_id)
            acting.go_on(draft, seat)
    return draft


def sit_in(state: Table, command: cmd.SitIn, _ctx: Context) -> Answer:
    """Be dealt in again from the next hand on; nothing is owed for antes missed (B.17)."""
    sitting = seated(state, command.account)
    if isinstance(sitting, Rejection):
        return sitting
    if not sitting.sitting_out:
        return Rejection(Reason.NOT_SITTING_OUT, "the account is not sitting out")
    playing = state.hand is not None and state.hand.live[sitting.seat]
    if not (sitting.stack or sitting.pending or playing):
        return Rejection(Reason.NO_CHIPS, "there are no chips to play with: top up first", "B.19")
    return [ev.SatIn(sitting.sitting_no, sitting.seat)]


def set_preferences(state: Table, command: cmd.SetPreferences, ctx: Context) -> Answer:
    """Set what holds from now on; switching it on answers the question that is open to the player (P6, P44)."""
    sitting = seated(state, command.account, or_reserved=True)
    if isinstance(sitting, Rejection):
        return sitting
    auto_post = sitting.auto_post if command.auto_post is None else command.auto_post
    muck = sitting.muck_losing if command.muck_losing is None else command.muck_losing
    if (auto_post, muck) == (sitting.auto_post, sitting.muck_losing):
        return []
    draft = Draft(state, ctx)
    seat = sitting.seat
    draft.emit(ev.PreferencesSet(sitting.sitting_no, seat, auto_post, muck))
    prompt = answered_by(state, command)
    if prompt is None or antes.is_late(prompt, ctx):
        return draft
    if prompt.kind is None:
        antes.post(draft, seat)
        antes.finish(draft)
    else:
        showing.close_prompt(draft, seat)
    return draft


def leave_seat(state: Table, command: cmd.LeaveSeat, ctx: Context) -> Answer:
    """Leave: at once, or as soon as the last hand dealt in is verified (architecture.md, "Leaving").

    In a running hand the player checks if it is free and otherwise folds, now if it is their turn and at once at every
    later one; they post the bring-in, and stay in when all-in (B.21).
    """
    sitting = state.of(command.account)
    if sitting is None:
        return Rejection(Reason.NOT_SEATED, "the account does not sit at this table")
    draft = Draft(state, ctx)
    if sitting.status is Sit.RESERVED:
        release(draft, sitting, SEAT_LEFT)
        return draft
    if sitting.status is not Sit.SEATED:
        return Rejection(Reason.LEAVING, "the account is leaving already")
    seat = sitting.seat
    draft.emit(ev.LeaveRequested(sitting.sitting_no, seat))
    hand = state.hand
    if hand is not None:
        if hand.phase is Phase.ANTES:
            antes.decline(draft, seat)
        elif hand.turn_seat == seat:
            acting.act_for(draft, seat, hand.turn_id)
            acting.go_on(draft, seat)
        elif any(prompt.seat == seat for prompt in hand.prompts):
            showing.close_prompt(draft, seat)
    boundary(draft)
    return draft

"""What operators do to a table: open, pause, drain, close it, void a hand.

See architecture.md, "The life of a table" and "A void".
"""

from __future__ import annotations

from typing import Final

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide import antes, showing
from stud_core.decide.boundary import go_on_closing
from stud_core.decide.draft import Answer, Draft
from stud_core.decide.waiting import offer_seats
from stud_core.rejection import Reason, Rejection
from stud_core.state import (
    CASH_OUT_BLOCKED,
    DEALER_SILENT,
    DISPUTED,
    SETTLEMENT_BLOCKED,
    SYSTEM_PAUSES,
    Life,
    Phase,
    Table,
)
from stud_core.validate import validate_config

DRAINING = "TABLE_DRAINING"

_WHAT_STANDS: Final = {
    DISPUTED: "a hand is in dispute: ResolveHand ends it",
    SETTLEMENT_BLOCKED: "a settlement is blocked: the table goes on when the ledger is corrected and has booked it",
    CASH_OUT_BLOCKED: "a cash-out is held: the table goes on when ResolveCashOut has paid it",
}


def open_table(state: Table, command: cmd.OpenTable, _ctx: Context) -> Answer:
    if state.config is not None:
        return Rejection(Reason.TABLE_EXISTS, "this table was opened before")
    problems = validate_config(command.config)
    if problems:
        return Rejection.of_config(problems)
    return [ev.TableOpened(command.config)]


def _not_open(state: Table) -> Rejection:
    return Rejection(Reason.TABLE_NOT_OPEN, f"the table is {state.life.name.lower()}")


def pause_table(state: Table, command: cmd.PauseTable, _ctx: Context) -> Answer:
    """Start no new hand; a running one goes on."""
    if state.life is Life.CLOSED:
        return _not_open(state)
    if command.operator:  # over what the system paused for, and may end by itself
        paused = state.paused not in {"", *SYSTEM_PAUSES}
    elif command.reason == DEALER_SILENT:
        paused = state.paused != ""
    elif command.reason == SETTLEMENT_BLOCKED:
        paused = state.settlement_blocked
    elif command.reason in SYSTEM_PAUSES:  # operators must see it, whatever they paused for
        paused = state.paused == command.reason
    else:  # a message that could not be handled
        paused = state.parked == command.reason
    if paused:
        return Rejection(Reason.TABLE_PAUSED, f"the table is paused: {state.stands_for}")
    return [ev.TablePaused(command.reason or "PAUSED", command.operator)]


def resume_table(state: Table, command: cmd.ResumeTable, ctx: Context) -> Answer:
    """End a pause, and draining; not while a pause about money stands."""
    if state.life is Life.CLOSED:
        return _not_open(state)
    if command.reason:
        if state.parked != command.reason:
            return Rejection(Reason.TABLE_NOT_PAUSED, f"the table is not paused for {command.reason}")
        return [ev.TableResumed(command.operator, command.reason)]
    if state.standing:
        return Rejection(Reason.TABLE_PAUSED, _WHAT_STANDS[state.standing])
    if not (state.paused or state.parked) and state.life is not Life.DRAINING:
        return Rejection(Reason.TABLE_NOT_PAUSED, "the table is neither paused nor draining")
    draft = Draft(state, ctx)
    draft.emit(ev.TableResumed(command.operator))
    offer_seats(draft)
    return draft


def drain_table(state: Table, command: cmd.DrainTable, ctx: Context) -> Answer:
    """Finish the running hand and start none; an ante round that has not become a hand is called off."""
    if state.life is not Life.OPEN:
        return _not_open(state)
    draft = Draft(state, ctx)
    draft.emit(ev.TableDraining(command.operator))
    _call_off_antes(draft)
    return draft


def close_table(state: Table, command: cmd.CloseTable, ctx: Context) -> Answer:
    """Cash everybody out, players in the running hand after it, and end the table; it cannot be resumed.

    A question whether to show that has no clock is answered with no: nothing else would be sure to end the hand.
    """
    if state.life not in {Life.OPEN, Life.DRAINING}:
        return _not_open(state)
    draft = Draft(state, ctx)
    if state.life is Life.OPEN:
        draft.emit(ev.TableDraining(command.operator))
    _call_off_antes(draft)
    draft.emit(ev.TableClosing(command.operator))
    showing.close_endless_prompts(draft)
    go_on_closing(draft)
    return draft


def _call_off_antes(draft: Draft) -> None:
    hand = draft.state.hand
    if hand is not None and hand.phase is Phase.ANTES:
        antes.give_back(draft, DRAINING)


def void_hand(state: Table, command: cmd.VoidHand, ctx: Context) -> Answer:
    """Give every contribution back exactly once (architecture.md, "A void"), as long as no pot is paid.

    A question whether to show only delays the end of a hand that is decided (B.21). What was won is taken back by two
    operators and a resolution, never by one.
    """
    hand = state.hand
    if hand is None or command.hand_no != hand.hand_no:
        if 0 < command.hand_no <= state.ended_hand:
            return Rejection(Reason.HAND_ALREADY_ENDED, f"hand {command.hand_no} is over")
        return Rejection(Reason.NO_HAND, f"no hand {command.hand_no} is running")
    if hand.phase is Phase.SHOW_PROMPTS:
        text = f"the pots of hand {command.hand_no} are paid: once it is over, use ResolveHand"
        return Rejection(Reason.HAND_ALREADY_ENDED, text, "B.21")
    draft = Draft(state, ctx)
    if hand.phase is Phase.ANTES:
        antes.give_back(draft, command.reason)
        return draft
    refunds = tuple([ev.Refund(seat, hand.paid[seat], hand.start[seat]) for seat in hand.order])
    draft.emit(ev.HandVoided(hand.hand_no, state.from_version, refunds, command.reason, command.operator))
    go_on_closing(draft)
    return draft

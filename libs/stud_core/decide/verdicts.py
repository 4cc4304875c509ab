"""What the referee and the operators say about an ended hand (architecture.md, R4 and "A dispute")."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide.boundary import boundary
from stud_core.decide.draft import Answer, Draft
from stud_core.rejection import Reason, Rejection
from stud_core.state import DISPUTED, Table


def record_verdict(state: Table, command: cmd.RecordVerdict, ctx: Context) -> Answer:
    """The last hand is verified: the gate opens and those who leave are cashed out."""
    refusal = _out_of_turn(state, command.hand_no)
    if refusal is not None:
        return refusal
    draft = Draft(state, ctx)
    draft.emit(ev.TableHandVerified(command.hand_no, command.verdict_version))
    boundary(draft)
    return draft


def record_dispute(state: Table, command: cmd.RecordDispute, ctx: Context) -> Answer:
    """The referee disputes the last hand: nothing of it is paid, and the table stands until it is resolved."""
    refusal = _out_of_turn(state, command.hand_no)
    if refusal is not None:
        return refusal
    if command.hand_no == state.disputed_hand:
        return Rejection(Reason.ALREADY_DONE, f"hand {command.hand_no} is in dispute")
    draft = Draft(state, ctx)
    draft.emit(ev.TableHandDisputed(command.hand_no, command.verdict_version, command.findings))
    if not state.paused:
        draft.emit(ev.TablePaused(DISPUTED, operator=""))
    return draft


def record_resolution(state: Table, command: cmd.RecordResolution, ctx: Context) -> Answer:
    """Two operators decided the last hand: take their stacks, or those before the hand when it is void."""
    refusal = _out_of_turn(state, command.hand_no)
    if refusal is not None:
        return refusal
    stacks = command.stacks
    strangers = [entry.sitting_no for entry in stacks if entry.sitting_no not in state.sittings]
    if strangers:
        return Rejection(Reason.UNKNOWN_SITTING, f"there is no sitting {strangers[0]}")
    draft = Draft(state, ctx)
    if command.choice is ev.ResolutionChoice.VOID:
        stacks = tuple(
            [
                ev.SeatStack(state.sittings[sitting_no].seat, sitting_no, stack)
                for sitting_no, stack in state.hand_start_stacks
            ]
        )
    draft.emit(ev.TableHandResolved(command.hand_no, command.verdict_version, command.choice, stacks))
    boundary(draft)
    return draft


def _out_of_turn(state: Table, hand_no: int) -> Rejection | None:
    if hand_no <= state.verified_hand:
        return Rejection(Reason.ALREADY_DONE, f"hand {hand_no} has its final verdict")
    if hand_no != state.ended_hand:
        return Rejection(Reason.NO_HAND, f"hand {hand_no} has not ended at this table")
    return None

"""The start of a hand: antes, and who is dealt in (B.17; architecture.md, "A hand")."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide.away import put_out
from stud_core.decide.boundary import boundary
from stud_core.decide.draft import Answer, Draft
from stud_core.decide.time_bank import chips_for_hand
from stud_core.gate import hand_gate, is_ready
from stud_core.prompts import prompt_of
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import DealOrigin
from stud_core.state import Phase, Prompt, Sit, Table

TOO_FEW_ANTES = "TOO_FEW_ANTES"


def start_hand(state: Table, _command: cmd.StartHand, ctx: Context) -> Answer:
    """Open the antes; with nobody to ask, start the hand in the same commit."""
    wait = hand_gate(state)
    if wait:
        return Rejection(Reason.HAND_NOT_STARTABLE, f"no hand can start: {wait}")
    draft = Draft(state, ctx)
    _sit_out_broke(draft)
    ready = [seat for seat, number in enumerate(state.seats) if number and is_ready(draft.state, seat)]
    prompted = tuple([seat for seat in ready if not draft.state.at(seat).auto_post])
    posting = tuple([seat for seat in ready if draft.state.at(seat).auto_post])
    clock = state.rules.ruleset.ante_clock_ms if prompted else 0
    engine = None if ctx.engine is ev.Engine.FIRST else ctx.engine
    draft.emit(ev.AntesOpened(state.deck_hand_no, ctx.version, draft.deadline(clock), prompted, posting, engine))
    for seat in posting:
        post(draft, seat)
    finish(draft)
    return draft


def _sit_out_broke(draft: Draft) -> None:
    """Sit out whoever has nothing to play with."""
    state = draft.state
    for sitting in list(state.sittings.values()):
        if sitting.status is Sit.SEATED and not sitting.stack and not sitting.sitting_out:
            put_out(draft, sitting, ev.OutReason.NO_CHIPS)


def post(draft: Draft, seat: int) -> None:
    """Post the ante, or all the player has when that is less (B.4)."""
    hand_no = draft.state.running.hand_no
    stack = draft.state.at(seat).stack
    amount = min(draft.state.rules.ante, stack)
    draft.emit(ev.AntePosted(hand_no, seat, amount, all_in=amount == stack, stack=stack - amount))


def post_ante(state: Table, command: cmd.PostAnte, ctx: Context) -> Answer:
    """Answer the ante prompt; declining sits the player out, and they owe nothing later (B.17)."""
    hand = state.hand
    sitting = state.of(command.account)
    if sitting is None:
        return Rejection(Reason.NOT_SEATED, "the account does not sit at this table")
    prompt = None if hand is None or hand.phase is not Phase.ANTES else prompt_of(hand.prompts, sitting.seat)
    if prompt is None:
        return Rejection(Reason.NO_PROMPT, "no ante is being asked for")
    refusal = check_prompt(prompt, command.prompt_id, ctx)
    if refusal is not None:
        return refusal
    draft = Draft(state, ctx)
    if command.post:
        post(draft, sitting.seat)
    else:
        draft.emit(ev.AnteMissed(draft.state.running.hand_no, sitting.seat))
        if not sitting.sitting_out:
            put_out(draft, sitting, ev.OutReason.REQUESTED)
    finish(draft)
    return draft


def check_prompt(prompt: Prompt, prompt_id: int, ctx: Context) -> Rejection | None:
    """Refuse an answer to another prompt, or one that comes after the deadline (B.18)."""
    if prompt_id != prompt.prompt_id:
        text = f"the open prompt is {prompt.prompt_id}, not {prompt_id}"
        return Rejection(Reason.STALE_PROMPT, text, prompt_id=prompt.prompt_id)
    if is_late(prompt, ctx):
        return Rejection(Reason.DEADLINE_PASSED, "the answer came after the deadline", "B.18")
    return None


def is_late(prompt: Prompt, ctx: Context) -> bool:
    return bool(prompt.deadline_ms) and ctx.now_ms > prompt.deadline_ms


def decline(draft: Draft, seat: int) -> None:
    """Treat the seat's open ante prompt, if it has one, as declined."""
    hand = draft.state.running
    if prompt_of(hand.prompts, seat) is not None:
        draft.emit(ev.AnteMissed(hand.hand_no, seat))
        finish(draft)


def finish(draft: Draft) -> None:
    """Once no ante is being asked for: start the hand, or give the antes back when fewer than two came."""
    state = draft.state
    hand = state.running
    if hand.prompts:
        return
    posted = [seat for seat, is_in in enumerate(hand.live) if is_in]
    if len(posted) < 2:
        give_back(draft, TOO_FEW_ANTES)
        return
    button, order = _seating(state, posted)
    dealt_in = tuple([_dealt_in(state, seat) for seat in order])
    draft.emit(ev.HandStarted(hand.hand_no, state.rules.ruleset.version, draft.ctx.build, button, dealt_in))
    draft.emit(ev.DealRequested(hand.hand_no, 1, 3, ev.DealMode.NORMAL, burn=False, targets=order))


def _dealt_in(state: Table, seat: int) -> ev.DealtIn:
    sitting = state.at(seat)
    chips = chips_for_hand(state, sitting)
    return ev.DealtIn(seat, sitting.sitting_no, sitting.account, sitting.stack, chips)


def _seating(state: Table, posted: list[int]) -> tuple[int, tuple[int, ...]]:
    """Button (0 with a fixed dealer) and deal order of a hand.

    From the lowest seat (P10-P11), or from the left of a button that moves to the next player clockwise (W26);
    the first button is the highest seat that posts, so that both begin alike. A hand that never had a card does not
    count, as if it had never been (B.21).
    """
    if state.rules.ruleset.deal_origin is DealOrigin.FIXED:
        return 0, tuple(posted)
    last = state.button if state.running.engine is ev.Engine.FIRST else state.dealt_button
    button = next((seat for seat in posted if seat > last), posted[0]) if last else posted[-1]
    return button, tuple([s for s in posted if s > button] + [s for s in posted if s <= button])


def give_back(draft: Draft, reason: str) -> None:
    """Return every ante; number and deck serve the next attempt."""
    state = draft.state
    hand = state.running
    refunds = tuple(
        [ev.Refund(seat, hand.paid[seat], hand.start[seat]) for seat, is_in in enumerate(hand.live) if is_in]
    )
    draft.emit(ev.AntesReturned(hand.hand_no, refunds, reason))
    boundary(draft)

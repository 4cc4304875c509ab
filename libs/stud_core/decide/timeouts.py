"""Clocks: what happens when they run out, and fresh ones after a fault of ours (B.18; architecture.md, "Time")."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.betting import default_action, is_forced
from stud_core.commands import Context
from stud_core.decide import acting, antes, showing
from stud_core.decide.away import put_out, send_off_idle
from stud_core.decide.boundary import RESERVATION_EXPIRED, free_leavers, go_on_closing, release
from stud_core.decide.draft import Answer, Draft
from stud_core.decide.seating import RESERVATION_MS
from stud_core.decide.waiting import expire_offers, offer_again
from stud_core.state import Hand, Phase, Sit, Sitting, Table
from stud_core.timers import next_deadline


def tick(state: Table, _command: cmd.Tick, ctx: Context) -> Answer:
    """Take every timeout that is due; nothing to record when none is."""
    now = ctx.now_ms
    over = [s for s in state.sittings.values() if s.status is Sit.RESERVED and _is_over(s, now)]
    due = next_deadline(state)
    if not over and (due is None or due > now):
        return []
    draft = Draft(state, ctx)
    for sitting in over:
        release(draft, sitting, RESERVATION_EXPIRED)
    hand = state.hand
    if hand is not None:
        if hand.turn_seat and hand.deadline_ms and hand.deadline_ms <= now:
            _miss_turn(draft, hand.turn_seat)
        for prompt in hand.prompts:
            if prompt.deadline_ms and prompt.deadline_ms <= now:
                _miss_prompt(draft, prompt.seat, hand.phase)
    if send_off_idle(draft):
        free_leavers(draft)
    expire_offers(draft)
    go_on_closing(draft)
    return draft


def _is_over(reserved: Sitting, now_ms: int) -> bool:
    """Whether a reservation has run out. One that ends later than any can was made by a clock that was ahead: when it
    should end is unknown, so it is over too.
    """
    return not now_ms < reserved.expires_at_ms <= now_ms + RESERVATION_MS


def _miss_turn(draft: Draft, seat: int) -> None:
    """Check if it is free, else fold; the bring-in is posted. The player sits out from the next hand on."""
    hand = draft.state.running
    reason = ev.OutReason.MISSED_BRING_IN if is_forced(hand, seat) else ev.OutReason.MISSED_ACTION
    acting.take(draft, seat, default_action(hand.options), hand.turn_id, ev.By.TIMEOUT)
    _sit_out(draft, seat, reason)
    acting.go_on(draft, seat)


def _miss_prompt(draft: Draft, seat: int, phase: Phase) -> None:
    """No ante, no cards: the player sits out. No answer to a show prompt: not shown, and nothing else."""
    if phase is Phase.ANTES:
        draft.emit(ev.AnteMissed(draft.state.running.hand_no, seat))
        _sit_out(draft, seat, ev.OutReason.MISSED_ANTE)
        antes.finish(draft)
    else:
        showing.close_prompt(draft, seat)


def _sit_out(draft: Draft, seat: int, reason: ev.OutReason) -> None:
    sitting = draft.state.at(seat)
    if sitting.status is Sit.SEATED and not sitting.sitting_out:
        put_out(draft, sitting, reason)


def restart_clocks(state: Table, command: cmd.RestartClocks, ctx: Context) -> Answer:
    """Give the open turn, each open prompt, whoever sits out and each offer of a seat a fresh full deadline: an outage
    of ours never folds a player, and takes nobody's seat.
    """
    draft = Draft(state, ctx)
    if state.hand is not None:
        _restart_hand(draft, state.hand, command.reason)
    clock = state.rules.ruleset.sit_out_max_ms or 0
    for sitting in state.sittings.values():
        if sitting.out_until_ms and sitting.status is Sit.SEATED:
            number = sitting.sitting_no
            draft.emit(ev.ClockRestarted(None, None, draft.deadline(clock), command.reason, number))
    offer_again(draft)
    return draft


def _restart_hand(draft: Draft, hand: Hand, reason: str) -> None:
    ruleset = draft.state.rules.ruleset
    if hand.turn_seat and hand.deadline_ms:
        deadline = draft.deadline(ruleset.action_clock_ms + hand.extended_ms)
        draft.emit(ev.ClockRestarted(hand.turn_id, None, deadline, reason))
    clock = ruleset.ante_clock_ms if hand.phase is Phase.ANTES else ruleset.show_clock_ms
    for prompt_id in sorted({prompt.prompt_id for prompt in hand.prompts if prompt.deadline_ms}):
        draft.emit(ev.ClockRestarted(None, prompt_id, draft.deadline(clock), reason))

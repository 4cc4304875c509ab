"""Showing, pots, and the end of a hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.evolve.changes import put, set_stack
from stud_core.evolve.hand import drop_prompt
from stud_core.state import Phase, Prompt, Table


def _show_prompted(state: Table, event: ev.ShowPrompted) -> None:
    hand = state.running
    hand.phase = Phase.SHOW_PROMPTS
    hand.prompts += (Prompt(event.prompt_id, event.seat, event.deadline_ms, event.kind),)


def _hand_shown(state: Table, event: ev.HandShown) -> None:
    hand = state.running
    hand.shown = put(hand.shown, event.seat, event.cards)
    hand.ranks = put(hand.ranks, event.seat, event.rank)
    drop_prompt(hand, event.seat)


def _hand_mucked(state: Table, event: ev.HandMucked) -> None:
    drop_prompt(state.running, event.seat)


def _pot_awarded(state: Table, event: ev.PotAwarded) -> None:
    hand = state.running
    hand.awarded += event.amount
    hand.rake += event.rake
    hand.paid_pots += (event,)
    for share in event.shares:
        set_stack(state, share.seat, share.stack)


def _hand_ended(state: Table, event: ev.HandEnded) -> None:
    state.rake_taken += event.rake
    _close(state, event.hand_no, event.rake)


def _hand_voided(state: Table, event: ev.HandVoided) -> None:
    for refund in event.refunds:
        set_stack(state, refund.seat, refund.stack)
    state.running.refunds = event.refunds
    if state.running.engine >= ev.Engine.SECOND:
        state.button = state.dealt_button
    _close(state, event.hand_no, rake=0)


def _close(state: Table, hand_no: int, rake: int) -> None:
    state.last_hand, state.hand = state.hand, None
    state.ended_hand = hand_no
    state.ended_rake = rake
    state.ended_at_version = state.version
    state.from_version = state.version + 1


APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
    ev.ShowPrompted: _show_prompted,
    ev.HandShown: _hand_shown,
    ev.HandMucked: _hand_mucked,
    ev.PotAwarded: _pot_awarded,
    ev.HandEnded: _hand_ended,
    ev.HandVoided: _hand_voided,
}

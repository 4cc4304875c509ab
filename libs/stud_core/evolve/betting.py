"""Turns, actions and clocks. What an action does to the round is derived from its verb, total and size."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Final

from msgspec.structs import replace

from stud_core import events as ev
from stud_core.betting import cap, two_remain
from stud_core.evolve.stacks import set_stack
from stud_core.river import RIVER
from stud_core.ruleset import HeadsUp
from stud_core.state import Hand, Phase, Table

_PASSIVE: Final = (ev.Verb.CHECK, ev.Verb.CALL)


def _turn_started(state: Table, event: ev.TurnStarted) -> None:
    hand = state.running
    hand.phase = Phase.BETTING
    hand.turn_id = event.turn_id
    hand.turn_seat = event.seat
    hand.to_call = event.to_call
    hand.deadline_ms = event.deadline_ms
    hand.options = event.options


def _clock_restarted(state: Table, event: ev.ClockRestarted) -> None:
    hand = state.running
    if event.turn_id is not None:
        hand.deadline_ms = event.deadline_ms
    hand.prompts = tuple(
        [
            replace(prompt, deadline_ms=event.deadline_ms) if prompt.prompt_id == event.prompt_id else prompt
            for prompt in hand.prompts
        ]
    )


def _action_taken(state: Table, event: ev.ActionTaken) -> None:
    hand = state.running
    seat = event.seat
    verb = event.verb
    hand.turn_seat = 0
    hand.to_call = 0
    hand.deadline_ms = 0
    hand.options = ()
    if hand.street == RIVER:
        # Taken back by the next TurnStarted: an action that is followed by none ends the betting.
        hand.phase = Phase.SHOWDOWN
    if verb is ev.Verb.FOLD:
        hand.live[seat] = False
        return
    if event.amount:
        hand.bet[seat] = event.to
        hand.paid[seat] += event.amount
        hand.all_in[seat] = event.all_in
        number = state.seats[seat]
        state.sittings[number] = sitting = copy(state.sittings[number])
        sitting.stack = event.stack
    if verb is ev.Verb.BRING_IN:
        # The price is the whole bring-in, even where the poster had less (B.4).
        hand.level = state.rules.bring_in
        hand.wagers += event.counts
    elif verb not in _PASSIVE:
        hand.level = event.to
        hand.aggressor = seat
        if event.counts:
            _count_wager(state, hand, event)
    hand.acted[seat] = True


def _count_wager(state: Table, hand: Hand, event: ev.ActionTaken) -> None:
    """A full wager: everybody may raise again, and the cap comes closer (B.6, B.7, B.8)."""
    ruleset = state.rules.ruleset
    hand.full_level = event.to
    hand.wagers += 1
    hand.acted = [False] * 9
    if event.size is ev.Size.HIGH:
        hand.locked = True
    if hand.wagers == cap(ruleset) and ruleset.heads_up is HeadsUp.TWO_REMAIN_BEFORE_CAP:
        hand.uncapped = two_remain(hand, ruleset)


def _uncalled_returned(state: Table, event: ev.UncalledReturned) -> None:
    hand = state.running
    hand.paid[event.seat] -= event.amount
    hand.bet[event.seat] -= event.amount
    hand.all_in[event.seat] = False
    set_stack(state, event.seat, event.stack)


APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
    ev.TurnStarted: _turn_started,
    ev.ClockRestarted: _clock_restarted,
    ev.ActionTaken: _action_taken,
    ev.UncalledReturned: _uncalled_returned,
}

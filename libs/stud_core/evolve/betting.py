"""Turns, actions and clocks. What an action does to the round is derived from its verb, total and size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from stud_core import events as ev
from stud_core.betting import cap, two_remain
from stud_core.evolve.changes import own, put, set_stack
from stud_core.river import RIVER
from stud_core.ruleset import HeadsUp
from stud_core.state import Hand, Phase, Table

# This is the hot path: a member of an enum costs as much to look up as a list to copy, and a property like
# ``state.running`` almost as much.
_FOLD: Final = ev.Verb.FOLD
_BRING_IN: Final = ev.Verb.BRING_IN
_OPEN: Final = ev.Verb.OPEN  # the first of the wagers
_HIGH: Final = ev.Size.HIGH
_BETTING: Final = Phase.BETTING
_SHOWDOWN: Final = Phase.SHOWDOWN
_NOBODY: Final = [False] * 9
_TWO_REMAIN: Final = HeadsUp.TWO_REMAIN_BEFORE_CAP


def _turn_started(state: Table, event: ev.TurnStarted) -> None:
    hand: Hand = state.hand  # type: ignore[assignment]
    hand.phase = _BETTING
    hand.turn_id = event.turn_id
    hand.turn_seat = event.seat
    hand.to_call = event.to_call
    hand.deadline_ms = event.deadline_ms
    hand.extended_ms = 0
    hand.options = event.options


def _clock_restarted(state: Table, event: ev.ClockRestarted) -> None:
    if event.sitting_no is not None:
        own(state, event.sitting_no).out_until_ms = event.deadline_ms
        return
    hand = state.running
    if event.turn_id is not None:
        hand.deadline_ms = event.deadline_ms
    hand.prompts = tuple(
        [
            replace(prompt, deadline_ms=event.deadline_ms) if prompt.prompt_id == event.prompt_id else prompt
            for prompt in hand.prompts
        ]
    )


def _clock_extended(state: Table, event: ev.ClockExtended) -> None:
    hand = state.running
    ruleset = state.rules.ruleset
    hand.deadline_ms = event.deadline_ms
    if event.reason is ev.Extension.TIME_CHIP:
        hand.extended_ms += ruleset.time_bank_ms
        own(state, state.seats[event.seat]).time_chips = event.time_chips
    else:
        hand.extended_ms += ruleset.reconnect_ms or 0
        hand.protected += (event.seat,)


def _action_taken(state: Table, event: ev.ActionTaken) -> None:
    hand: Hand = state.hand  # type: ignore[assignment]
    seat = event.seat
    verb = event.verb
    hand.turn_seat = 0
    hand.to_call = 0
    hand.deadline_ms = 0
    hand.options = ()
    hand.taken = taken = hand.taken.copy()
    taken[seat] = (hand.street, event)
    if hand.street == RIVER:
        # Taken back by the next TurnStarted: an action that is followed by none ends the betting.
        hand.phase = _SHOWDOWN
    if verb is _FOLD:
        hand.live = live = hand.live.copy()
        live[seat] = False
        return
    amount = event.amount
    if amount:
        hand.bet = bet = hand.bet.copy()
        bet[seat] = event.to
        hand.paid = paid = hand.paid.copy()
        paid[seat] += amount
        number = state.seats[seat]
        state.sittings[number] = mine = state.sittings[number].__copy__()
        mine.stack = event.stack
        if event.all_in:
            hand.all_in = put(hand.all_in, seat, True)
    if verb >= _OPEN:
        hand.level = event.to
        hand.aggressor = seat
        if event.counts:
            _count_wager(state, hand, event)
            return
    elif verb is _BRING_IN:
        # The price is the whole bring-in, even where the poster had less (B.4).
        hand.level = state.rules.bring_in
        hand.wagers += event.counts
    hand.acted = acted = hand.acted.copy()
    acted[seat] = True


def _count_wager(state: Table, hand: Hand, event: ev.ActionTaken) -> None:
    """A full wager: everybody else may raise again, and the cap comes closer (B.6, B.7, B.8)."""
    ruleset = state.rules.ruleset
    hand.full_level = event.to
    hand.wagers += 1
    hand.acted = acted = _NOBODY.copy()
    acted[event.seat] = True
    if event.size is _HIGH:
        hand.locked = True
    if hand.wagers == cap(ruleset) and ruleset.heads_up is _TWO_REMAIN:
        hand.uncapped = two_remain(hand, ruleset)


def _uncalled_returned(state: Table, event: ev.UncalledReturned) -> None:
    hand = state.running
    seat = event.seat
    hand.paid = put(hand.paid, seat, hand.paid[seat] - event.amount)
    hand.bet = put(hand.bet, seat, hand.bet[seat] - event.amount)
    hand.all_in = put(hand.all_in, seat, False)
    hand.uncalled += (event,)
    set_stack(state, seat, event.stack)


APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
    ev.TurnStarted: _turn_started,
    ev.ClockRestarted: _clock_restarted,
    ev.ClockExtended: _clock_extended,
    ev.ActionTaken: _action_taken,
    ev.UncalledReturned: _uncalled_returned,
}

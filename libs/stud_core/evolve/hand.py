"""A hand from its antes to the cards of each street."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.betting import first_to_act, open_pairs, starts_uncapped
from stud_core.evolve.changes import own, put, set_stack
from stud_core.river import RIVER
from stud_core.ruleset import OpenPair
from stud_core.state import Hand, Phase, Prompt, Table

# Looking up a member of an enum costs as much as making an event. Lists are replaced when they change, so that all
# rounds may begin with the same.
_DEALING: Final = Phase.DEALING
_BETTING: Final = Phase.BETTING
_SHOWDOWN: Final = Phase.SHOWDOWN
_OFF: Final = OpenPair.OFF
_NOBODY: Final = [False] * 9
_NOTHING: Final = [0] * 9


def _deck_ready(state: Table, event: ev.DeckReady) -> None:
    state.deck_hand_no = event.hand_no
    state.commitment = event.commitment


def _antes_opened(state: Table, event: ev.AntesOpened) -> None:
    hand = Hand(hand_no=event.hand_no, phase=Phase.ANTES, from_version=state.from_version)
    hand.engine = event.engine or ev.Engine.FIRST
    hand.prompts = tuple([Prompt(event.prompt_id, seat, event.deadline_ms) for seat in event.prompted])
    for seat in event.prompted + event.posting:
        hand.start[seat] = state.at(seat).stack
    state.hand = hand
    state.last_hand = None


def _ante_posted(state: Table, event: ev.AntePosted) -> None:
    hand = state.running
    seat = event.seat
    hand.live = put(hand.live, seat, True)
    if event.all_in:
        hand.all_in = put(hand.all_in, seat, True)
    hand.paid = put(hand.paid, seat, event.amount)
    if hand.prompts:
        drop_prompt(hand, seat)
    set_stack(state, seat, event.stack)


def _ante_missed(state: Table, event: ev.AnteMissed) -> None:
    drop_prompt(state.running, event.seat)


def _antes_returned(state: Table, event: ev.AntesReturned) -> None:
    for refund in event.refunds:
        set_stack(state, refund.seat, refund.stack)
    state.hand = None


def _hand_started(state: Table, event: ev.HandStarted) -> None:
    hand = state.running
    hand.phase = Phase.DEALING
    hand.button = event.button
    hand.dealt_in = event.dealt_in
    hand.profiles = tuple([state.sittings[player.sitting_no].profile for player in event.dealt_in])
    hand.order = tuple([player.seat for player in event.dealt_in])
    for player in event.dealt_in:
        sitting = own(state, player.sitting_no)
        sitting.last_hand = event.hand_no
        sitting.hands_played += 1
        sitting.time_chips = player.time_chips or 0
    for sitting in list(state.sittings.values()):
        if sitting.sitting_out and sitting.last_hand != event.hand_no:
            own(state, sitting.sitting_no).hands_missed += 1
    state.hand_no = event.hand_no
    state.button = event.button or state.button
    state.hand_start_stacks = tuple([(p.sitting_no, hand.start[p.seat]) for p in event.dealt_in])


def _deal_requested(state: Table, event: ev.DealRequested) -> None:
    """The round before is over: its bets are collected."""
    hand = state.running
    hand.phase = _DEALING
    hand.deal = event
    hand.deal_no = event.deal_no
    hand.bet = _NOTHING
    hand.level = 0
    _no_turn(hand)


def _cards_dealt(state: Table, event: ev.CardsDealt) -> None:
    hand = state.running
    hand.deal = None
    if hand.street == 0:
        state.dealt_button = hand.button or state.dealt_button
    hand.street = event.street
    hand.phase = _SHOWDOWN if event.street == RIVER else _BETTING
    if event.up:
        up = hand.up.copy()
        for card in event.up:
            up[card.seat] += (card.card,)
        hand.up = up
    if event.down:
        down = hand.down.copy()
        for box in event.down:
            down[box.seat] += (box,)
        hand.down = down
    if event.community is not None:
        hand.community = event.community
    hand.counts += (len(event.up or event.down),)
    _open_round(state, hand)


def _open_round(state: Table, hand: Hand) -> None:
    config = state.rules
    ruleset = config.ruleset
    hand.acted = _NOBODY
    hand.full_level = config.bring_in if hand.street == 3 else 0
    hand.wagers = 0
    hand.locked = False
    hand.aggressor = 0
    hand.pair_holders = ()
    # Where both limits are the same there is nothing to choose, and no size to declare.
    if hand.street == 4 and ruleset.open_pair is not _OFF and config.big_bet > config.small_bet:
        hand.pair_holders = open_pairs(hand)
    hand.pair_option = bool(hand.pair_holders)
    hand.uncapped = starts_uncapped(hand, ruleset)
    hand.first = first_to_act(hand, ruleset)
    _no_turn(hand)


def _no_turn(hand: Hand) -> None:
    hand.turn_seat = 0
    hand.to_call = 0
    hand.deadline_ms = 0
    hand.options = ()


def drop_prompt(hand: Hand, seat: int) -> None:
    """Close the seat's open prompt, if there is one."""
    if hand.prompts:
        hand.prompts = tuple([prompt for prompt in hand.prompts if prompt.seat != seat])


APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
    ev.DeckReady: _deck_ready,
    ev.AntesOpened: _antes_opened,
    ev.AntePosted: _ante_posted,
    ev.AnteMissed: _ante_missed,
    ev.AntesReturned: _antes_returned,
    ev.HandStarted: _hand_started,
    ev.DealRequested: _deal_requested,
    ev.CardsDealt: _cards_dealt,
}

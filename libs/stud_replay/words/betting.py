"""Turns, actions, clocks that start afresh, and what comes back uncalled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.betting import high_board, is_forced, low_card
from stud_core.cards import card_name
from stud_core.decide.legal import Grounds, why_legal
from stud_core.decide.rules import cite
from stud_core.events import Size, Verb
from stud_core.house_rules.saying import money, seconds
from stud_core.state import Hand, Table
from stud_core.wording import word
from stud_replay.words.saying import Told, at_seat, cards, chips, of_sitting

TAKEN: Final = {
    Verb.FOLD: "folds",
    Verb.CHECK: "checks",
    Verb.CALL: "calls {amount}",
    Verb.BRING_IN: "brings it in for {amount}",
    Verb.OPEN: "opens for {to}",
    Verb.COMPLETE: "completes to {to}",
    Verb.BET: "bets {to}",
    Verb.RAISE: "raises to {to}",
}
_SIZES: Final = {Size.LOW: " (lower limit)", Size.HIGH: " (higher limit)", None: ""}


def _turn_started(state: Table, event: ev.TurnStarted) -> Told:
    ruleset = state.rules.ruleset
    what = f"{at_seat(state, event.seat)} is to act"
    if event.options:
        what += ": " + ", ".join([option_words(option) for option in event.options])
    why, rules = _why_turn(state, state.running, event.seat)
    if event.deadline_ms:
        why += f"; {seconds(ruleset.action_clock_ms)} to act"
        rules = (*rules, cite(ruleset, "P25", "B.18"))
    return Told(what, why, tuple(dict.fromkeys(rules)), event.seat)


def option_words(option: ev.Option) -> str:
    """A legal action with its amount: ``raise to 15``."""
    all_in = " all-in" if option.all_in else ""
    if option.verb in {Verb.FOLD, Verb.CHECK}:
        return word(option.verb)
    if option.verb in {Verb.CALL, Verb.BRING_IN}:
        return f"{word(option.verb)} {money(option.amount)}{all_in}"
    if option.verb in {Verb.OPEN, Verb.BET}:
        return f"{word(option.verb)} {money(option.to)}{_SIZES[option.size]}{all_in}"
    return f"{word(option.verb)} to {money(option.to)}{_SIZES[option.size]}{all_in}"


def _why_turn(state: Table, hand: Hand, seat: int) -> Grounds:
    """Why it is this seat's turn."""
    ruleset = state.rules.ruleset
    if is_forced(hand, seat):
        door = card_name(hand.up[low_card(hand)][0])
        return f"the lowest card showing, {door}, starts third street", (cite(ruleset, "P13", "W8"),)
    if any(taken is not None and taken[0] == hand.street for taken in hand.taken):
        return "the next player clockwise who still owes a decision", (cite(ruleset, "P20", "W29"),)
    if hand.street == 3:
        return "the low card has no chips, so the next player may bring it in", ("B.4",)
    if seat != high_board(hand, ruleset):
        return "who shows the highest cards is all-in, so the next player clockwise begins", ("B.9",)
    board = cards(hand.up[seat])
    if hand.community is not None and ruleset.community_counts_for_first:
        return f"the highest cards showing, {board} with the shared card, act first", ("B.13",)
    return f"the highest cards showing, {board}, act first", (cite(ruleset, "P19", "B.10"), "B.10")


def _clock_restarted(state: Table, event: ev.ClockRestarted) -> Told:
    if event.sitting_no is not None:
        who, place = of_sitting(state, event.sitting_no)
        why = f"an outage of the house takes nobody's seat ({event.reason})"
        return Told(f"{who} may sit out for the whole time again", why, ("B.17", "B.18"), place)
    hand = state.running
    if event.turn_id is not None:
        seat = hand.turn_seat
        return Told(f"the clock of {at_seat(state, seat)} starts afresh", _why_afresh(event.reason), ("B.18",), seat)
    asked = [at_seat(state, prompt.seat) for prompt in hand.prompts if prompt.prompt_id == event.prompt_id]
    return Told(f"the clock of {', '.join(asked)} starts afresh", _why_afresh(event.reason), ("B.18",))


def _clock_extended(state: Table, event: ev.ClockExtended) -> Told:
    ruleset, who = state.rules.ruleset, at_seat(state, event.seat)
    if event.reason is ev.Extension.TIME_CHIP:
        what = f"{who} uses a time chip: {seconds(ruleset.time_bank_ms)} more"
        return Told(what, f"{event.time_chips} left", ("B.18",), event.seat)
    why = "their connection was lost when the clock ran out: once in a hand the house waits"
    return Told(f"{who} has {seconds(ruleset.reconnect_ms or 0)} more", why, ("B.18",), event.seat)


def _why_afresh(reason: str) -> str:
    return f"an outage of the house never folds a player ({reason})"


def _action_taken(state: Table, event: ev.ActionTaken) -> Told:
    said = TAKEN[event.verb].format(
        amount=chips(event.amount, all_in=event.all_in), to=chips(event.to, all_in=event.all_in)
    )
    why, rules = why_legal(state, event)
    return Told(f"{at_seat(state, event.seat)} {said}{_SIZES[event.size]}", why, rules, event.seat)


def _uncalled_returned(state: Table, event: ev.UncalledReturned) -> Told:
    what = f"{money(event.amount)} goes back to {at_seat(state, event.seat)}"
    return Told(what, "nobody matched it, so it was never in a pot", ("B.14",), event.seat)


SAY: Final[dict[type, Callable[[Table, Any], Told]]] = {
    ev.TurnStarted: _turn_started,
    ev.ClockRestarted: _clock_restarted,
    ev.ClockExtended: _clock_extended,
    ev.ActionTaken: _action_taken,
    ev.UncalledReturned: _uncalled_returned,
}

"""Why an action is illegal: the rule it breaks and a sentence for people that says what would be legal.

The statement cited is one of the table's own house page; "B.n" where that page is silent (docs/rules-gaps.md).
"""

from __future__ import annotations

from typing import Final

from stud_core import commands as cmd
from stud_core.betting import can_be_answered, cap, is_forced, is_wager, wager_verb
from stud_core.decide.rules import cite
from stud_core.events import Verb
from stud_core.ruleset import OpenPair, Ruleset, TableConfig
from stud_core.state import Hand, Table
from stud_core.wording import phrase, request, word

_NO_CHIPS: Final = ("B.19", "there are no chips for more")  # table stakes


def why_illegal(state: Table, hand: Hand, command: cmd.Act) -> tuple[str, str]:
    """Return (rule, text) for an action that is not among ``hand.options``, or fits more than one of them."""
    asked = request(command.verb, command.to, command.size)
    matching = [option for option in hand.options if option.verb is command.verb]
    if command.to is not None:
        matching = [option for option in matching if option.to == command.to]
    if len(matching) > 1 and command.size is None:
        missing = "the amount or the size" if command.to is None else "both sizes come to that, so the size"
        rule, why = cite(state.rules.ruleset, "P62", "W15"), f"{missing} must be said"
    elif is_wager(command.verb):
        rule, why = _why_no_wager(state, hand, command)
    else:
        rule, why = _why_not(state, hand, command)
    legal = ", ".join([phrase(option, hand.options) for option in hand.options])
    return rule, f"{asked} is not allowed: {why} ({rule}); legal: {legal}"


def _why_not(state: Table, hand: Hand, command: cmd.Act) -> tuple[str, str]:
    """Why this fold, check, call or bring-in is not legal."""
    ruleset = state.rules.ruleset
    verb = command.verb
    opening = hand.street == 3 and hand.level == 0
    if opening and verb is Verb.BRING_IN:
        amount = next(option.amount for option in hand.options if option.verb is verb)
        return cite(ruleset, "P58", "W9"), f"the bring-in is {amount}"
    if is_forced(hand, hand.turn_seat):
        return cite(ruleset, "P58", "W8"), "the lowest card must bring it in or open"
    if verb is Verb.BRING_IN:
        return cite(ruleset, "P58", "W8"), "there is nothing to bring in now"
    if opening and verb is not Verb.FOLD:
        return "B.4", "the low card has no chips: bring it in, open, or fold"
    if verb is Verb.CHECK and hand.to_call:
        return cite(ruleset, "P53", "B.16"), f"there is a wager of {hand.level} to meet"
    if verb is Verb.CALL and not hand.to_call:
        return cite(ruleset, "P52", "B.16"), "there is nothing to call"
    rule = cite(ruleset, "P51", "W13")
    if command.size is not None:
        return rule, "only a bet or a raise has a size"
    if verb is Verb.CALL:
        return rule, "a call takes what is missing, neither more nor less"
    return rule, f"a {word(verb)} has no amount"


def _why_no_wager(state: Table, hand: Hand, command: cmd.Act) -> tuple[str, str]:
    config = state.rules
    ruleset = config.ruleset
    seat = hand.turn_seat
    offered = [option for option in hand.options if is_wager(option.verb)]
    if not offered:
        if hand.wagers >= cap(ruleset) and not hand.uncapped:
            most = ruleset.max_raises
            return cite(ruleset, "P56", "W19"), f"the cap of {most} raise{'s' * (most > 1)} is reached"
        if hand.acted[seat]:
            return "B.8", "the all-in for less did not reopen the betting to those who have acted"
        if not can_be_answered(state, hand, seat):
            return "B.6", "no opponent could put in more"
        return _NO_CHIPS
    verb = wager_verb(hand, config)
    if command.verb is not verb:
        return verb_rule(hand, verb, ruleset), f"to put in more here is to {word(verb)}"
    if offered[-1].all_in and command.to is not None and command.to > offered[-1].to:
        return _NO_CHIPS
    if verb is Verb.COMPLETE and hand.street > 3:
        totals = dict.fromkeys([str(option.to) for option in offered])
        return "B.8", "an all-in for less is completed to " + " or ".join(totals)
    return why_amount(hand, config)


def verb_rule(hand: Hand, verb: Verb, ruleset: Ruleset) -> str:
    """What a wager is called, by P20, P53, P58 and P59; W names buttons only (B.16)."""
    if verb is Verb.OPEN:
        return cite(ruleset, "P58", "W9")
    if verb is Verb.COMPLETE:
        return cite(ruleset, "P59", "W14") if hand.street == 3 else "B.8"
    return cite(ruleset, "P20" if verb is Verb.BET else "P53", "B.16")


def why_amount(hand: Hand, config: TableConfig) -> tuple[str, str]:
    """Fixed limit: which amounts the street has, and why (P49-P51)."""
    ruleset = config.ruleset
    small, big = config.small_bet, config.big_bet
    if hand.street == 3:
        return _why_third(hand, config)
    if hand.street > 4:
        return cite(ruleset, "P27", "W16"), f"from fifth street on wagers are by {big}"
    if hand.locked:
        return cite(ruleset, "P24", "W17"), f"after a big bet on fourth street raises are by {big}"
    if not hand.pair_option:
        open_pair = "" if ruleset.open_pair is OpenPair.OFF or small == big else " without an open pair"
        return cite(ruleset, "P61", "W14"), f"on fourth street{open_pair} wagers are by {small}"
    if ruleset.open_pair is OpenPair.ANY:
        text = f"with an open pair on fourth street wagers are by {small} or {big}"
        return cite(ruleset, "P62", "W15"), text
    text = f"with an open pair on fourth street its holder wagers by {small} or {big}, everybody else by {small}"
    return cite(ruleset, "P22", "W15"), text


def _why_third(hand: Hand, config: TableConfig) -> tuple[str, str]:
    """Open for the lower limit, complete to it, raise by it (P50, P58-P59, W14; B.2)."""
    ruleset, small = config.ruleset, config.small_bet
    verb = wager_verb(hand, config)
    if verb is Verb.OPEN:
        return cite(ruleset, "P58", "W9"), f"third street is opened for {small}"
    if verb is Verb.COMPLETE:
        return cite(ruleset, "P59", "W14"), f"on third street the bring-in is completed to {small}"
    return cite(ruleset, "P50", "W14"), f"on third street raises are by {small}"

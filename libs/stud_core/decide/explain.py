"""Why an action is illegal: the rule it breaks and a sentence for people that says what would be legal."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core.betting import can_be_answered, cap, is_forced, is_wager, wager_verb
from stud_core.decide.rules import cite
from stud_core.events import Option, Size, Verb
from stud_core.ruleset import Ruleset, TableConfig
from stud_core.state import Hand, Table


def phrase(option: Option) -> str:
    """An option as a player would say it: ``call 1500``, ``raise to 2500 (big)``."""
    name = option.verb.name.lower().replace("_", " ")
    if option.verb in {Verb.FOLD, Verb.CHECK}:
        return name
    if option.verb in {Verb.CALL, Verb.BRING_IN}:
        return f"{name} {option.amount}{' all-in' if option.all_in else ''}"
    size = {None: "", Size.LOW: " small", Size.HIGH: " big"}[option.size]
    return f"{name}{size} to {option.to}{' all-in' if option.all_in else ''}"


def why_illegal(state: Table, hand: Hand, command: cmd.Act) -> tuple[str, str]:
    """Return (rule, text) for an action that is none of ``hand.options``, or fits more than one of them."""
    asked = command.verb.name.lower().replace("_", " ")
    if command.to is not None:
        asked += f" to {command.to}"
    if command.size is not None:
        asked += f" ({'small' if command.size is Size.LOW else 'big'})"
    matching = [option for option in hand.options if option.verb is command.verb]
    if command.to is not None:
        matching = [option for option in matching if option.to == command.to]
    if len(matching) > 1 and command.size is None:
        rule, why = cite(state.rules.ruleset, "P62", "W15"), "the amount or the size must be said"
    elif is_wager(command.verb):
        rule, why = _why_no_wager(state, hand, command)
    else:
        rule, why = _why_not(state, hand, command.verb)
    legal = ", ".join([phrase(option) for option in hand.options])
    return rule, f"{asked} is not allowed: {why} ({rule}); legal: {legal}"


def _why_not(state: Table, hand: Hand, verb: Verb) -> tuple[str, str]:
    ruleset = state.rules.ruleset
    if is_forced(hand, hand.turn_seat):
        return cite(ruleset, "P58", "W8"), "the lowest card must bring it in or open"
    if verb is Verb.BRING_IN:
        return cite(ruleset, "P58", "W8"), "nothing is to be brought in now"
    if hand.street == 3 and hand.level == 0:
        return "B.4", "the low card has no chips: bring it in, open, or fold"
    if verb is Verb.CHECK:
        return "P53", f"there is a wager of {hand.level} to meet"
    if verb is Verb.CALL and not hand.to_call:
        return "P52", "there is nothing to call"
    return "P51", "the total is another one"


def _why_no_wager(state: Table, hand: Hand, command: cmd.Act) -> tuple[str, str]:
    config = state.rules
    ruleset = config.ruleset
    seat = hand.turn_seat
    offered = [option for option in hand.options if is_wager(option.verb)]
    if not offered:
        if hand.wagers >= cap(ruleset) and not hand.uncapped:
            return cite(ruleset, "P56", "W19"), f"the cap of {ruleset.max_raises} raises is reached"
        if hand.acted[seat]:
            return "B.8", "the all-in for less did not reopen the betting to who has acted"
        if not can_be_answered(state, hand, seat):
            return "B.6", "no opponent could put in more"
        return "B.4", "there are no chips for more than the price"
    verb = wager_verb(hand, config)
    if command.verb is not verb:
        rule = _third_street_rule(hand, ruleset) if hand.street == 3 else "P53"
        return rule, f"to put in more here is to {verb.name.lower()}"
    return _why_amount(hand, config)


def _why_amount(hand: Hand, config: TableConfig) -> tuple[str, str]:
    """Fixed limit: which amounts the street has, and why (P49-P51)."""
    ruleset = config.ruleset
    if hand.street == 3:
        return _third_street_rule(hand, ruleset), f"on third street wagers are by {config.small_bet}"
    if hand.street > 4:
        return cite(ruleset, "P27", "W16"), f"from fifth street on wagers are by {config.big_bet}"
    if hand.locked:
        text = f"after a big bet on fourth street raises are by {config.big_bet}"
        return cite(ruleset, "P24", "W17"), text
    if hand.pair_option:
        text = f"with an open pair on fourth street wagers are by {config.small_bet} or {config.big_bet}"
        return cite(ruleset, "P62", "W15"), text
    return cite(ruleset, "P61", "W14"), f"on fourth street without an open pair wagers are by {config.small_bet}"


def _third_street_rule(hand: Hand, ruleset: Ruleset) -> str:
    """What the low card may open for; what others may complete and raise to."""
    return cite(ruleset, "P58", "W9") if hand.level == 0 else cite(ruleset, "P59", "W14")

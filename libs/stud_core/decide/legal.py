"""Why an action that was taken was legal: the statements it rests on, and a sentence for people.

The counterpart of `explain`, with the same names of rules: a statement of the table's own house page, "B.n" where that
page is silent. Amounts are spoken as on the page of house rules.
"""

from __future__ import annotations

from typing import Final

from stud_core.betting import cap, is_forced, is_wager, low_card, wager_target
from stud_core.cards import card_name
from stud_core.decide.explain import verb_rule, why_amount
from stud_core.decide.rules import cite
from stud_core.events import ActionTaken, By, Size, Verb
from stud_core.house_rules.saying import money, seconds
from stud_core.ruleset import Ruleset
from stud_core.state import Hand, Sit, Table

Grounds = tuple[str, tuple[str, ...]]
"""A sentence, and the rules it rests on."""

_SIZES: Final = {Size.LOW: "lower", Size.HIGH: "higher"}


def why_legal(state: Table, action: ActionTaken) -> Grounds:
    """Return why an action was legal; ``state`` is the table just before it."""
    hand = state.running
    why, rules = _why_wager(state, hand, action) if is_wager(action.verb) else _why_passive(state, hand, action)
    origin, because = _why_by(state, action)
    told = "; ".join([text for text in (origin, why) if text])
    return told, tuple(dict.fromkeys((*because, *rules)))


def _why_by(state: Table, action: ActionTaken) -> Grounds:
    """Why it was not the player who acted on their turn; empty where it was."""
    ruleset = state.rules.ruleset
    match action.by:
        case By.TIMEOUT:
            clock = seconds(ruleset.action_clock_ms)
            return f"the clock of {clock} ran out: {_default(action)}", (cite(ruleset, "P25", "B.18"), "B.18")
        case By.PRE_ACTION:
            return "chosen ahead of the turn", (cite(ruleset, "B.16", "W28"),)
        case By.LEAVING if state.at(action.seat).status is Sit.LEAVING:
            return f"the player is leaving: {_default(action)}", ("B.21",)
        case By.LEAVING:
            return "the player pressed Sit Out, and this house folds their hand", ("B.17",)
        case _:
            return "", ()


def _default(action: ActionTaken) -> str:
    """What is done for somebody who does nothing (B.18)."""
    if action.verb is Verb.BRING_IN:
        return "the bring-in is posted"
    return "checking is free" if action.verb is Verb.CHECK else "there is a bet to meet, so the hand is folded"


def _why_passive(state: Table, hand: Hand, action: ActionTaken) -> Grounds:
    ruleset = state.rules.ruleset
    price = hand.level - hand.bet[action.seat]
    match action.verb:
        case Verb.FOLD if price > 0:
            return f"facing {money(price)} to call a player may fold", (cite(ruleset, "P53", "W29"),)
        case Verb.FOLD if hand.street == 3 and not hand.level:
            return "the low card has no chips, so the others need not open", ("B.4",)
        case Verb.FOLD:
            return "folding is allowed where checking is free", ("B.20",)
        case Verb.CHECK:
            return "there is nothing to call", (cite(ruleset, "P52", "B.16"),)
        case Verb.CALL if action.amount < price:
            text = f"{money(price)} to call; a call for less takes all the chips there are"
            return text, (cite(ruleset, "P53", "B.16"), "B.19")
        case Verb.CALL:
            text = f"a call takes what is missing, {money(price)}"
            return text, (cite(ruleset, "P53", "B.16"), cite(ruleset, "P51", "W13"))
        case _:
            return _why_bring_in(state, hand, action)


def _why_bring_in(state: Table, hand: Hand, action: ActionTaken) -> Grounds:
    ruleset, amount = state.rules.ruleset, money(state.rules.bring_in)
    if not is_forced(hand, action.seat):
        return f"the low card has no chips: the next player may bring it in for {amount}", ("B.4",)
    text = f"the lowest card showing is {card_name(hand.up[low_card(hand)][0])}: it brings in {amount}"
    rules = (cite(ruleset, "P13", "W8"), cite(ruleset, "P58", "W9"))
    if action.amount < state.rules.bring_in:
        return f"{text}, or all the chips there are", (*rules, "B.4")
    return text, rules


def _why_wager(state: Table, hand: Hand, action: ActionTaken) -> Grounds:
    config, ruleset = state.rules, state.rules.ruleset
    rules = [verb_rule(hand, action.verb, ruleset), why_amount(hand, config)[0]]
    target = wager_target(hand, config, action.size)
    texts = [_size_in_words(state, hand, action, target)]
    if action.to < target:
        kept = "counts as a full one" if action.counts else "does not count as a full one"
        texts.append(f"all-in for {money(action.to)} {kept}")
        rules += ["B.8", "B.19"]
    text, more = _why_not_capped(hand, ruleset, action)
    return ", ".join([*texts, text] if text else texts), (*rules, *more)


def _size_in_words(state: Table, hand: Hand, action: ActionTaken, target: int) -> str:
    """What a full wager was at this moment."""
    full = f"to {money(target)}"
    if hand.street == 3 and hand.full_level <= state.rules.bring_in:
        full = f"the lower limit, {money(target)}"
    elif action.size is not None:
        full = f"by the {_SIZES[action.size]} limit to {money(target)}"
    elif action.verb is Verb.BET:
        full = f"the limit of the street, {money(target)}"
    return f"{_NOUNS[action.verb]} is {full}"


_NOUNS: Final = {
    Verb.OPEN: "opening in full",
    Verb.COMPLETE: "completing",
    Verb.BET: "a bet",
    Verb.RAISE: "a raise",
}


def _why_not_capped(hand: Hand, ruleset: Ruleset, action: ActionTaken) -> Grounds:
    """How far the round is from its cap."""
    if hand.uncapped:
        return "only two players are left, so raises are unlimited", (cite(ruleset, "P57", "B.6"), "B.6")
    if not action.counts:
        return "", ()
    text = f"number {hand.wagers + 1} of at most {cap(ruleset)} in the round"
    rules = [cite(ruleset, "P56", "W18")]
    if action.verb is Verb.COMPLETE and hand.street == 3 and not ruleset.completion_counts_as_raise:
        rules.append(cite(ruleset, "P60", "B.2"))
    return text, tuple(rules)

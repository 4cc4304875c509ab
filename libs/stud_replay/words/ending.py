"""Showing, pots, the end of a hand, and what is said of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.decide.rules import cite
from stud_core.events import PromptKind, ResolutionChoice
from stud_core.hand_words import hand_in_words
from stud_core.house_rules.saying import money, seconds
from stud_core.pots import build_pots
from stud_core.prompts import prompt_of
from stud_core.ruleset import Ruleset
from stud_core.showdown import showing_order
from stud_core.state import Hand, Table
from stud_replay.words.saying import Told, at_seat, cards, listed, of_sitting


def _show_prompted(state: Table, event: ev.ShowPrompted) -> Told:
    ruleset = state.rules.ruleset
    clock = f", {seconds(ruleset.show_clock_ms)}" if event.deadline_ms else ""
    what = f"{at_seat(state, event.seat)} is asked whether to show{clock}"
    if event.kind is PromptKind.UNCALLED_WINNER:
        return Told(what, "who wins uncalled chooses", (cite(ruleset, "P42", "B.15"),), event.seat)
    return Told(what, "the hand lost, and Muck Losing Hands is off", (cite(ruleset, "P45", "B.15"),), event.seat)


def _hand_shown(state: Table, event: ev.HandShown) -> Told:
    hand = state.running
    common = () if hand.community is None else (hand.community,)
    words = hand_in_words((*event.cards, *hand.up[event.seat], *common))
    what = f"{at_seat(state, event.seat)} shows {cards(event.cards)}: {words}"
    ruleset, prompt = state.rules.ruleset, prompt_of(hand.prompts, event.seat)
    if prompt is not None:
        rule = (
            cite(ruleset, "P42", "B.15") if prompt.kind is PromptKind.UNCALLED_WINNER else cite(ruleset, "P45", "B.15")
        )
        return Told(what, "they chose to", (rule,), event.seat)
    order = showing_order(hand, hand.pots)
    if event.seat != order[0]:
        why = "cards speak: a winner of a called pot shows"
        return Told(what, why, (cite(ruleset, "P46", "W23"), "B.15"), event.seat)
    why, rule = _why_first(hand, ruleset, event.seat)
    return Told(what, why, (rule, cite(ruleset, "P43", "B.15")), event.seat)


def _why_first(hand: Hand, ruleset: Ruleset, seat: int) -> tuple[str, str]:
    """Why this seat shows before all others."""
    if seat == hand.aggressor:
        return "who bet or raised last on the river shows first", cite(ruleset, "P37", "B.15")
    start = hand.order.index(hand.aggressor or hand.first)
    if seat != next(other for other in hand.order[start:] + hand.order[:start] if hand.live[other]):
        return "who shares a side pot shows before who is all-in for less", "B.15"
    return "nobody bet the river, so who could have bet first shows first", cite(ruleset, "P38", "B.15")


def _hand_mucked(state: Table, event: ev.HandMucked) -> Told:
    ruleset, hand = state.rules.ruleset, state.running
    what = f"{at_seat(state, event.seat)} does not show"
    prompt = prompt_of(hand.prompts, event.seat)
    if prompt is not None:
        why = "they chose not to, or did not answer in time"
        kind = (
            cite(ruleset, "P41", "B.15") if prompt.kind is PromptKind.UNCALLED_WINNER else cite(ruleset, "P45", "B.15")
        )
        return Told(what, why, (kind, "B.18"), event.seat)
    if sum(hand.live) == 1:
        return Told(what, "who wins uncalled need not show", (cite(ruleset, "P41", "B.15"),), event.seat)
    return Told(what, "the hand lost, and is mucked by itself", (cite(ruleset, "P44", "B.15"),), event.seat)


def _pot_awarded(state: Table, event: ev.PotAwarded) -> Told:
    ruleset, hand = state.rules.ruleset, state.running
    name = f"side pot {event.pot_no}" if event.pot_no else "the main pot"
    to = listed([f"{money(share.amount)} to {at_seat(state, share.seat)}" for share in event.shares])
    rake = f", {money(event.rake)} rake" if event.rake else ""
    what = f"{name} of {money(event.amount)}: {to}{rake}"
    rules = ("B.14",) if event.rake or event.pot_no else ()
    if sum(hand.live) == 1:
        return Told(what, "everybody else has folded", (cite(ruleset, "P41", "B.15"), *rules))
    if len(build_pots(hand.paid, hand.live)[event.pot_no].eligible) == 1:
        return Told(what, "nobody else has put in as much, so nobody else can win it", ("B.15", *rules))
    if len(event.shares) > 1:
        shared = (cite(ruleset, "P47", "W24"),)
        odd = (cite(ruleset, "B.14", "W25"),) if len({share.amount for share in event.shares}) > 1 else ()
        return Told(what, "equal hands share it", (*shared, *odd, *rules))
    return Told(what, "the best five cards win it", (cite(ruleset, "P46", "W23"), *rules))


def _hand_ended(state: Table, event: ev.HandEnded) -> Told:
    net = [f"{_whose(state, delta.sitting_no, delta.account)} {_signed(delta.delta)}" for delta in event.deltas]
    rake = f", rake {money(event.rake)}" if event.rake else ""
    why = "every pot is paid and nobody is asked any more; the referee judges it before the next one"
    return Told(f"hand {event.hand_no} is over: {listed(net)}{rake}", why)


def _hand_voided(state: Table, event: ev.HandVoided) -> Told:
    back = [f"{money(refund.amount)} to {at_seat(state, refund.seat)}" for refund in event.refunds]
    by = f" by {event.operator}" if event.operator else ""
    return Told(f"hand {event.hand_no} is voided{by}: {listed(back)}", f"an operator's word: {event.reason}", ("B.21",))


def _verified(_state: Table, event: ev.TableHandVerified) -> Told:
    why = "the referee replayed it from the logs and found the same"
    return Told(f"hand {event.hand_no} is verified (verdict {event.verdict_version})", why)


def _disputed(_state: Table, event: ev.TableHandDisputed) -> Told:
    found = f": {', '.join(event.findings)}" if event.findings else ""
    why = "the referee replayed it from the logs and found something else; nothing of it is paid"
    return Told(f"hand {event.hand_no} is disputed (verdict {event.verdict_version}){found}", why)


_CHOICES: Final = {
    ResolutionChoice.TABLE: "the table's figures hold",
    ResolutionChoice.REFEREE: "the referee's figures hold",
    ResolutionChoice.VOID: "it does not count",
}


def _resolved(state: Table, event: ev.TableHandResolved) -> Told:
    stacks = [f"{of_sitting(state, entry.sitting_no)[0]} has {money(entry.stack)}" for entry in event.stacks]
    what = f"hand {event.hand_no} is resolved, {_CHOICES[event.choice]}" + (f": {listed(stacks)}" if stacks else "")
    return Told(what, f"two operators decided (verdict {event.verdict_version})")


def _whose(state: Table, sitting_no: int, account: str) -> str:
    return of_sitting(state, sitting_no)[0] if sitting_no in state.sittings else account


def _signed(amount: int) -> str:
    return f"-{money(-amount)}" if amount < 0 else f"+{money(amount)}"


SAY: Final[dict[type, Callable[[Table, Any], Told]]] = {
    ev.ShowPrompted: _show_prompted,
    ev.HandShown: _hand_shown,
    ev.HandMucked: _hand_mucked,
    ev.PotAwarded: _pot_awarded,
    ev.HandEnded: _hand_ended,
    ev.HandVoided: _hand_voided,
    ev.TableHandVerified: _verified,
    ev.TableHandDisputed: _disputed,
    ev.TableHandResolved: _resolved,
}

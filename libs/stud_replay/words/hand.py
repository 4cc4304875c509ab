"""A hand from its deck and antes to the cards of each street."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.betting import chips_behind
from stud_core.cards import card_name
from stud_core.decide.antes import TOO_FEW_ANTES
from stud_core.decide.operator import DRAINING
from stud_core.decide.rules import cite
from stud_core.events import DealMode
from stud_core.house_rules.saying import left, money, seconds
from stud_core.river import RIVER
from stud_core.ruleset import DealOrigin, Ruleset
from stud_core.state import Table
from stud_replay.words.saying import Told, at_seat, chips, listed

STREETS: Final = {3: "third street", 4: "fourth street", 5: "fifth street", 6: "sixth street", 7: "the river"}


def _deck_ready(_state: Table, event: ev.DeckReady) -> Told:
    why = "the dealer fixes the order of the cards before anybody antes"
    return Told(f"the deck of hand {event.hand_no} is committed to: {event.commitment.hex()[:16]}…", why)


def _antes_opened(state: Table, event: ev.AntesOpened) -> Told:
    ruleset = state.rules.ruleset
    parts = []
    if event.posting:
        parts.append(f"posted automatically for {listed([at_seat(state, seat) for seat in event.posting])}")
    if event.prompted:
        clock = f", who have {seconds(ruleset.ante_clock_ms)}" if event.deadline_ms else ""
        parts.append(f"asked of {listed([at_seat(state, seat) for seat in event.prompted])}{clock}")
    what = f"antes of {money(state.rules.ante)} for hand {event.hand_no}: {'; '.join(parts)}"
    why = "the last hand is verified, two players are ready, the deck is committed to"
    return Told(what, why, (cite(ruleset, "P5", "W4"),))


def _ante_posted(state: Table, event: ev.AntePosted) -> Told:
    ruleset, who = state.rules.ruleset, at_seat(state, event.seat)
    what = f"{who} posts the ante of {chips(event.amount, all_in=event.all_in)}"
    rules = (cite(ruleset, "P5", "W4"),)
    if event.amount < state.rules.ante:
        return Told(what, "whoever cannot pay the ante posts what they have", (*rules, "B.4"), event.seat)
    if state.at(event.seat).auto_post:
        return Told(what, "by Auto Post Ante", (cite(ruleset, "P6", "B.17"),), event.seat)
    return Told(what, "asked for it, and it was posted", (cite(ruleset, "P8", "B.17"),), event.seat)


def _ante_missed(state: Table, event: ev.AnteMissed) -> Told:
    why = "declined, or not answered in time: no ante, no cards"
    return Told(f"{at_seat(state, event.seat)} posts no ante", why, ("B.17",), event.seat)


def _antes_returned(state: Table, event: ev.AntesReturned) -> Told:
    back = [f"{money(refund.amount)} to {at_seat(state, refund.seat)}" for refund in event.refunds]
    what = f"the antes of hand {event.hand_no} go back" + (f": {listed(back)}" if back else "")
    if event.reason == TOO_FEW_ANTES:
        return Told(what, "fewer than two players posted; number and deck serve the next attempt", ("B.17",))
    why = "the table starts no more hands" if event.reason == DRAINING else f"called off: {event.reason}"
    return Told(what, why)


def _hand_started(state: Table, event: ev.HandStarted) -> Told:
    ruleset = state.rules.ruleset
    dealt = listed([f"{player.account} (seat {player.seat})" for player in event.dealt_in])
    order = f"cards go round from {left(state.rules)}"
    if ruleset.deal_origin is DealOrigin.FIXED:
        return Told(f"hand {event.hand_no} begins: {dealt}", order, (cite(ruleset, "P11", "B.0"),))
    what = f"hand {event.hand_no} begins, button at seat {event.button}: {dealt}"
    if not state.dealt_button:
        return Told(what, f"the first button is the highest seat that posts; {order}", ("B.0",))
    return Told(what, f"the button moves to the next player clockwise; {order}", (cite(ruleset, "B.0", "W26"),))


def _deal_requested(state: Table, event: ev.DealRequested) -> Told:
    ruleset = state.rules.ruleset
    what = f"the table asks for {STREETS[event.street]}"
    why, rules = _why_deal(event, ruleset)
    if event.street > 3 and chips_behind(state.running) < 2:
        why, rules = f"{why}; fewer than two players can still bet", (*rules, "B.9")
    return Told(what + (", after a burn" if event.burn else ""), why, rules)


def _why_deal(event: ev.DealRequested, ruleset: Ruleset) -> tuple[str, tuple[str, ...]]:
    if event.mode is DealMode.COMMUNITY:
        text = "the deck is too short for the river: one card is turned up for everybody"
        return text, (cite(ruleset, "P35", "W21"), "B.12")
    if event.mode is DealMode.RECYCLE:
        text = "the deck is too short for the river: burns and stub are shuffled together"
        return text, (cite(ruleset, "P34", "B.12"), "B.12")
    if event.street == 3:
        return "everybody has posted", (cite(ruleset, "P12", "W7"),)
    if event.street == RIVER:
        return "the betting of sixth street is over", (cite(ruleset, "P31", "W12"),)
    cited = {4: cite(ruleset, "P18", "W11"), 5: cite(ruleset, "P26", "W11"), 6: cite(ruleset, "P28", "W11")}
    return f"the betting of {STREETS[event.street - 1]} is over", (cited[event.street],)


def _cards_dealt(state: Table, event: ev.CardsDealt) -> Told:
    ruleset = state.rules.ruleset
    parts = []
    if event.down:
        each = len(event.down) // len({box.seat for box in event.down})
        parts.append(f"{each} face down to each of {len({box.seat for box in event.down})}")
    parts += [f"{card_name(card.card)} to {at_seat(state, card.seat)}" for card in event.up]
    if event.community is not None:
        parts.append(f"{card_name(event.community)} for everybody")
    why = "the dealer's answer to the table's request, from the deck that was committed to"
    return Told(f"{STREETS[event.street]}: {', '.join(parts)}", why, (_dealt_by(ruleset, event),))


def _dealt_by(ruleset: Ruleset, event: ev.CardsDealt) -> str:
    if event.street == 3:
        return cite(ruleset, "P12", "W7")
    if event.street < RIVER:
        return {4: cite(ruleset, "P18", "W11"), 5: cite(ruleset, "P26", "W11")}.get(
            event.street, cite(ruleset, "P28", "W11")
        )
    return cite(ruleset, "P31", "W12") if event.community is None else cite(ruleset, "P35", "W21")


SAY: Final[dict[type, Callable[[Table, Any], Told]]] = {
    ev.DeckReady: _deck_ready,
    ev.AntesOpened: _antes_opened,
    ev.AntePosted: _ante_posted,
    ev.AnteMissed: _ante_missed,
    ev.AntesReturned: _antes_returned,
    ev.HandStarted: _hand_started,
    ev.DealRequested: _deal_requested,
    ev.CardsDealt: _cards_dealt,
}

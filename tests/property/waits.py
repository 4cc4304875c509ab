"""The complete list of what a table can wait for between two commands, and that it is exactly one of them."""

from __future__ import annotations

from enum import Enum

from stud_core.events import OutReason
from stud_core.gate import hand_gate
from stud_core.state import Hand, Life, Phase, Sit, Table


class Awaited(Enum):
    """What or whom a table waits for."""

    ANTES = "answers to the ante prompts"
    CARDS = "the dealer's answer to a request"
    ACTION = "one player's action"
    SHOWS = "answers to the show prompts"
    RESOLUTION = "two operators' decision on a disputed hand"
    VERDICT = "the referee's verdict on the last hand"
    CASH_OUTS = "the wallet, before a closing table can end"
    RESUME_DRAINING = "an operator, at a draining table"
    RESUME = "an operator, at a paused table"
    PLAYERS = "two players with chips"
    DECK = "the dealer's next deck"
    START = "somebody to start the next hand"
    NOTHING = "nothing: the table is closed"


# What the gate to the next hand calls it; a verdict is asked for at draining and closing tables too.
GATES = {
    Awaited.RESUME_DRAINING: "DRAINING",
    Awaited.RESOLUTION: "DISPUTED",
    Awaited.RESUME: "PAUSED",
    Awaited.VERDICT: "VERIFYING",
    Awaited.PLAYERS: "TOO_FEW_PLAYERS",
    Awaited.DECK: "DECK_NOT_READY",
    Awaited.START: "",
}


def awaited(table: Table) -> Awaited:
    """The one thing the table waits for; AssertionError when it waits for none or for two at once."""
    if table.hand is not None:
        assert hand_gate(table) == "HAND_RUNNING"
        assert not table.wants_showdown, "a showdown is never left for later"
        return _in_hand(table, table.hand)
    assert (table.life is Life.CLOSED) == (table.life in {Life.CLOSING, Life.CLOSED} and not table.sittings)
    found = _between_hands(table)
    if table.life is Life.OPEN:
        assert hand_gate(table) == GATES[found]
    else:
        assert hand_gate(table) == table.life.name
    return found


def _in_hand(table: Table, hand: Hand) -> Awaited:
    seats = [prompt.seat for prompt in hand.prompts]
    assert len(set(seats)) == len(seats), "a seat is asked twice"
    open_questions = {
        Awaited.ANTES: hand.phase is Phase.ANTES and bool(seats) and all(p.kind is None for p in hand.prompts),
        Awaited.CARDS: hand.phase is Phase.DEALING and hand.deal is not None,
        Awaited.ACTION: hand.phase is Phase.BETTING and bool(hand.turn_seat) and len(hand.options) > 0,
        Awaited.SHOWS: hand.phase is Phase.SHOW_PROMPTS and bool(seats) and all(p.kind for p in hand.prompts),
    }
    found = [what for what, is_open in open_questions.items() if is_open]
    assert len(found) == 1, f"{found} in {hand}"
    (what,) = found
    assert bool(hand.deal) == (what is Awaited.CARDS)
    assert bool(seats) == (what in {Awaited.ANTES, Awaited.SHOWS})
    assert bool(hand.turn_seat) == bool(hand.options) == (what is Awaited.ACTION)
    if what is Awaited.ACTION:
        sitting = table.at(hand.turn_seat)
        assert hand.live[hand.turn_seat]
        assert sitting.stack > 0, "a player without chips is asked to act"
        assert sitting.status is Sit.SEATED, "who leaves is not waited for"
        away = sitting.out_reason is OutReason.REQUESTED and table.rules.ruleset.away_folds_now
        assert not away, "who is away is not waited for"
        assert bool(hand.deadline_ms) == bool(table.rules.ruleset.action_clock_ms)
    return what


def _between_hands(table: Table) -> Awaited:
    if table.life is Life.CLOSED:
        return Awaited.NOTHING
    if table.disputed_hand:
        assert table.disputed_hand == table.ended_hand == table.verified_hand + 1
        return Awaited.RESOLUTION
    if table.paused and table.life is Life.OPEN:
        return Awaited.RESUME
    if table.verified_hand < table.ended_hand:
        return Awaited.VERDICT
    if table.life is Life.CLOSING:
        for sitting in table.sittings.values():
            leaving = sitting.status is Sit.LEAVING and sitting.top_up_open
            assert leaving or sitting.status in {Sit.CASHING_OUT, Sit.HELD}, f"nobody sends this one off: {sitting}"
        return Awaited.CASH_OUTS
    if table.life is Life.DRAINING:
        return Awaited.RESUME_DRAINING
    ready = [s for s in table.sittings.values() if s.status is Sit.SEATED and not s.sitting_out and s.stack]
    if len(ready) < 2:
        return Awaited.PLAYERS
    return Awaited.DECK if table.deck_hand_no == table.hand_no else Awaited.START

"""Where the button is: it moves after a hand that had cards, however that ended, and after no other (W26; B.21)."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import decide
from stud_core.evolve import evolve
from stud_core.presets import WILLIAM_HILL
from stud_core.ruleset import DealOrigin
from tests.support.core_table import FREE, knobs
from tests.unit.core.house import House

RULES = knobs(WILLIAM_HILL, **FREE)
SEATS = [(2, 5, 7), (1, 2), (1, 8), (3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 7, 8)]


def undealt(house: House) -> int:
    """A hand that is voided before its first card; returns where its button was."""
    house.ready_deck()
    house.send(cmd.StartHand())
    button = house.hand.button
    house.send(cmd.VoidHand(house.hand.hand_no, "test", "op"))
    return button


def dealt(house: House, *, void: bool) -> int:
    house.start()
    button = house.hand.button
    if void:
        house.send(cmd.VoidHand(house.hand.hand_no, "test", "op"))
    else:
        house.passive()
        while house.state.hand is not None:
            house.tick(10_000)
    return button


def aborted(house: House) -> None:
    """An ante round that comes to nothing."""
    seat = next(s for s, number in enumerate(house.state.seats) if number)
    house.send(cmd.SetPreferences(f"a{seat}", auto_post=False))
    house.ready_deck()
    house.send(cmd.StartHand())
    house.send(cmd.VoidHand(house.hand.hand_no, "test", "op"))
    house.send(cmd.SetPreferences(f"a{seat}", auto_post=True))


@pytest.mark.rules("W26")
@pytest.mark.knob("deal_origin", DealOrigin.BUTTON)
def test_a_hand_that_never_had_a_card_leaves_the_button():
    """Seats 2, 5 and 7, button 7."""
    house = House(RULES, [2, 5, 7])
    assert dealt(house, void=False) == 7
    assert [undealt(house), undealt(house)] == [2, 2]
    assert house.state.button == 7, "what people see is where it is"
    assert dealt(house, void=True) == 2
    assert dealt(house, void=False) == 5


def test_the_first_button_is_that_of_the_first_hand_with_cards():
    """The highest seat that posts: seat 8 is taken, and sits out."""
    house = House(RULES, [2, 5, 7, 8])
    house.send(cmd.SitOut("a8"))
    assert [undealt(house), undealt(house)] == [7, 7]
    assert house.state.button == 0
    house.send(cmd.SitIn("a8"))
    assert dealt(house, void=False) == 8


@pytest.mark.rules("W26")
@pytest.mark.parametrize("seats", SEATS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_button_goes_round_by_the_hands_that_had_cards(seats: tuple[int, ...], seed: int):
    """Whatever comes between two of them."""
    rng = Random(seed)
    house = House(RULES, seats)
    buttons: list[int] = []
    while len(buttons) < 6:
        what = rng.randrange(4)
        if what == 0:
            assert undealt(house) == seats[(len(buttons) - 1) % len(seats)]
        elif what == 1:
            aborted(house)
        else:
            buttons.append(dealt(house, void=what == 2))
    assert buttons == [seats[(number - 1) % len(seats)] for number in range(6)]


def test_a_hand_of_the_first_engine_moves_on_from_the_last_that_was_started():
    """And one of today's that follows it does not count the hand without cards, by whomever that was begun."""
    house = House(RULES, [2, 5, 7])
    dealt(house, void=False)
    house.ready_deck()
    first = msgspec.structs.replace(house.ctx(), engine=ev.Engine.FIRST)
    begun = decide(house.state, cmd.StartHand(), first)
    assert isinstance(begun, list)
    house.state = evolve(house.state, begun, first.version)
    assert house.hand.button == 2
    voided = decide(house.state, cmd.VoidHand(2, "test", "op"), house.ctx())
    assert isinstance(voided, list)
    house.state = evolve(house.state, voided, first.version + 1)
    assert (house.state.button, house.state.dealt_button) == (2, 7)
    for command in (cmd.RecordVerdict(2, 1), cmd.RecordDeck(3, b"deck")):
        events = decide(house.state, command, house.ctx())
        assert isinstance(events, list)
        house.state = evolve(house.state, events, house.state.version + 1)
    for engine, button in ((ev.Engine.FIRST, 5), (ev.Engine.SECOND, 2)):
        started = decide(house.state, cmd.StartHand(), msgspec.structs.replace(house.ctx(), engine=engine))
        assert isinstance(started, list)
        assert [event.button for event in started if isinstance(event, ev.HandStarted)] == [button]

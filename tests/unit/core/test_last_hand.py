"""What a table keeps of how its last hand ended: the hand itself, until the next antes."""

from typing import Any

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.evolve import evolve
from stud_core.presets import PLAYNOW
from stud_core.state import Hand
from tests.support.core_table import FREE, knobs
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)


def started(*seats: int) -> House:
    house = House(RULES, seats)
    house.start()
    return house


def finished(house: House) -> Hand:
    """Whoever is asked whether to show lets his time run out."""
    while house.state.hand is not None:
        house.tick(10_000)
    assert house.state.last_hand is not None
    return house.state.last_hand


def happened(house: House, kind: type) -> tuple[Any, ...]:
    return tuple([event for _, events in house.log for event in events if isinstance(event, kind)])


def test_cards_ranks_and_pots_are_kept_until_the_next_antes():
    house = started(1, 2, 3)
    assert house.state.last_hand is None
    house.passive()
    last = finished(house)
    assert (last.hand_no, last.uncalled, last.refunds) == (1, (), None)
    shown = happened(house, ev.HandShown)
    assert {event.seat: (event.cards, event.rank) for event in shown} == {
        seat: (last.shown[seat], last.ranks[seat]) for seat in (1, 2, 3) if last.shown[seat]
    }
    assert all(event.rank > 0 for event in shown)
    assert last.paid_pots == happened(house, ev.PotAwarded) != ()
    house.start()
    assert house.state.last_hand is None


def test_what_nobody_called_is_kept():
    house = started(1, 2)
    for verb in ("bring_in", "complete", "fold"):
        house.act(house.hand.turn_seat, verb)
    last = finished(house)
    assert last.uncalled == happened(house, ev.UncalledReturned) != ()
    assert last.ranks == [0] * 9  # won without a showdown, and not shown


def test_all_of_it_is_kept_where_it_is_told_in_parts():
    house = started(1, 2)
    parts = [ev.UncalledReturned(1, 10, 990), ev.UncalledReturned(1, 5, 995)]
    after = evolve(house.state, parts, 99)
    assert after.running.uncalled == tuple(parts)


def test_what_a_void_gave_back_is_kept():
    house = started(1, 2, 3)
    house.act(house.hand.turn_seat, "bring_in")
    house.send(cmd.VoidHand(1, "broken", "op"))
    last = finished(house)
    (voided,) = happened(house, ev.HandVoided)
    assert last.refunds == voided.refunds
    assert len(voided.refunds) == 3


def test_every_pot_is_kept():
    house = House(RULES)
    for seat, stack in ((1, 100), (2, 10_000), (3, 10_000)):
        house.sit(seat, stack)
    house.start()
    house.passive()
    last = finished(house)
    assert last.paid_pots == happened(house, ev.PotAwarded)
    assert len(last.paid_pots) == 2

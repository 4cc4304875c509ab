"""Pots, uncalled bets, rake and odd units as plain arithmetic."""

from __future__ import annotations

import pytest

from stud_core.pots import Pot, allot_rake, build_pots, called_money, split, uncalled
from stud_core.ruleset import OddUnits


def seats(**values: int) -> list[int]:
    """``s1=5`` → a list by seat."""
    return [values.get(f"s{seat}", 0) for seat in range(9)]


def live(*alive: int) -> list[bool]:
    return [seat in alive for seat in range(9)]


def test_one_pot_when_everybody_paid_the_same():
    assert build_pots(seats(s1=100, s2=100, s5=100), live(1, 2, 5)) == (Pot(300, (1, 2, 5)),)


def test_folded_chips_stay_in_the_layers_they_were_paid_into():
    paid = seats(s1=1000, s2=1000, s3=300, s4=650)
    assert build_pots(paid, live(1, 2, 3)) == (Pot(1200, (1, 2, 3)), Pot(1750, (1, 2)))


def test_a_layer_of_folded_chips_merges_into_the_one_below():
    assert build_pots(seats(s1=300, s2=300, s3=900), live(1, 2)) == (Pot(1500, (1, 2)),)
    paid = seats(s1=100, s2=300, s3=900, s4=900)
    assert build_pots(paid, live(1, 2)) == (Pot(400, (1, 2)), Pot(1800, (2,)))


def test_no_chips_no_pot():
    assert build_pots(seats(), live(1, 2)) == ()
    assert build_pots(seats(s2=50, s3=50), live(1, 2)) == (Pot(100, (2,)),)


@pytest.mark.parametrize(
    ("bets", "alive", "result"),
    [
        (seats(s1=1000, s2=400), (1, 2), (1, 600)),
        (seats(s1=1000, s2=1000), (1, 2), (0, 0)),
        (seats(s1=1000, s2=1000), (1,), (0, 0)),  # who folded counts as the second largest
        (seats(s1=3000, s2=1000, s3=700), (1, 3), (1, 2000)),
        (seats(s1=400, s3=1000), (1, 3), (3, 600)),
        (seats(s1=1000, s3=400), (3,), (0, 0)),  # the largest is not live: nobody is owed anything
        (seats(), (1, 2), (0, 0)),
    ],
)
def test_uncalled(bets: list[int], alive: tuple[int, ...], result: tuple[int, int]):
    assert uncalled(bets, live(*alive)) == result


def test_money_that_nobody_matched_is_not_called():
    assert called_money(seats(s1=50, s2=30)) == 60
    assert called_money(seats(s1=50, s2=50, s3=30)) == 130


def test_rake_comes_from_the_main_pot_first():
    pots = (Pot(300, (1, 2, 3)), Pot(700, (1, 2)))
    assert allot_rake(pots, 1000, 500, None) == (50, 0)
    assert allot_rake(pots, 1000, 10_000, None) == (300, 700)
    assert allot_rake(pots, 1000, 10_000, 350) == (300, 50)
    assert allot_rake(pots, 1000, 500, 0) == (0, 0)
    assert allot_rake(pots, 199, 500, None) == (9, 0)  # rounded down


@pytest.mark.parametrize(
    ("odd", "order", "shares"),
    [
        (OddUnits.ONE_EACH_FROM_LEFT, (1, 2, 3), {1: 34, 2: 34, 3: 33}),
        (OddUnits.ONE_EACH_FROM_LEFT, (3, 1, 2), {3: 34, 1: 34, 2: 33}),
        (OddUnits.ALL_TO_FIRST_LEFT, (2, 3, 1), {2: 35, 3: 33, 1: 33}),
        (OddUnits.HIGH_CARD_BY_SUIT, (1, 2, 3), {1: 33, 2: 33, 3: 35}),
    ],
)
def test_odd_units(odd: OddUnits, order: tuple[int, ...], shares: dict[int, int]):
    result = split(101, (1, 2, 3), order, odd, {1: 48, 2: 50, 3: 51})
    assert result == shares
    assert list(result) == list(order)


def test_a_pot_that_divides_evenly_has_no_odd_units():
    assert split(30_300, (1, 2, 3), (1, 2, 3), OddUnits.ONE_EACH_FROM_LEFT, {}) == dict.fromkeys((1, 2, 3), 10_100)

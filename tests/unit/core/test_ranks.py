"""Ranking of hands and of boards, the whole deck of 2 598 960 five-card hands included."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from phevaluator.evaluator import _pheval  # type: ignore[import-untyped]

from stud_core.cards import parse_cards
from stud_core.ranks import CATEGORIES, board_strength, category, describe, rank_best


@pytest.mark.timeout(300)
def test_all_five_card_hands_give_the_standard_category_counts():
    evaluate = _pheval.evaluate_5cards  # past its conversions: 2.6 million calls
    ranks = Counter(evaluate(*cards) for cards in combinations(range(52), 5))
    assert sum(ranks.values()) == 2_598_960
    assert sorted(ranks) == list(range(1, 7463))
    counts = Counter[str]()
    for rank, count in ranks.items():
        counts[describe(rank)] += count
    assert counts == {
        "straight flush": 40,
        "four of a kind": 624,
        "full house": 3_744,
        "flush": 5_108,
        "straight": 10_200,
        "three of a kind": 54_912,
        "two pair": 123_552,
        "pair": 1_098_240,
        "high card": 1_302_540,
    }


def test_the_core_asks_that_evaluator():
    for cards in list(combinations(range(52), 5))[::9973]:
        assert rank_best(cards) == _pheval.evaluate_5cards(*cards)


@pytest.mark.rules("P46", "W23")
@pytest.mark.parametrize(
    ("hand", "name"),
    [
        ("As Ks Qs Js Ts", "straight flush"),
        ("5h 4h 3h 2h Ah", "straight flush"),
        ("Ac Ad Ah As Kc", "four of a kind"),
        ("2c 2d 2h 2s 3c", "four of a kind"),
        ("Ac Ad Ah Ks Kc", "full house"),
        ("2c 2d 2h 3s 3c", "full house"),
        ("Ac Kc Qc Jc 9c", "flush"),
        ("7c 5c 4c 3c 2c", "flush"),
        ("Ac Kd Qh Js Tc", "straight"),
        ("5c 4d 3h 2s Ac", "straight"),
        ("Ac Ad Ah Ks Qc", "three of a kind"),
        ("2c 2d 2h 4s 3c", "three of a kind"),
        ("Ac Ad Kh Ks Qc", "two pair"),
        ("3c 3d 2h 2s 4c", "two pair"),
        ("Ac Ad Kh Qs Jc", "pair"),
        ("2c 2d 5h 4s 3c", "pair"),
        ("Ac Kd Qh Js 9c", "high card"),
        ("7c 5d 4h 3s 2c", "high card"),
    ],
)
def test_categories_have_names(hand: str, name: str):
    """The best hand and the worst of each."""
    rank = rank_best(parse_cards(hand))
    assert describe(rank) == name
    assert CATEGORIES[category(rank)] == name


def test_the_best_and_the_worst():
    assert rank_best(parse_cards("As Ks Qs Js Ts")) == 1
    assert rank_best(parse_cards("7c 5d 4h 3s 2c")) == 7462


@pytest.mark.rules("P1", "W22")
def test_seven_cards_are_the_best_five_of_them():
    cards = parse_cards("9c 9d Kh Ks 2c 2d As")
    assert rank_best(cards) == min(rank_best(five) for five in combinations(cards, 5))
    assert rank_best(cards[:6]) == min(rank_best(five) for five in combinations(cards[:6], 5))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("3c", "2s"),
        ("2c 2d", "As Kd"),
        ("As Kd", "Ah Qd"),
        ("3c 3d 2h", "2c 2d Ah"),
        ("2c 2d 2h 3s", "As Ad Kh Kd"),
        ("3c 3d 2h 2s", "As Ad Kh Qd"),
        ("2c 2d 2h 2s", "As Ad Ah Kd"),
        ("Ac 5d 3h 2s", "Kc Qd Jh Ts"),  # four to a straight are high cards
        ("Ac 9d 3h 2s", "Ah 8h 7h 6h"),  # four to a flush, too
    ],
)
def test_boards(better: str, worse: str):
    assert board_strength(parse_cards(better)) > board_strength(parse_cards(worse))


def test_boards_tie_without_suits():
    assert board_strength(parse_cards("Ac Kd 7h")) == board_strength(parse_cards("Kc 7d As"))


def test_five_visible_cards_are_a_poker_hand():
    straight, trips = parse_cards("5h 6h 7h 8s 9c"), parse_cards("Kc Kd Ks 2h 3s")
    assert board_strength(straight) > board_strength(trips)

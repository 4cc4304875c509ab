"""Who acts first: door cards and boards of one to four up cards, against a comparison written from the rule text.

P13-P16 and W8 for the door; P19, P26, P28 and B.10 for boards: four of a kind, three, two pair, a pair, then high
cards, no straights, no flushes, and suits do not matter. The comparison below looks at names of cards, not at numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from itertools import combinations, pairwise, permutations
from random import Random

import pytest

from stud_core.betting import high_board, low_card
from stud_core.cards import card_name
from stud_core.presets import PLAYNOW
from stud_core.ranks import board_strength
from stud_core.state import Hand, Phase
from tests.support.deep import either

pytestmark = pytest.mark.timeout(either(120, 1_200))
HANDS = either(1_000, 60_000)
RANKS, SUITS = "23456789TJQKA", "cdhs"
Board = tuple[str, ...]


# --- the rule text --------------------------------------------------------------------------------------------------


def value(rank: str) -> int:
    return RANKS.index(rank)


def of_a_kind(board: Board, number: int) -> list[str]:
    """Ranks that are there so many times, the highest first."""
    faces = [name[0] for name in board]
    return sorted({face for face in faces if faces.count(face) == number}, key=value, reverse=True)


def category(board: Board) -> int:
    if of_a_kind(board, 4):
        return 4
    if of_a_kind(board, 3):
        return 3
    return len(of_a_kind(board, 2))  # two pair, a pair, nothing


def compare(one: Board, other: Board) -> int:
    """Above 0 if the first board is higher, 0 if they are equal."""
    if category(one) != category(other):
        return category(one) - category(other)
    for number in (4, 3, 2, 1):
        for mine, theirs in zip(of_a_kind(one, number), of_a_kind(other, number), strict=True):
            if mine != theirs:
                return value(mine) - value(theirs)
    return 0


def lower_door(one: str, other: str) -> bool:
    """Rank first, ace high; of equal ranks the suits from clubs to spades."""
    if one[0] != other[0]:
        return value(one[0]) < value(other[0])
    return SUITS.index(one[1]) < SUITS.index(other[1])


# --- boards ---------------------------------------------------------------------------------------------------------


def named(cards: Sequence[int]) -> Board:
    return tuple(card_name(card) for card in cards)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_board_is_as_strong_as_its_ranks(size: int):
    """All 52, 1 326, 22 100 and 270 725 boards: the strength of one is that of all with the same ranks."""
    strengths: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for cards in combinations(range(52), size):
        strengths[tuple([card >> 2 for card in cards])].add(board_strength(cards))
    assert len(strengths) == {1: 13, 2: 91, 3: 455, 4: 1_820}[size]
    assert {len(found) for found in strengths.values()} == {1}


def one_of_each(size: int) -> list[tuple[int, ...]]:
    """One board of every combination of ranks."""
    found = {tuple([card >> 2 for card in cards]): cards for cards in combinations(range(52), size)}
    return list(found.values())


@pytest.mark.parametrize("size", [1, 2, *either([3], [3, 4], [])])
def test_every_two_boards_compare_as_the_rule_says(size: int):
    """With the test above this is every pair of boards of that size."""
    boards = [(named(cards), board_strength(cards)) for cards in one_of_each(size)]
    for (one, strength), (other, its) in combinations(boards, 2):
        assert sign(strength - its) == sign(compare(one, other)), (one, other)


def compare_cards(one: Sequence[int], other: Sequence[int]) -> int:
    return compare(named(one), named(other))


def test_boards_of_four_stand_in_the_order_of_the_rule():
    """Sorted by the rule, strengths rise at each step: as good as all pairs, since the rule is an order."""
    boards = sorted(one_of_each(4), key=cmp_to_key(compare_cards))
    strengths = [board_strength(cards) for cards in boards]
    assert all(one < other for one, other in pairwise(strengths))


@pytest.mark.parametrize("size", [1, 2])
def test_small_boards_compare_with_their_suits_on(size: int):
    """Every board of one card against every other; of two cards a spread of all pairs, and equal ranks always."""
    boards = list(combinations(range(52), size))
    for one in boards:
        for other in boards[:: 1 if size == 1 else either(97, 1)]:
            expected = sign(compare(named(one), named(other)))
            assert sign(board_strength(one) - board_strength(other)) == expected, (one, other)


# --- who acts -------------------------------------------------------------------------------------------------------


def hand_of(order: Sequence[int], up: Mapping[int, Sequence[int]], live: Sequence[int]) -> Hand:
    hand = Hand(1, Phase.BETTING, 1, order=tuple(order))
    for seat in order:
        hand.up[seat] = tuple(up[seat])
        hand.live[seat] = seat in live
    return hand


def test_the_lowest_door_of_any_two():
    for one, other in permutations(range(52), 2):
        hand = hand_of((3, 7), {3: [one], 7: [other]}, (3, 7))
        assert low_card(hand) == (3 if lower_door(card_name(one), card_name(other)) else 7)


def test_the_lowest_door_of_a_table():
    rng = Random("doors")
    for _ in range(HANDS):
        order = rng.sample(range(1, 9), rng.randint(2, 8))
        doors = dict(zip(order, rng.sample(range(52), len(order)), strict=True))
        low = low_card(hand_of(order, {seat: [card] for seat, card in doors.items()}, order))
        names = {seat: card_name(card) for seat, card in doors.items()}
        assert all(lower_door(names[low], names[seat]) for seat in order if seat != low)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_highest_board_of_a_table_begins_and_of_equal_ones_the_first_dealt(size: int):
    """P19-P21. Half of the decks have four ranks only, so that boards are often equal."""
    rng = Random(f"boards {size}")
    ties = 0
    for number in range(HANDS):
        low = 4 * rng.randrange(10)
        deck = rng.sample(range(52), 32) if number % 2 else rng.sample(range(low, low + 16), 16)
        order = rng.sample(range(1, 9), rng.randint(2, min(8, len(deck) // size)))
        up = {seat: deck[at * size : at * size + size] for at, seat in enumerate(order)}
        live = [seat for seat in order if rng.random() < 0.8] or order
        boards = {seat: named(up[seat]) for seat in order}
        best = [seat for seat in live if all(compare(boards[seat], boards[other]) >= 0 for other in live)]
        ties += len(best) > 1
        assert high_board(hand_of(order, up, live), PLAYNOW) == best[0]
    assert ties > 0.005 * HANDS, "boards are hardly ever equal"

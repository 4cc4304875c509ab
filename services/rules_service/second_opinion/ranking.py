"""Strength of hands and boards by looking at every five cards; deliberately without tables.

A strength is a tuple; the greater one wins, equal ones tie. Suits never decide (P17). Cards are 0..51, ``4 * rank +
suit`` with rank 0 the deuce. Rules: P46, W22-W23; boards B.10; community card B.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Strength = tuple[int, ...]

STRAIGHT_FLUSH, QUADS, FULL_HOUSE, FLUSH, STRAIGHT, TRIPS, TWO_PAIR, PAIR, HIGH_CARD = range(8, -1, -1)

_WHEEL = [12, 3, 2, 1, 0]
_BY_COUNTS = {
    (4, 1): QUADS,
    (3, 2): FULL_HOUSE,
    (3, 1, 1): TRIPS,
    (2, 2, 1): TWO_PAIR,
    (2, 1, 1, 1): PAIR,
}


def five(cards: Sequence[int]) -> Strength:
    """Strength of exactly five cards."""
    ranks = sorted([card >> 2 for card in cards], reverse=True)
    one_suit = len({card & 3 for card in cards}) == 1
    if len(set(ranks)) == 5:
        in_a_row = ranks[0] - ranks[4] == 4
        if ranks == _WHEEL:
            return (STRAIGHT_FLUSH if one_suit else STRAIGHT, 3)
        if in_a_row:
            return (STRAIGHT_FLUSH if one_suit else STRAIGHT, ranks[0])
        return (FLUSH if one_suit else HIGH_CARD, *ranks)
    counts, faces = _groups(ranks)
    return (_BY_COUNTS[counts], *faces)


def best_of(cards: Sequence[int]) -> Strength:
    """Strength of the best five of five to seven cards."""
    return max([five(choice) for choice in combinations(cards, 5)])


def board(cards: Sequence[int]) -> tuple[Strength, Strength]:
    """Strength of one to four up cards, where neither straights nor flushes count (B.10)."""
    return _groups(sorted([card >> 2 for card in cards], reverse=True))


def _groups(ranks: list[int]) -> tuple[Strength, Strength]:
    """How often ranks occur, and which, the most frequent first, then the highest."""
    groups = sorted([(ranks.count(rank), rank) for rank in set(ranks)], reverse=True)
    return tuple([count for count, _ in groups]), tuple([rank for _, rank in groups])

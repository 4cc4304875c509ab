"""Strength of hands (five to seven cards) and of boards (up cards).

Hands are ranked by phevaluator, whose card numbers are ours; boards of one to four cards know neither
straights nor flushes (B.10), which no evaluator of hands offers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import Final, cast

from phevaluator.evaluator import (  # type: ignore[import-untyped]
    evaluate_5cards,
    evaluate_6cards,
    evaluate_7cards,
)

from stud_core.cards import DECK_SIZE, rank_of

WORST_RANK: Final = 7462

CATEGORIES: Final = (
    "straight flush",
    "four of a kind",
    "full house",
    "flush",
    "straight",
    "three of a kind",
    "two pair",
    "pair",
    "high card",
)
# The worst rank of each category.
_LAST_RANKS: Final = (10, 166, 322, 1599, 1609, 2467, 3325, 6185, WORST_RANK)

_EVALUATORS: Final = cast(dict[int, Callable[..., int]], {5: evaluate_5cards, 6: evaluate_6cards, 7: evaluate_7cards})


def rank_best(cards: Sequence[int]) -> int:
    """Rank of the best five of five to seven cards: 1 (royal flush) … 7462, lower is better.

    Suits never decide (P17, W23); equal numbers split the pot.
    """
    return _EVALUATORS[len(cards)](*cards)


def category(rank: int) -> int:
    """Index into ``CATEGORIES``, 0 (straight flush) … 8 (high card)."""
    return bisect_left(_LAST_RANKS, rank)


def describe(rank: int) -> str:
    """Name of a rank's category, such as ``"full house"``."""
    return CATEGORIES[category(rank)]


# A board's multiset of ranks as one number: every rank has its own digit to base 5, since no more than four
# cards of a rank exist. So a board's strength is one addition per card and one look-up.
_digit: Final = tuple(5 ** rank_of(card) for card in range(DECK_SIZE)).__getitem__


def _board_table() -> dict[int, int]:
    """Strength of every board of one to four ranks, ordered within each number of cards."""
    boards: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []
    for size in range(1, 5):
        for ranks in combinations_with_replacement(range(13), size):
            groups = sorted({(ranks.count(rank), rank) for rank in ranks}, reverse=True)
            shape, faces = zip(*groups, strict=True)
            boards.append((shape, faces, sum(5**rank for rank in ranks)))
    boards.sort()
    return {key: strength for strength, (_, _, key) in enumerate(boards)}


_STRENGTH: Final = _board_table()


def board_strength(cards: Sequence[int]) -> int:
    """Strength of the up cards of one player, higher is better; compare boards of equal size only.

    One to four cards: quads, trips, two pair, pair, high cards and kickers, nothing else (B.10). Five cards
    (four of one's own and the community card) are a poker hand and count in full (B.13).
    """
    if len(cards) == 5:
        return WORST_RANK - rank_best(cards)
    return _STRENGTH[sum(map(_digit, cards))]

"""A hand in the words of the table: ``two pair, kings and fours``.

One function for every place that says what somebody has: a shown hand, a player's own as it stands, `RankHand`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from stud_core.cards import rank_of, suit_of
from stud_core.ranks import CATEGORIES, category, rank_best

_ONE: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace")
_MANY: Final = tuple([f"{name}es" if name == "six" else f"{name}s" for name in _ONE])
_ACE: Final = 12
_FIVE: Final = 3
_WHOLE: Final = 5
"""Cards of which straights and flushes are made; fewer know neither (B.10)."""


def hand_in_words(cards: Sequence[int]) -> str:
    """Say what one to seven cards make, the best five of them where there are more; empty without a card.

    A number is named one (``flush, ace high``) or as many (``pair of kings``, ``full house, kings full of fours``).
    What breaks a tie is not said.
    """
    if not cards:
        return ""
    ranks = [rank_of(card) for card in cards]
    if len(cards) < _WHOLE:
        return _of_numbers(_partial(ranks), ranks)
    name = CATEGORIES[category(rank_best(cards))]
    if name in {"straight flush", "flush"}:
        return _of_suit(name, cards)
    if name == "straight":
        return f"straight, {_ONE[_top_of_straight(set(ranks))]} high"
    return _of_numbers(name, ranks)


def _partial(ranks: Sequence[int]) -> str:
    """Return the category of up to four cards."""
    most = sorted(Counter(ranks).values(), reverse=True)
    if most[0] == 1:
        return "high card"
    return {4: "four of a kind", 3: "three of a kind"}.get(most[0], "two pair" if most[1:] == [2] else "pair")


def _of_numbers(name: str, ranks: Sequence[int]) -> str:
    """Words of a category that is made of equal numbers; of several, the highest count."""
    # As often as there is one, then as high: the first are those that the category speaks of.
    counted = sorted(Counter(ranks).items(), key=lambda item: (-item[1], -item[0]))
    first = counted[0][0]
    match name:
        case "high card":
            return f"high card, {_ONE[first]}"
        case "pair":
            return f"pair of {_MANY[first]}"
        case "two pair":
            return f"two pair, {_MANY[first]} and {_MANY[counted[1][0]]}"
        case "full house":
            # Two threes of a kind are the higher one full of the lower.
            second = max(rank for rank, count in counted[1:] if count > 1)
            return f"full house, {_MANY[first]} full of {_MANY[second]}"
        case _:
            return f"{name}, {_MANY[first]}"


def _of_suit(name: str, cards: Sequence[int]) -> str:
    """Words of five or more cards of one suit."""
    suits = Counter(suit_of(card) for card in cards)
    suit = suits.most_common(1)[0][0]
    ranks = {rank_of(card) for card in cards if suit_of(card) == suit}
    if name == "flush":
        return f"flush, {_ONE[max(ranks)]} high"
    top = _top_of_straight(ranks)
    return "royal flush" if top == _ACE else f"straight flush, {_ONE[top]} high"


def _top_of_straight(ranks: set[int]) -> int:
    """Return the highest number of the best five in a row; an ace is also below the two."""
    for top in range(_ACE, _FIVE, -1):
        if ranks >= set(range(top - 4, top + 1)):
            return top
    return _FIVE

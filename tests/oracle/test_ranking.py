"""Hands are ranked as PokerKit ranks them: every kind of five cards, and large samples of seven."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, pairwise
from random import Random

import pytest
from pokerkit import Card, Hand, StandardHighHand

from stud_core.cards import card_name
from stud_core.ranks import describe, rank_best
from tests.support.deep import either

pytestmark = pytest.mark.timeout(either(120, 1_200))
CHUNKS = either(4, 4, 1)
HANDS = either(5_000, 75_000)
"""Of each chunk, so 20 000 hands, or 300 000 in a deep run. All are held against all others."""

CARDS = tuple(next(Card.parse(card_name(card))) for card in range(52))


def theirs(cards: Sequence[int]) -> Hand:
    return StandardHighHand.from_game([CARDS[card] for card in cards])


def compare(hands: Sequence[Sequence[int]]) -> Counter[str]:
    """Two hands are equal for both or for neither, and the better one is the same; returns how many of what there are.

    The strength that PokerKit gives must fall strictly as our rank grows (1 is the best). That is a comparison of all
    pairs at the price of one sort.
    """
    by_rank: dict[int, int] = {}
    seen = Counter[str]()
    for cards in hands:
        rank, entry = rank_best(cards), theirs(cards).entry
        assert by_rank.setdefault(rank, entry.index) == entry.index, cards
        assert entry.label.value.lower().replace("one ", "") == describe(rank)
        seen[describe(rank)] += 1
    indices = [by_rank[rank] for rank in sorted(by_rank)]
    assert all(better > worse for better, worse in pairwise(indices))
    return seen


def kinds_of_five() -> Iterator[tuple[int, ...]]:
    """One hand of each kind that can be told apart: 6 175 by their ranks alone, 1 287 of one suit."""
    for ranks in combinations_with_replacement(range(13), 5):
        if max(Counter(ranks).values()) < 5:
            yield tuple(4 * rank + at % 4 for at, rank in enumerate(ranks))
    for ranks in combinations(range(13), 5):
        yield tuple(4 * rank for rank in ranks)


def test_every_kind_of_five_cards():
    hands = list(kinds_of_five())
    assert len({rank_best(cards) for cards in hands}) == len(hands) == 7_462
    assert len(compare(hands)) == 9


def draw(rng: Random) -> list[int]:
    """Seven cards: of the whole deck, of few ranks in a row, or of two suits of those, so that the rare kinds come."""
    kind = rng.randrange(4)
    if kind == 0:
        low = rng.randrange(6)
        return rng.sample([card for card in range(4 * low, 4 * low + 32) if card & 3 in {0, 2}], 7)
    if kind == 1:
        low = rng.randrange(8)
        return rng.sample(range(4 * low, 4 * low + 24), 7)
    return rng.sample(range(52), 7)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_seven_cards(chunk: int):
    rng = Random(f"seven {chunk}")
    seen = compare([draw(rng) for _ in range(HANDS)])
    assert len(seen) == 9
    assert min(seen.values()) >= 20, seen

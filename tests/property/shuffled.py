"""The dealer of ``tests.support`` with decks that are shuffled as the product shuffles them, one seed for each hand.

Every fourth deck lies in order of ranks instead, the ranks shuffled, so that players get hands of equal rank: random
decks hardly ever tie, and then nobody would split a pot.
"""

from __future__ import annotations

import hashlib
from random import Random

from stud_core.shuffle import deck_order, river_rank
from tests.support.table_dealer import Dealer


class ShuffledDealer(Dealer):
    """``answer`` compares the positions of each deal with those the product's dealer takes."""

    def __init__(self, burns: bool, seed: int) -> None:
        self.seed = seed
        self.decks = 0
        super().__init__(burns, {}, {}, None, Random(seed))

    def new_deck(self) -> None:
        super().new_deck()
        self.decks += 1
        seed = hashlib.sha256(f"{self.seed}/{self.decks}".encode()).digest()
        self.order = list(deck_order(seed))
        if self.decks % 4 == 2:
            ranks = sorted(range(13), key=self.order.index)
            self.order = [4 * rank + suit for rank in ranks for suit in range(4)]
        self.river_rank = list(river_rank(seed))

    def choose(self, position: int, wanted: list[int] | None) -> int:
        assert not wanted
        return self.order[position]

"""The hands whose betting is played out in every possible way: pages, stacks and cards, as plain data.

Stakes are 5/10 in whole units, ante 1: small numbers keep the trees of short stacks small. Places are seats 1, 2, …;
both pages deal them in this order, since the first button is the highest seat (B.21).
"""

from __future__ import annotations

from typing import NamedTuple

from tests.support.limit_betting import Page

SMALL, BIG, ANTE = 5, 10, 1

PAGES = {
    "playnow": Page(SMALL, BIG, bring_in=2, heads_up="before_cap"),  # P57, P58
    "william_hill": Page(SMALL, BIG, bring_in=3, heads_up="never"),  # W9, W18
}
ODD_UNITS = {"playnow": "one_each", "william_hill": "all_to_first"}  # P47, W25


class Cards(NamedTuple):
    """Up cards of fourth to sixth street behind the door, and three down cards, by place."""

    up: tuple[str, ...]
    down: tuple[str, ...]


# No board pairs. The first place has the low door and so brings in, here and below; who leads later depends on folds.
PLAIN = Cards(
    up=("2c 9d Jh 4s", "Qc Td 8h 6s", "7d Kc 5h 3s"),
    down=("As 2d 2h", "Qd Kh 5c", "7h 7s Jc"),
)
# The third place shows a pair on fourth street; the first two are dead equal, so pots are split with odd units (B.14).
PAIR = Cards(
    up=("2c Ad Kh 9s", "3h Ac Kd 9c", "6d 6s Jh 4h"),
    down=("Qs Js Tc", "Qd Jd Td", "8c 5d 2h"),
)
# The second place pairs on fourth street; the low door has the best hand: all-in for less it wins the main pot only.
LOW_WINS = Cards(
    up=("2s Kc Ks 4d", "9c 9h 5s 3d", "Tc Jd 7h 6c"),
    down=("Kd Kh As", "9d Qh 8s", "Jc Jh 2d"),
)


class Scenario(NamedTuple):
    page: str
    stacks: tuple[int, ...]  # before the ante
    cards: Cards

    @property
    def name(self) -> str:
        cards = {PLAIN: "plain", PAIR: "pair", LOW_WINS: "low_wins"}[self.cards]
        return f"{self.page}-{cards}-{'-'.join(map(str, self.stacks))}"


# With stacks this short everybody is all-in by fifth or sixth street; among them all-ins from the ante, for a part of
# the bring-in, below and above half a bet, for a call that is too small.
SHORT = ((16, 16), (1, 16, 16), (3, 16, 16), (2, 14, 9), (4, 8, 24), (20, 7, 15))
LONGER = {PLAIN: ((6, 31, 31),), PAIR: ((16, 16, 16),), LOW_WINS: ((36, 36),)}

# 500 is more than eight wagers on every street: the complete tree of William Hill's page for two players.
WHOLE = 500
DEEP = ((6, 31, 31), (16, 16, 16), (36, 36), (51, 51), (66, 66), (11, 21, 31), (26, 26, 26), (8, 36, 36), (12, 31, 46))


def scenarios() -> list[Scenario]:
    """What ``make test`` plays out."""
    return [
        Scenario(page, stacks, cards)
        for page in PAGES
        for cards, longer in LONGER.items()
        for stacks in (*SHORT, *longer)
    ]


def deep_scenarios() -> list[Scenario]:
    """What ``make deep`` plays out besides."""
    known = scenarios()
    large = [Scenario(page, stacks, cards) for page in PAGES for cards in LONGER for stacks in DEEP]
    large += [Scenario(page, (31, 31, 31), PAIR) for page in PAGES]
    large += [Scenario("william_hill", (WHOLE, WHOLE), cards) for cards in (PLAIN, PAIR)]
    return [scenario for scenario in large if scenario not in known]

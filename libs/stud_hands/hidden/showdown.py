"""Hidden down cards of a showdown, found so that exactly the recorded players win.

Every hand that a player can have is listed with its rank, then the demands decide: whoever must beat somebody takes the
best hand that is left, whoever only loses the worst, whoever must tie one of a rank that all the tied can reach. So a
hand that fits is found whenever there is one, whatever the seed; chance only picks among equals. A search that went
through everything and found nothing is a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import combinations
from math import comb
from random import Random
from typing import Final

import msgspec

from stud_core.ranks import WORST_RANK, rank_best
from stud_hands.course import Course
from stud_hands.pots import Winners, pots_of

FIRST_LOOK: Final = 150  # hands of each player that are looked at before all of them are
ALL_HANDS: Final = 20_000  # three cards of 47 are 16215
NODES: Final = 3_000  # hands given to players before the search is given up
TIED_WAYS: Final = 12  # ways of tying at one rank that are tried


class Held(msgspec.Struct, frozen=True):
    """What a player has for sure, and how many cards they need from the unseen ones."""

    cards: tuple[int, ...]
    empty: int


class Demands:
    """What a result asks of the ranks (lower is better) of the live players, or of some of them."""

    def __init__(
        self, course: Course, winners: Winners, exact: Mapping[int, int], of: Collection[int] | None = None
    ) -> None:
        self.exact = dict(exact)
        self.group = {seat: seat for seat in course.live}
        beaten: set[tuple[int, int]] = set()
        for pot, won in zip(pots_of(course), winners, strict=True):
            if not won:
                continue  # the rake took it all: nobody can tell who won it
            for seat in won:
                self._join(min(won), seat)
            beaten |= {(min(won), other) for other in pot.eligible if other not in won}
        self.beats = self._closed({(self.group[a], self.group[b]) for a, b in beaten})
        if of is not None:
            self.group = {seat: group for seat, group in self.group.items() if seat in of}
            left = set(self.group.values())
            self.beats = {(a, b) for a, b in self.beats if {a, b} <= left}

    def members(self) -> dict[int, list[int]]:
        """The seats of each group of equal hands."""
        found: dict[int, list[int]] = {}
        for seat, group in self.group.items():
            found.setdefault(group, []).append(seat)
        return found

    def broken_by(self, ranks: Mapping[int, int]) -> bool:
        """Whether these ranks, of some players, cannot be."""
        best: dict[int, int] = {}
        for seat, rank in ranks.items():
            if best.setdefault(self.group[seat], rank) != rank or self.exact.get(seat, rank) != rank:
                return True
        return any(a in best and b in best and best[a] >= best[b] for a, b in self.beats)

    def _join(self, a: int, b: int) -> None:
        old, new = self.group[b], self.group[a]
        self.group = {seat: new if group == old else group for seat, group in self.group.items()}

    @staticmethod
    def _closed(beats: set[tuple[int, int]]) -> set[tuple[int, int]]:
        while True:
            more = {(a, d) for a, b in beats for c, d in beats if b == c} - beats
            if not more:
                return beats
            beats |= more


Drawn = dict[int, tuple[int, ...]]  # cards by seat


class Fit(msgspec.Struct, frozen=True):
    """``drawn`` are cards by seat, None where none were found; ``impossible`` says that there are none."""

    drawn: Drawn | None
    impossible: bool


def _anything(_: Drawn) -> bool:
    return True


def fitting_hands(
    demands: Demands,
    held: Mapping[int, Held],
    free: list[int],
    rng: Random,
    *,
    thorough: bool,
    ways: int = TIED_WAYS,
    accepts: Callable[[Drawn], bool] = _anything,
) -> Fit:
    """Cards from ``free`` for every player so that the demands are met and ``accepts`` has nothing against them.

    ``thorough`` False looks at a few hands of each player only, ``ways`` is how many of one rank are tried.
    """
    if any(a == b for a, b in demands.beats):
        return Fit(None, impossible=True)
    most = ALL_HANDS if thorough else FIRST_LOOK
    sampled = any(comb(len(free), own.empty) > most for own in held.values())
    hands = {seat: _hands_of(own, free, rng, most, demands.exact.get(seat)) for seat, own in held.items()}
    return _Search(demands, hands, ways, accepts).found(sampled=sampled)


class _Search:
    """One search; a hand is a bit mask of the cards drawn for it."""

    def __init__(
        self, demands: Demands, hands: dict[int, dict[int, list[int]]], ways: int, accepts: Callable[[Drawn], bool]
    ) -> None:
        self.demands, self.hands, self.ways, self.accepts = demands, hands, ways, accepts
        self.members = demands.members()
        self.nodes = NODES
        self.cut = False
        self.losers = {group for group in self.members if not any(a == group for a, _ in demands.beats)}
        self.ranks: dict[int, int] = {}
        self.taken: dict[int, int] = {}
        self.common: dict[int, set[int]] = {}

    def found(self, *, sampled: bool) -> Fit:
        order = sorted(self.members, key=self._freedom)
        if not self._narrow() or not self._give(order, 0):
            return Fit(None, impossible=not (sampled or self.cut))
        return Fit(self._drawn(), impossible=False)

    def _drawn(self) -> Drawn:
        return {seat: tuple(card for card in range(52) if mask >> card & 1) for seat, mask in self.taken.items()}

    def _narrow(self) -> bool:
        """Drop ranks that no rank of the others goes with; False where that leaves somebody none."""
        common = {
            group: set.intersection(*(set(self.hands[seat]) for seat in seats)) for group, seats in self.members.items()
        }
        if not all(common.values()):
            return False
        for a, b in self.demands.beats:  # closed: each pair says all that follows from others for its two
            worst, best = max(common[b]), min(common[a])
            common[a] = {rank for rank in common[a] if rank < worst}
            common[b] = {rank for rank in common[b] if rank > best}
            if not common[a] or not common[b]:
                return False
        self.common = common
        return True

    def _freedom(self, group: int) -> tuple[bool, int, int]:
        """Players without a choice come first, then those who must beat the most, losers last."""
        fixed = all(len(self.hands[seat]) == 1 for seat in self.members[group])
        return not fixed, -sum(a == group for a, _ in self.demands.beats), len(self.members[group])

    def _give(self, order: list[int], used: int) -> bool:
        if not order:
            return self.accepts(self._drawn())
        group, rest = order[0], order[1:]
        for rank, masks in self._choices(group, used):
            self.nodes -= 1
            if self.nodes < 0:
                self.cut = True
                return False
            self.ranks[group] = rank
            self.taken |= masks
            if self._give(rest, used | sum(masks.values())):
                return True
            del self.ranks[group]
        return False

    def _choices(self, group: int, used: int) -> Iterator[tuple[int, dict[int, int]]]:
        """Ranks within what the others leave, and hands of that rank for everybody in the group."""
        above = max((self.ranks[a] for a, b in self.demands.beats if b == group and a in self.ranks), default=0)
        below = min(
            (self.ranks[b] for a, b in self.demands.beats if a == group and b in self.ranks), default=WORST_RANK + 1
        )
        seats = self.members[group]
        for rank in sorted(self.common[group], reverse=group in self.losers):
            if above < rank < below:
                for number, masks in enumerate(self._ways(seats, rank, used)):
                    if number == self.ways:
                        self.cut = True
                        break
                    yield rank, masks

    def _ways(self, seats: list[int], rank: int, used: int) -> Iterator[dict[int, int]]:
        """Hands of one rank that share no card."""
        if not seats:
            yield {}
            return
        for mask in self.hands[seats[0]][rank]:
            if not mask & used:
                for others in self._ways(seats[1:], rank, used | mask):
                    yield {seats[0]: mask, **others}


def _hands_of(own: Held, free: list[int], rng: Random, most: int, exact: int | None) -> dict[int, list[int]]:
    """Masks of the cards to draw by the rank that they make."""
    pool = rng.sample(free, len(free))
    drawn: Iterable[tuple[int, ...]] = combinations(pool, own.empty)
    if comb(len(free), own.empty) > most:
        drawn = (tuple(rng.sample(pool, own.empty)) for _ in range(most))
    found: dict[int, list[int]] = {}
    for cards in drawn:
        rank = rank_best((*own.cards, *cards))
        if exact is None or rank == exact:
            found.setdefault(rank, []).append(sum(1 << card for card in cards))
    return found

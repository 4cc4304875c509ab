"""Which card of the deck goes where: a dealer's hands, walked through again (P12, P18, P26-P36, W20-W21; B.12).

Positions count from 0 at the top of the deck. A deck is known by its order (card at each position) and by the rank
that every position has when burns and stub are shuffled for the river.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stud_core.events import DealMode
from stud_core.ruleset import RiverShortage, Ruleset

DECK = 52
RIVER = 7


class Deck(msgspec.Struct, frozen=True, gc=False):
    """The committed deck, opened. ``repr`` shows nothing: most of it must stay hidden."""

    order: Sequence[int]
    river_rank: Sequence[int]

    def __repr__(self) -> str:
        return "<Deck>"


class Plan(msgspec.Struct, frozen=True, gc=False):
    """The deal that the rules ask for next."""

    street: int
    mode: DealMode
    burn: bool
    targets: tuple[int, ...]


class Dealt(msgspec.Struct, frozen=True, gc=False):
    """Positions that a deal takes: who gets which, in the order dealt."""

    burns: tuple[int, ...]
    down: tuple[tuple[int, int], ...]
    up: tuple[tuple[int, int], ...]
    community: int | None


class Stub:
    """What is left of a deck in the middle of a hand."""

    __slots__ = ("burned", "top")

    def __init__(self) -> None:
        self.top = 0
        self.burned: list[int] = []

    def plan(self, ruleset: Ruleset, street: int, players: Sequence[int]) -> Plan:
        """Return how the next street is dealt to the players who are still in, in deal order."""
        targets = tuple(players)
        if street == 3:
            return Plan(street, DealMode.NORMAL, burn=False, targets=targets)
        if street < RIVER:
            return Plan(street, DealMode.NORMAL, ruleset.burns, targets)
        left, wanted = DECK - self.top, len(targets)
        if left >= wanted + ruleset.river_burn_reserve:
            return Plan(street, DealMode.NORMAL, ruleset.burns and left > wanted, targets)
        recycles = ruleset.river_shortage is RiverShortage.RECYCLE_THEN_COMMUNITY
        if recycles and left + len(self.burned) >= wanted:
            return Plan(street, DealMode.RECYCLE, burn=False, targets=targets)
        return Plan(street, DealMode.COMMUNITY, burn=False, targets=())

    def take(self, plan: Plan, river_rank: Sequence[int]) -> Dealt:
        """Take the positions of a deal off the deck."""
        burns: tuple[int, ...] = ()
        if plan.burn:
            burns = (self._next(),)
            self.burned += burns
        if plan.mode is DealMode.COMMUNITY:
            # The burns alone are shuffled (P35); without burns the next card of the stub is turned (W21).
            common = min(self.burned, key=river_rank.__getitem__) if self.burned else self._next()
            return Dealt(burns, (), (), common)
        if plan.mode is DealMode.RECYCLE:
            pool = sorted([*self.burned, *range(self.top, DECK)], key=river_rank.__getitem__)
            return Dealt(burns, tuple(zip(plan.targets, pool, strict=False)), (), None)
        down: list[tuple[int, int]] = []
        for _ in range({3: 2, RIVER: 1}.get(plan.street, 0)):
            down += [(seat, self._next()) for seat in plan.targets]
        up = [(seat, self._next()) for seat in plan.targets] if plan.street < RIVER else []
        return Dealt(burns, tuple(down), tuple(up), None)

    def _next(self) -> int:
        self.top += 1
        return self.top - 1

"""How each street is dealt, and whether the deck suffices for the river (P29-P36, W20-W21; B.12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from stud_core.cards import DECK_SIZE
from stud_core.events import DealMode
from stud_core.ruleset import RiverShortage, Ruleset

RIVER: Final = 7
_BURNS_BEFORE_RIVER: Final = 3  # fourth, fifth and sixth street


class RiverPlan(NamedTuple):
    """How the river comes. ``stub`` cards are left before it; ``pool`` is what its cards are drawn from."""

    mode: DealMode
    burn: bool
    stub: int
    pool: int


def river_plan(ruleset: Ruleset, counts: Sequence[int]) -> RiverPlan:
    """Plan the river for n3..n6 players dealt a card on third … sixth street, and n7 who are still live.

    The arithmetic is made before any river burn (P32); a burn is part of a normal river only.
    """
    third, fourth, fifth, sixth, live = counts
    burnt = _BURNS_BEFORE_RIVER if ruleset.burns else 0
    stub = DECK_SIZE - 3 * third - fourth - fifth - sixth - burnt
    if stub >= live + ruleset.river_burn_reserve:
        burn = ruleset.burns and stub > live
        return RiverPlan(DealMode.NORMAL, burn, stub, stub - burn)
    if ruleset.river_shortage is RiverShortage.RECYCLE_THEN_COMMUNITY and stub + burnt >= live:
        return RiverPlan(DealMode.RECYCLE, burn=False, stub=stub, pool=stub + burnt)
    # P35: the burns alone are shuffled; W21: the next card of the stub is turned.
    return RiverPlan(DealMode.COMMUNITY, burn=False, stub=stub, pool=burnt or stub)

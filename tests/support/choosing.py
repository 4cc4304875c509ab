"""How somebody at a table chooses among options: at random, by weights of the verbs. Every harness of the tests has it.

An option is one of the core's or of the contract: both have a verb, and the numbers of verbs are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from stud_core.events import Verb


class Choosable(Protocol):
    @property
    def verb(self) -> int: ...


Chosen = TypeVar("Chosen", bound=Choosable)

Weights = Mapping[Any, float]
"""By verb: the higher, the more often."""

WEIGHTS: dict[Any, int] = {Verb.FOLD: 1, Verb.CHECK: 4, Verb.CALL: 5, Verb.BRING_IN: 3, Verb.OPEN: 1}
"""Folding ends hands early, and raising (``other``) is what makes pots interesting."""

STAY: dict[Any, int] = {Verb.FOLD: 0, Verb.CHECK: 5, Verb.CALL: 5, Verb.BRING_IN: 5}
"""With 0 for others nobody folds or bets: a hand goes to the river, with one pot."""

LIVELY: dict[Any, int] = {
    Verb.FOLD: 2,
    Verb.CHECK: 6,
    Verb.CALL: 6,
    Verb.BRING_IN: 4,
    Verb.OPEN: 1,
    Verb.COMPLETE: 2,
    Verb.BET: 3,
}
"""With 0 for others nobody raises."""


def choose(rng: Random, options: Sequence[Chosen], weights: Weights = WEIGHTS, other: float = 2) -> Chosen:
    """One of the options; a verb without a weight has that of ``other``."""
    return rng.choices(options, [weights.get(option.verb, other) for option in options])[0]

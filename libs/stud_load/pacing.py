"""When an answer is due. The intended moment is what latency is counted from, so that a stall counts for all that it
held up and not only for the answer that was under way.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Protocol

from stud_load.plan import LoadPlan, RateKind


class Pace(Protocol):
    """A pace. Times are seconds of one monotonic clock."""

    def due(self, asked_s: float) -> float:
        """Return the intended moment of the answer to what was asked just now; it may have passed already."""
        ...

    def overdue(self, until_s: float) -> Iterator[float]:
        """Yield the moments before ``until_s`` at which an action was due that nobody has been asked for yet."""
        ...


class AtOnce:
    """A closed loop: every answer at once."""

    def due(self, asked_s: float) -> float:
        return asked_s

    def overdue(self, until_s: float) -> Iterator[float]:
        del until_s
        return iter(())


class Human(AtOnce):
    """Exponential think times: nobody can think before they are asked."""

    def __init__(self, mean_s: float, rng: random.Random) -> None:
        self._mean_s = mean_s
        self._rng = rng

    def due(self, asked_s: float) -> float:
        return asked_s + self._rng.expovariate(1 / self._mean_s)


class Fixed:
    """An open loop for all tables together: actions are due at even distances whatever the system does, and turns
    take these moments in the order in which they are asked. From ``start_s`` on the rate grows evenly for ``ramp_s``
    seconds, as the number of tables does.
    """

    def __init__(self, per_s: float, start_s: float, ramp_s: float = 0.0) -> None:
        self._per_s = per_s
        self._start_s = start_s
        self._ramp_s = ramp_s
        self._taken = 0

    def due(self, asked_s: float) -> float:
        del asked_s
        due_s = self._at(self._taken)
        self._taken += 1
        return due_s

    def overdue(self, until_s: float) -> Iterator[float]:
        number = self._taken
        while (due_s := self._at(number)) < until_s:
            yield due_s
            number += 1

    def _at(self, number: int) -> float:
        in_ramp = self._per_s * self._ramp_s / 2
        if number < in_ramp:
            return self._start_s + math.sqrt(2 * self._ramp_s * number / self._per_s)
        return self._start_s + self._ramp_s + (number - in_ramp) / self._per_s


class Paces:
    """The pace of each table of a run that begins at ``start_s``."""

    def __init__(self, plan: LoadPlan, start_s: float) -> None:
        self._plan = plan
        self._shared: Pace = AtOnce()
        if plan.rate.kind is RateKind.FIXED:
            self._shared = Fixed(plan.rate.per_s, start_s, plan.ramp_s)

    def of(self, table: str) -> Pace:
        """Return the pace of a table; a fixed rate is that of all tables together."""
        if self._plan.rate.kind is RateKind.HUMAN:
            return Human(self._plan.think_s, random.Random(f"{self._plan.seed} {table} pace"))
        return self._shared

    def overdue(self, until_s: float) -> Iterator[float]:
        """Yield the moments at which an action was due that nobody was asked for."""
        return self._shared.overdue(until_s)

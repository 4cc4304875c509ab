"""How long to wait between attempts, everywhere the same: twice as long each time, up to a bound, and spread, so that
those who were cut off together do not come back together.
"""

from __future__ import annotations

import random
from collections.abc import Callable


class Pauses:
    """Seconds to wait before the next attempt, and the one after it."""

    def __init__(self, first_s: float, longest_s: float, spread: Callable[[], float] = random.random) -> None:
        """`spread` gives numbers from 0 to 1: a pause lasts from half its length to all of it."""
        self._first_s = first_s
        self._longest_s = longest_s
        self._spread = spread
        self._next_s = first_s

    def next_s(self) -> float:
        pause_s = self._next_s
        self._next_s = min(2 * pause_s, self._longest_s)
        return pause_s * (0.5 + self._spread() / 2)

    def start_over(self) -> None:
        """Something worked: the next failure waits only briefly again."""
        self._next_s = self._first_s

"""The only time of a service: the wall clock at the moment it was started, carried on by monotonic time.

A wall clock can be set: by hand, by a time server, by a machine that was suspended and wakes. Read directly it would
make a turn last an hour, or be over before it began, and timers, which run on monotonic time, would disagree with every
deadline. Here time only ever goes on; that the wall clock was set is noticed, reported, and followed at one moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_MS = 1000
"""A difference above this is a step. What a time server corrects little by little moves monotonic time too."""

STILL_NS = 50_000_000
"""A process that stood still between two readings for longer than this reads again."""

READINGS = 10


class Clock:
    """Call it for milliseconds since the epoch."""

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._offset_ns = self._offset()
        self.steps = 0
        """How often the wall clock was set."""

    def __call__(self) -> int:
        return (self._monotonic_ns() + self._offset_ns) // 1_000_000

    def follow(self) -> int:
        """Compare with the wall clock. Where it was set, follow it from now on and return by how many milliseconds this
        clock went on (or back, below 0) just now; else 0.
        """
        offset_ns = self._offset()
        by_ms = (offset_ns - self._offset_ns) // 1_000_000
        if abs(by_ms) <= STEP_MS:
            return 0
        self._offset_ns = offset_ns
        self.steps += 1
        return by_ms

    def _offset(self) -> int:
        """The two clocks cannot be read at once: a pause in between would look like a step."""
        for attempt in range(READINGS):
            before = self._monotonic_ns()
            offset = self._wall_ns() - before
            if self._monotonic_ns() - before < STILL_NS or attempt == READINGS - 1:
                return offset
        raise AssertionError("the last reading returns")

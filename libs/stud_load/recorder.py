"""What a run measures: latencies in histograms, counts, and both as they went by, interval after interval.

Only what begins inside the window counts, whenever it ends: what a stall held up is not lost with the window's end.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

import msgspec
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from stud_load.violations import Violations

LEAST_US: Final = 1
MOST_US: Final = 3_600_000_000
DIGITS: Final = 3
NEVER_S: Final = float("inf")


class Measure(StrEnum):
    """What is timed, in the order of a report."""

    ACT = "act"
    SERVICE = "service"
    SEEN = "seen"
    PROMPT = "prompt"
    VERDICT = "verdict"
    NEXT_HAND = "next_hand"
    SEATED = "seated"
    CURRENT = "current"
    HEALTH = "health"
    LATE = "late"


MEANING: Final = {
    Measure.ACT: "act → durable result, from the moment it was due",
    Measure.SERVICE: "act → durable result, from the moment it was sent",
    Measure.SEEN: "act → last viewer's update, from the moment it was due",
    Measure.PROMPT: "ante or show prompt → durable answer",
    Measure.VERDICT: "hand's end → referee's verdict",
    Measure.NEXT_HAND: "hand's end → next hand's antes, its pause included",
    Measure.SEATED: "buy-in → seated, set-up included",
    Measure.CURRENT: "reconnect → current view",
    Measure.HEALTH: "any service's health check, from the moment it was due",
    Measure.LATE: "the driver itself: due → sent",
}


class Count(StrEnum):
    """What is counted inside the window."""

    ACTIONS = "actions"
    DELIVERIES = "deliveries"
    BYTES = "bytes"
    HANDS = "hands"


class Interval(msgspec.Struct):
    """One point of a timeline: counts of that interval, and the latency of its actions (Measure.ACT, encoded).

    ``at_ms`` is its beginning, milliseconds since the epoch.
    """

    at_ms: int
    seconds: float
    counts: dict[str, int] = {}
    act: str = ""


def histogram() -> HdrHistogram:
    """Return an empty histogram of microseconds, from 1 to an hour, exact to a thousandth."""
    return HdrHistogram(LEAST_US, MOST_US, DIGITS)


def encoded(values: HdrHistogram) -> str:
    """Return a histogram as text; empty for an empty one."""
    return values.encode().decode() if values.total_count else ""


def decoded(text: str) -> HdrHistogram:
    """Return the histogram of a text. Raises ValueError where it is none."""
    if not text:
        return histogram()
    try:
        found = HdrHistogram.decode(text.encode())
    except Exception as error:  # noqa: BLE001  (the library raises what it happens to stumble over)
        raise ValueError(f"no histogram: {type(error).__name__}") from None
    total = histogram()
    total.add(found)
    return total


class Recorder:
    """Takes what bots measure. All times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self.violations = Violations()
        self.refusals: Counter[str] = Counter()
        """Refused commands by reason, set-up included."""
        self.expected_refusals: Counter[str] = Counter()
        """Refusals of commands that were wrong on purpose."""
        self.events: Counter[str] = Counter()
        """What happened beside: reconnects, leaves, streams that were too slow."""
        self.unanswered = 0
        self.counts: Counter[str] = Counter()
        self.measures = {measure: histogram() for measure in Measure}
        self.timeline: list[Interval] = []
        self._start_s = self._end_s = NEVER_S
        self._since_s = 0.0
        self._act = histogram()
        self._counts: Counter[str] = Counter()

    def open(self, now_s: float) -> None:
        """Begin the window."""
        self._start_s = self._since_s = now_s

    def close(self, now_s: float) -> None:
        """End the window; what began in it is still recorded."""
        self._end_s = now_s

    @property
    def is_open(self) -> bool:
        """Whether the window is running."""
        return self._start_s < NEVER_S and self._end_s == NEVER_S

    def counts_from(self, moment_s: float) -> bool:
        """Whether what began at that moment counts."""
        return self._start_s <= moment_s < self._end_s

    def time(self, measure: Measure, began_s: float, ended_s: float) -> None:
        """Record how long something took."""
        if not (self._start_s <= began_s < self._end_s or measure is Measure.SEATED):
            return
        took_us = max(LEAST_US, min(MOST_US, round((ended_s - began_s) * 1e6)))
        self.measures[measure].record_value(took_us)
        if measure is Measure.ACT and self._end_s == NEVER_S:
            self._act.record_value(took_us)

    def count(self, what: Count, number: int = 1) -> None:
        """Count something that happened just now."""
        if self.is_open:
            self._counts[what] += number

    def tick(self, now_s: float, at_ms: int) -> Interval:
        """End an interval that began at ``at_ms`` and return it."""
        interval = Interval(at_ms, now_s - self._since_s, dict(self._counts), encoded(self._act))
        self.timeline.append(interval)
        self.counts.update(self._counts)
        self._since_s = now_s
        self._counts.clear()
        self._act.reset()
        return interval

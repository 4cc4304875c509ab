"""Counting. What happens often costs a step of a counter or of a histogram, some hundred nanoseconds; what a service
knows anyway is looked up when somebody asks (`source`). All of it belongs to the event loop: no locks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import structlog

from stud_service.metrics import METRICS, OTHER, Metric

Value: TypeAlias = "float | Mapping[str, float]"
"""One number, or one for each value of the metric's label."""

Source: TypeAlias = Callable[[], Mapping[Metric, Value]]

logger = structlog.get_logger(__name__)


class Histogram:
    """How many values fell below each bound, and their sum. The last count is of those above all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Meters:
    """All that one process counts. Whoever counts asks once for what it counts with, and keeps it."""

    def __init__(self, service: str = "") -> None:
        """What that service counts is told from the start, as nothing: its first step must be seen as one."""
        ours = [metric for metric in METRICS if service in metric.of]
        self._counters: dict[str, Counter[str]] = {m.name: Counter() for m in ours if m.kind == "counter"}
        self._histograms = {m.name: Histogram(m.bounds) for m in ours if m.kind == "histogram"}
        self._sources: list[Source] = []
        self._failed: set[Source] = set()

    def counter(self, metric: Metric) -> Counter[str]:
        """Count by the value of the metric's label, or under "" where it has none."""
        return self._counters.setdefault(metric.name, Counter())

    def histogram(self, metric: Metric) -> Histogram:
        return self._histograms.setdefault(metric.name, Histogram(metric.bounds))

    def source(self, read: Source) -> None:
        """`read` is called whenever somebody asks: it waits for nothing, and looks at nothing that grows for ever."""
        self._sources.append(read)

    def read(self) -> Iterator[tuple[Metric, Value | Histogram]]:
        """Yield what there is to tell, in the order of the table."""
        found = self._looked_up()
        for metric in METRICS:
            histogram = self._histograms.get(metric.name)
            if histogram is not None:
                yield metric, histogram
            elif metric.name in found:
                yield metric, _as_one(metric, found[metric.name])
            elif metric.name in self._counters:
                yield metric, _as_one(metric, self._counters[metric.name])

    def _looked_up(self) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for source in self._sources:
            try:
                found |= {metric.name: value for metric, value in source().items()}
            except Exception:  # what cannot be told must not hide the rest, nor harm who plays
                if source not in self._failed:
                    self._failed.add(source)
                    logger.exception("metric_unreadable")
        return found


def _as_one(metric: Metric, value: Value) -> Value:
    """One number where there is no label; else numbers by what the label may say."""
    if not isinstance(value, Mapping):
        return value
    if metric.label is None:
        return value.get("", 0.0)
    return _by_word(metric.label.values, value)


def _by_word(allowed: re.Pattern[str], values: Mapping[str, float]) -> Mapping[str, float]:
    told: Counter[str] = Counter()
    for word, number in values.items():
        told[word if allowed.fullmatch(word) else OTHER] += number  # type: ignore[assignment]  # a float adds up too
    return told

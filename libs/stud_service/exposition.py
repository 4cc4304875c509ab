"""What `Meters` hold, in the text format that Prometheus reads, with what its library tells of a process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import (
    Metric as Family,
)
from prometheus_client.registry import Collector

from stud_service.meters import Histogram, Meters, Value
from stud_service.metrics import Metric


class Exposition(Collector):
    """One per process."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def describe(self) -> list[Family]:
        """Asked for when registering, where the library would collect otherwise: no service is there yet."""
        return []

    def collect(self) -> Iterator[Family]:
        for metric, value in self._meters.read():
            yield _buckets(metric, value) if isinstance(value, Histogram) else _numbers(metric, value)


def _buckets(metric: Metric, histogram: Histogram) -> Family:
    family = HistogramMetricFamily(metric.name, metric.meaning)
    bounds = [*map(str, metric.bounds), "+Inf"]
    family.add_metric([], list(zip(bounds, accumulate(histogram.counts), strict=True)), histogram.total)
    return family


def _numbers(metric: Metric, value: Value) -> Family:
    make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = make(metric.name, metric.meaning, labels=[metric.label.name] if metric.label is not None else [])
    for word, number in ({"": value} if isinstance(value, float | int) else value).items():
        family.add_metric([word] if metric.label is not None else [], number)
    return family

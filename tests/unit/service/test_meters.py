"""What is counted, and how it is told: with words of ours alone, whatever happens to one of those who tell it."""

import dataclasses
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from stud_service.exposition import Exposition
from stud_service.meters import Histogram, Meters
from stud_service.metrics import (
    ACT_SECONDS,
    ACTIONS,
    BUILD_INFO,
    ESCROW,
    FEED_ENTRIES,
    FEED_LAG,
    HANDS_ENDED,
    LOG_TROUBLE,
    METRICS,
    REFUSALS,
    TABLES_STANDING,
    VIEWERS,
    Metric,
)
from stud_topology.services import PROCESSES
from tests.support.runtime import logged


def told(meters: Meters) -> dict[str, dict[Any, float]]:
    """Sample by name and label values, read as Prometheus reads it."""
    found: dict[str, dict[Any, float]] = {}
    for family in text_string_to_metric_families(Exposition(meters).text().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[",".join(sample.labels.values())] = sample.value
    return found


def test_a_histogram_counts_what_is_at_a_bound_below_it():
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 3.0):
        histogram.observe(value)
    assert (histogram.counts, histogram.total) == ([2, 2, 1], 8.0)


def test_what_is_counted_is_told_as_prometheus_reads_it():
    meters = Meters()
    meters.counter(ACTIONS)["BET"] += 3
    meters.counter(HANDS_ENDED)[""] += 2
    meters.histogram(ACT_SECONDS).observe(0.004)
    meters.histogram(ACT_SECONDS).observe(99.0)
    meters.source(lambda: {VIEWERS: 7, FEED_LAG: {"s07": 1.5}})
    found = told(meters)
    assert found["stud_actions_total"] == {"BET": 3}
    assert found["stud_hands_ended_total"] == {"": 2}
    assert (found["stud_act_seconds_count"], found["stud_act_seconds_sum"]) == ({"": 2}, {"": 99.004})
    buckets = found["stud_act_seconds_bucket"]
    assert (buckets["0.0025"], buckets["0.005"], buckets["10.0"], buckets["+Inf"]) == (0, 1, 1, 2)
    assert (found["stud_viewers"], found["stud_feed_lag_seconds"]) == ({"": 7}, {"s07": 1.5})
    assert found["process_open_fds"][""] > 0


def test_whoever_asks_again_for_a_meter_gets_the_same():
    meters = Meters()
    assert meters.counter(ACTIONS) is meters.counter(ACTIONS)
    assert meters.histogram(ACT_SECONDS) is meters.histogram(ACT_SECONDS)


@pytest.mark.parametrize(
    ("metric", "word"),
    [
        (ACTIONS, "alice"),
        (ACTIONS, "BETTER"),
        (REFUSALS, "eyJhbGciOiJFZERTQSJ9.e30.x"),
        (TABLES_STANDING, "Bob at table nine smells"),
        (TABLES_STANDING, 'x"} 1\nstud_forged 1'),
        (FEED_LAG, "s64"),
        (FEED_LAG, "table-7"),
        (ESCROW, "eur"),
        (LOG_TROUBLE, "LOG_"),
    ],
)
def test_what_is_no_word_of_ours_is_told_as_other(metric: Metric, word: str):
    meters = Meters()
    meters.source(lambda: {metric: {word: 2, word + "?": 3}})
    assert told(meters)[metric.name] == {"OTHER": 5}
    assert word not in Exposition(meters).text().decode()


def test_a_build_may_be_called_anything_and_says_one_thing():
    meters = Meters()
    meters.source(lambda: {BUILD_INFO: {'1.0 "x"\n2': 1}})
    assert told(meters)["stud_build_info"] in ({'1.0 "x"\n2': 1}, {"OTHER": 1})


def test_somebody_who_cannot_tell_hides_nobody_else_and_is_logged_once():
    def broken() -> dict[Metric, float]:
        raise RuntimeError("a card: As")

    meters = Meters()
    meters.source(broken)
    meters.source(lambda: {VIEWERS: 1})
    with logged() as lines:
        assert told(meters)["stud_viewers"] == told(meters)["stud_viewers"] == {"": 1}
    assert [line["event"] for line in lines()] == ["metric_unreadable"]


def test_the_table_names_each_metric_once_and_each_is_told_by_a_service():
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names) > 25
    for metric in METRICS:
        assert metric.name.startswith("stud_")
        assert (metric.kind == "counter") == metric.name.endswith("_total")
        assert (metric.kind == "histogram") == bool(metric.bounds)
        assert list(metric.bounds) == sorted(set(metric.bounds))
        assert set(metric.of) <= {process.name for process in PROCESSES}
        assert metric.meaning


def test_a_metric_that_nobody_counts_is_not_told():
    assert not any(name.startswith("stud_") for name in told(Meters()))
    meters = Meters()
    meters.source(lambda: {FEED_ENTRIES: 0})
    assert {name for name in told(meters) if name.startswith("stud_")} == {"stud_feed_entries_total"}


def test_what_a_service_counts_is_told_from_the_start():
    found = told(Meters("table"))
    assert (found["stud_act_seconds_count"], found["stud_hands_ended_total"]) == ({"": 0}, {"": 0})
    assert "stud_verdicts_total" not in found
    meters = Meters("rules")
    meters.source(lambda: {FEED_ENTRIES: 5})
    assert told(meters)["stud_feed_entries_total"] == {"": 5}


def test_a_failing_source_is_one_that_has_a_place_of_its_own():
    @dataclasses.dataclass(eq=False)
    class Books:
        balance: int

        def told(self) -> dict[Metric, float]:
            return {VIEWERS: 1 // self.balance}

    meters, books = Meters(), Books(0)
    meters.source(books.told)
    assert "stud_viewers" not in told(meters)
    books.balance = 1
    assert told(meters)["stud_viewers"] == {"": 1}

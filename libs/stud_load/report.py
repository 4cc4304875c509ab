"""What came of a run, as values: written as one JSON object, read again to compare and to merge."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from stud_load.plan import MOST_SPECTATORS, LoadPlan
from stud_load.recorder import Count, Interval, Measure, Recorder, decoded, encoded
from stud_load.sense import parsed
from stud_load.usage import Usage

FORMAT: Final = 1
BOUNDS: Final = (
    ("plan.tables", 1, 1e8),
    ("plan.players", 2, 8),
    ("plan.spectators", 0, MOST_SPECTATORS),
    ("plan.seed", -(2.0**63), 2.0**64),
    ("plan.rate.per_s", 0, 1e9),
    ("plan.seconds", 0.001, 86_400),
    ("plan.ramp_s", 0, 3600),
    ("plan.warm_s", 0, 3600),
    ("plan.think_s", 0.001, 600),
    ("plan.channels", 1, 1000),
    ("plan.chaos.reconnect", 0, 1),
    ("seconds", 0.001, 172_800),
    ("timeline*.seconds", 0, 172_800),
    ("*at_ms", 0, 253_402_300_799_000),  # the last second of the year 9999
    ("usage.*.cpu_s", 0, 1e10),
    ("usage.*_mib", 0, 1e10),
    ("machine.cpus", 1, 1e5),
    ("drivers", 1, 1e5),
    ("violation_counts.*", 1, 1e15),
    ("parts*.tables", 1, 1e8),
)
"""What can be in a report, see `stud_load.sense`; those of several machines are larger than a plan may be."""

PERCENTILES: Final = [50.0, 90.0, 99.0, 99.9]


class Figures(msgspec.Struct, frozen=True):
    """One measure in milliseconds; ``count`` is how many there were."""

    count: int
    p50: float
    p90: float
    p99: float
    p999: float
    max: float


class Machine(msgspec.Struct, frozen=True):
    """What a driver ran on: figures of two machines are not to be compared."""

    cpus: int
    system: str
    python: str


class Part(msgspec.Struct, frozen=True):
    """The tables of a run that a driver played: no two drivers have one in common."""

    run_id: str
    first_table: int
    tables: int

    def overlaps(self, other: Part) -> bool:
        """Whether both have played a table."""
        return (
            self.run_id == other.run_id
            and self.first_table < other.first_table + other.tables
            and other.first_table < self.first_table + self.tables
        )


PROCESS_COLUMNS = ("process", "of a core", "CPU µs per action", "MiB at most")


class Report(msgspec.Struct):
    """A run. ``measures`` and the timeline hold encoded histograms of microseconds (`recorder.decoded`); ``checks``
    says what was looked at, and what came of it; ``notes`` what a reader has to know. ``parts``: what was added
    up to it.
    """

    plan: LoadPlan
    machine: Machine
    started_at_ms: int
    seconds: float
    format: int = FORMAT
    drivers: int = 1
    counts: dict[str, int] = {}
    refusals: dict[str, int] = {}
    expected_refusals: dict[str, int] = {}
    events: dict[str, int] = {}
    unanswered: int = 0
    measures: dict[str, str] = {}
    timeline: list[Interval] = []
    usage: dict[str, Usage] = {}
    checks: dict[str, str] = {}
    violation_counts: dict[str, int] = {}
    violations: list[str] = []
    notes: list[str] = []
    parts: list[Part] = []

    @property
    def played(self) -> list[Part]:
        """What it is the report of."""
        return self.parts or [Part(self.plan.run_id, self.plan.first_table, self.plan.tables)]

    @property
    def ok(self) -> bool:
        """Whether nothing happened that must not."""
        return not self.violation_counts

    def per_s(self, what: Count) -> float:
        """Return how many there were a second."""
        return self.counts.get(what, 0) / self.seconds if self.seconds else 0.0

    def figures(self, measure: Measure) -> Figures:
        """Return one measure in milliseconds."""
        return figures_of(decoded(self.measures.get(measure, "")))

    def process_rows(self) -> list[tuple[str, str, str, str]]:
        """Return what each process used, in words: see ``PROCESS_COLUMNS``."""
        return [
            (
                name,
                f"{use.cpu_s / max(1e-9, self.seconds):.0%}",
                f"{self.cpu_us_per_action(name):,.0f}",
                f"{use.peak_mib:,.0f}",
            )
            for name, use in self.usage.items()
        ]

    def cpu_us_per_action(self, name: str) -> float:
        """Return what one action costs a process, microseconds of CPU."""
        actions = self.counts.get(Count.ACTIONS, 0)
        return self.usage[name].cpu_s / actions * 1e6 if actions else 0.0

    def take(self, recorder: Recorder) -> None:
        """Take over what was recorded."""
        self.counts = dict(recorder.counts)
        self.refusals = dict(recorder.refusals.most_common())
        self.expected_refusals = dict(recorder.expected_refusals.most_common())
        self.events = dict(recorder.events)
        self.unanswered = recorder.unanswered
        self.measures = {measure: encoded(values) for measure, values in recorder.measures.items()}
        self.timeline = recorder.timeline
        self.violation_counts = dict(recorder.violations.counts)
        self.violations = recorder.violations.told

    def found(self, rule: str, problems: Iterable[str]) -> None:
        """Add what a check at the end found."""
        for problem in problems:
            self.violation_counts[rule] = self.violation_counts.get(rule, 0) + 1
            self.violations.append(f"{rule}: {problem}")


def figures_of(values: HdrHistogram) -> Figures:
    """Return a histogram of microseconds in milliseconds."""
    if not values.total_count:
        return Figures(0, 0, 0, 0, 0, 0)
    at = values.get_percentile_to_value_dict(PERCENTILES)  # in one pass; the library's mean takes a hundred of them
    p50, p90, p99, p999 = (round(at[percentile] / 1000, 3) for percentile in PERCENTILES)
    return Figures(values.total_count, p50, p90, p99, p999, round(values.get_max_value() / 1000, 3))


def summary(report: Report) -> dict[str, Any]:
    """Return the figures of a report as plain values, for scripts: rates a second, milliseconds, shares of a core."""
    return {
        "ok": report.ok,
        "actions_s": round(report.per_s(Count.ACTIONS), 1),
        "deliveries_s": round(report.per_s(Count.DELIVERIES), 1),
        "hands_s": round(report.per_s(Count.HANDS), 2),
        "bytes_per_delivery": round(report.counts.get(Count.BYTES, 0) / max(1, report.counts.get(Count.DELIVERIES, 0))),
        "seconds": round(report.seconds, 1),
        "rate": str(report.plan.rate),
        "ms": {measure.value: msgspec.to_builtins(report.figures(measure)) for measure in Measure},
        "cpu_us_per_action": {name: round(report.cpu_us_per_action(name)) for name in report.usage},
        "cpu_share": {name: round(use.cpu_s / max(1e-9, report.seconds), 3) for name, use in report.usage.items()},
        "rss_mib": {name: round(use.peak_mib) for name, use in report.usage.items()},
        "refusals": report.refusals,
        "expected_refusals": report.expected_refusals,
        "events": report.events,
        "unanswered": report.unanswered,
        "checks": report.checks,
        "violations": report.violation_counts,
    }


def as_json(report: Report) -> bytes:
    """Return a report as it is written, for `read`."""
    return msgspec.json.encode(report) + b"\n"


def read(path: Path) -> Report:
    """Read a report again. Raises OSError, and ValueError where it is none or of another build."""
    try:
        report = parsed(path.read_bytes(), Report, BOUNDS)
        if report.format == FORMAT:
            for text in [*report.measures.values(), *(interval.act for interval in report.timeline)]:
                decoded(text)
            if len(report.violations) > sum(report.violation_counts.values()):
                raise ValueError("violations are told that violation_counts does not count")
            return report
    except ValueError as error:
        raise ValueError(f"{path}: not what `stud load --out` writes ({error})") from None
    raise ValueError(f"{path}: format {report.format}, this build reads {FORMAT}")

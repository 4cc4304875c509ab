"""Two reports beside each other: every figure, and the second as a share of the first."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stud_load.recorder import MEANING, Count, Measure
from stud_load.report import Report


class Row(msgspec.Struct, frozen=True):
    """One figure of both; ``ratio`` is second / first, None where the first is 0."""

    name: str
    unit: str
    first: float
    second: float

    @property
    def ratio(self) -> float | None:
        return self.second / self.first if self.first else None


def compared(first: Report, second: Report) -> list[Row]:
    """Return every figure that either has."""
    return [row for row in _rows(first, second) if row.first or row.second]


def _rows(first: Report, second: Report) -> Iterator[Row]:
    for what in (Count.ACTIONS, Count.DELIVERIES, Count.HANDS):
        yield Row(what.value, "a second", first.per_s(what), second.per_s(what))
    for measure in Measure:
        one, other = first.figures(measure), second.figures(measure)
        for name in ("p50", "p99", "max"):
            yield Row(f"{MEANING[measure]}, {name}", "ms", getattr(one, name), getattr(other, name))
    names = dict.fromkeys([*first.usage, *second.usage])
    for name in names:
        yield Row(f"{name}: CPU per action", "µs", _cpu_us(first, name), _cpu_us(second, name))
        yield Row(f"{name}: memory at most", "MiB", _peak_mib(first, name), _peak_mib(second, name))
    refused = sum(first.refusals.values()), sum(second.refusals.values())
    yield Row("refused", "", *refused)
    yield Row("violations", "", sum(first.violation_counts.values()), sum(second.violation_counts.values()))


def _cpu_us(report: Report, name: str) -> float:
    return report.cpu_us_per_action(name) if name in report.usage else 0.0


def _peak_mib(report: Report, name: str) -> float:
    return report.usage[name].peak_mib if name in report.usage else 0.0


def differences(first: Report, second: Report) -> list[str]:
    """Return what was not the same about the two runs, so that figures are not compared that cannot be."""
    one, other = msgspec.to_builtins(first.plan), msgspec.to_builtins(second.plan)
    said = [f"{name}: {one[name]} and {other[name]}" for name in one if name != "run_id" and one[name] != other[name]]
    if first.machine != second.machine:
        said.append(f"machine: {first.machine} and {second.machine}")
    return said

"""Several reports of one load as one: processes of a machine, or machines that pressed on the same system."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from stud_load.plan import LoadPlan
from stud_load.recorder import Interval, decoded, encoded
from stud_load.report import Report
from stud_load.usage import Usage
from stud_load.violations import KEPT

APART_MS: Final = 2000
"""Windows that begin or end further apart than this measured different loads; it is said in the report."""


def merged(reports: Sequence[Report]) -> Report:
    """Return one report: counts add up, histograms too, the timeline by the moment, not by the place in it.

    Raises ValueError for no reports, for reports of plans that are not parts of one load, and where two of them count
    the same tables of the same run.
    """
    if not reports:
        raise ValueError("nothing to merge: want reports as `stud load --out` writes them")
    _require_same([report.plan for report in reports])
    _require_once(reports)
    first = min(reports, key=lambda report: report.started_at_ms)
    plan = msgspec.structs.replace(
        first.plan,
        tables=sum(report.plan.tables for report in reports),
        rate=msgspec.structs.replace(first.plan.rate, per_s=sum(report.plan.rate.per_s for report in reports)),
        chaos=msgspec.structs.replace(
            first.plan.chaos, slow_readers=sum(report.plan.chaos.slow_readers for report in reports)
        ),
        first_table=min(report.plan.first_table for report in reports),
    )
    whole = Report(plan, first.machine, first.started_at_ms, max(report.seconds for report in reports))
    whole.drivers = sum(report.drivers for report in reports)
    whole.counts = _added(report.counts for report in reports)
    whole.refusals = _added(report.refusals for report in reports)
    whole.expected_refusals = _added(report.expected_refusals for report in reports)
    whole.events = _added(report.events for report in reports)
    whole.violation_counts = _added(report.violation_counts for report in reports)
    whole.violations = [told for report in reports for told in report.violations][:KEPT]
    whole.unanswered = sum(report.unanswered for report in reports)
    names = dict.fromkeys(name for report in reports for name in report.measures)
    whole.measures = {name: add_up(report.measures.get(name, "") for report in reports) for name in names}
    whole.timeline = _timeline(first, reports)
    whole.usage = _usage(reports)
    whole.checks = _checks(reports)
    whole.parts = [part for report in reports for part in report.played]
    whole.notes = [*dict.fromkeys(note for report in reports for note in report.notes), *_apart(reports)]
    return whole


def add_up(texts: Iterable[str]) -> str:
    """Return the sum of encoded histograms."""
    total = decoded("")
    for text in texts:
        total.add(decoded(text))
    return encoded(total)


def together(intervals: Sequence[Interval]) -> Interval:
    """Return what several drivers did at the same time."""
    first = min(intervals, key=lambda interval: interval.at_ms)
    counts = _added(interval.counts for interval in intervals)
    seconds = max(interval.seconds for interval in intervals)
    return Interval(first.at_ms, seconds, counts, add_up(interval.act for interval in intervals))


def _require_same(plans: Sequence[LoadPlan]) -> None:
    ours = _kind(plans[0])
    for plan in plans[1:]:
        theirs = _kind(plan)
        if different := [f"{name} is {ours[name]} and {theirs[name]}" for name in ours if ours[name] != theirs[name]]:
            raise ValueError(f"not parts of one load: {', '.join(different)}")


def _require_once(reports: Sequence[Report]) -> None:
    parts = [(part, number) for number, report in enumerate(reports, 1) for part in report.played]
    parts.sort(key=lambda each: (each[0].run_id, each[0].first_table))  # what overlaps is side by side then
    for (part, one), (again, other) in itertools.pairwise(parts):
        if part.overlaps(again):
            raise ValueError(
                f"reports {one} and {other} are of the same run ({part.run_id}): what it did would count twice, "
                "name each run once"
            )


def _kind(plan: LoadPlan) -> dict[str, str]:
    """What parts of one load have in common."""
    return {
        "players": str(plan.players),
        "spectators": str(plan.spectators),
        "ruleset": plan.ruleset,
        "transport": plan.transport,
        "seconds": f"{plan.seconds:g}",
        "rate": plan.rate.kind,
    }


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _timeline(first: Report, reports: Sequence[Report]) -> list[Interval]:
    width_ms = first.plan.interval_s * 1000
    slots: dict[int, list[Interval]] = {}
    for report in reports:
        for interval in report.timeline:
            slot = max(0, round((interval.at_ms - first.started_at_ms) / width_ms))
            slots.setdefault(slot, []).append(interval)
    return [together(slots[slot]) for slot in sorted(slots)]


def _usage(reports: Sequence[Report]) -> dict[str, Usage]:
    """Processes of the same name in two reports are two processes."""
    usage: dict[str, Usage] = {}
    for report in reports:
        for name, use in report.usage.items():
            free = (f"{name} {number}" for number in range(2, 2 + len(usage)))
            usage[name if name not in usage else next(each for each in free if each not in usage)] = use
    return usage


def _checks(reports: Sequence[Report]) -> dict[str, str]:
    checks: dict[str, list[str]] = {}
    for report in reports:
        for name, what in report.checks.items():
            checks.setdefault(name, []).append(what)
    return {name: "; ".join(whats) for name, whats in checks.items()}


def _apart(reports: Sequence[Report]) -> list[str]:
    begun = [report.started_at_ms for report in reports]
    ended = [report.started_at_ms + round(1000 * report.seconds) for report in reports]
    apart_ms = max(max(begun) - min(begun), max(ended) - min(ended))
    if apart_ms <= APART_MS:
        return []
    return [
        f"the windows of these reports are up to {apart_ms / 1000:.1f} s apart: rates add up only where they overlap"
    ]

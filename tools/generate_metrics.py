"""Writes the table of metrics in docs/operators-reference.md from what the code tells: `--check` only compares."""

from __future__ import annotations

import sys

from stud_service.metrics import EVERY, METRICS, Metric
from stud_topology.services import NAMES
from tools.pages import ROOT, write_or_check

TARGET = ROOT / "docs/operators-reference.md"
BEGIN, END = "<!-- metrics -->\n", "<!-- end of metrics -->\n"


def row(metric: Metric) -> str:
    """Return the line of one metric."""
    label = f"`{metric.label.name}`: {metric.label.meaning}" if metric.label is not None else ""
    told_by = {EVERY: "all", NAMES: "all services"}.get(metric.of, ", ".join(metric.of))
    return f"| `{metric.name}` | {metric.kind} | {metric.meaning} | {label} | {told_by} |\n"


def page() -> str:
    """Return the page as it should be now."""
    before, _, rest = TARGET.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{TARGET.name} has no {BEGIN.strip()} … {END.strip()}")
    head = "| metric | kind | what | label | told by |\n|---|---|---|---|---|\n"
    return "".join([before, BEGIN, head, *map(row, METRICS), END, after])


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, page))

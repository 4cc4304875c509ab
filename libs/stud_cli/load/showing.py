"""A load report for people: figures, processes, what was refused, what was checked."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from stud_cli.output import table_of
from stud_load import Report
from stud_load.recorder import MEANING, Count, Measure
from stud_load.report import PROCESS_COLUMNS


def show(report: Report, out: Console) -> None:
    """Print a report."""
    rates = ", ".join(f"{report.per_s(what):,.1f} {what}/s" for what in (Count.ACTIONS, Count.DELIVERIES, Count.HANDS))
    out.print(f"{rates} over {report.seconds:.0f} s", markup=False)
    rows = []
    for measure in Measure:
        figures = report.figures(measure)
        if figures.count:
            numbers = (figures.p50, figures.p90, figures.p99, figures.p999, figures.max)
            rows.append((MEANING[measure], f"{figures.count:,}", *(f"{ms:,.1f}" for ms in numbers)))
    columns = ("milliseconds", "count", "p50", "p90", "p99", "p99.9", "max")
    out.print(table_of("Latency", columns, rows, right=columns[1:]))
    if report.usage:
        out.print(table_of("Processes", PROCESS_COLUMNS, report.process_rows(), right=PROCESS_COLUMNS[1:]))
    for title, counts in (
        ("Refused", report.refusals),
        ("Refused as it should be", report.expected_refusals),
        ("Happened", report.events),
    ):
        if counts:
            out.print(f"{title}: " + ", ".join(f"{name} {number:,}" for name, number in counts.items()), markup=False)
    for name, what in report.checks.items():
        out.print(f"checked {name}: {what}", markup=False, soft_wrap=True)
    for note in report.notes:
        out.print(f"[yellow]note[/yellow] {escape(note)}", soft_wrap=True)
    for violation in report.violations[:20]:
        out.print(f"[red]violation[/red] {escape(violation)}", soft_wrap=True)
    total = sum(report.violation_counts.values())
    out.print("[green]ok[/green]" if report.ok else f"[red]{total} violations: not ok[/red]")

"""A report as one HTML file that needs nothing else: figures, plots, what was checked and what was found."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from stud_load.panel import per_s
from stud_load.plots import Axis, Series, even, plot
from stud_load.recorder import MEANING, Count, Measure, decoded
from stud_load.report import PROCESS_COLUMNS, Report, figures_of

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c1c1c;--dim:#667;--line:#d8d8de;--paper:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--dim:#99a;--line:#3a3a44;--paper:#17171c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:960px;margin:2em auto}
table{border-collapse:collapse;margin:.5em 0 1.5em}
td,th{padding:.2em .8em;border-bottom:1px solid var(--line);text-align:right}
td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto;margin:.5em 0}
svg text{font:12px system-ui,sans-serif}svg .title{font-weight:600;font-size:14px;fill:var(--ink)}
svg .tick{fill:var(--dim)}.end{text-anchor:end}.middle{text-anchor:middle}
svg .grid{stroke:var(--line)}polyline{fill:none;stroke-width:1.8}circle{fill:transparent}
.ok{color:#2e8b57}.bad{color:#c0392b}.dim{color:var(--dim)}
"""
NINES: Final = (0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)
LABELLED: Final = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99)


def page(report: Report) -> str:
    """Return the whole page."""
    plan = report.plan
    began = dt.datetime.fromtimestamp(report.started_at_ms / 1000, dt.UTC)
    verdict = '<b class="ok">ok</b>' if report.ok else '<b class="bad">not ok</b>'
    title = f"stud load: {plan.tables} tables of {plan.players}, {plan.rate}"
    machine = f"{report.machine.cpus} CPUs, {report.machine.system}, Python {report.machine.python}"
    drivers = f"{report.drivers} driver" + ("s" if report.drivers > 1 else "")
    said = (
        f"{began:%Y-%m-%d %H:%M:%S} UTC, {report.seconds:.0f} s measured, {plan.ruleset}, {plan.spectators} spectators "
        f"a table, transport {plan.transport}, {drivers} on {machine}"
    )
    parts = [
        f"<h1>{escape(title)}: {verdict}</h1><p class='dim'>{escape(said)}</p>",
        _findings(report),
        "<h2>Throughput</h2>",
        _table(("", "a second"), [(what.value, f"{report.per_s(what):,.1f}") for what in Count if what != Count.BYTES]),
        "<h2>Latency, milliseconds</h2>",
        _latencies(report),
        *_over_time(report),
        _distribution(report),
        "<h2>Processes</h2>",
        _processes(report),
        *_usage(report),
        "<h2>Refusals, events and checks</h2>",
        _counts("refused", report.refusals),
        _counts("refused as it should be", report.expected_refusals),
        _counts("happened", report.events),
        _counts("checked", report.checks),
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _findings(report: Report) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in report.notes)
    found = "".join(f"<li class='bad'>{escape(violation)}</li>" for violation in report.violations)
    total = sum(report.violation_counts.values())
    more = f"<li class='bad'>and {total - len(report.violations)} more</li>" if total > len(report.violations) else ""
    return f"<ul>{notes}{found}{more}</ul>" if notes or found else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def _counts(title: str, counts: Mapping[str, object]) -> str:
    return _table((title, ""), [(name, str(value)) for name, value in counts.items()]) if counts else ""


def _latencies(report: Report) -> str:
    rows = []
    for measure in Measure:
        f = report.figures(measure)
        if f.count:
            cells = (f.p50, f.p90, f.p99, f.p999, f.max)
            rows.append((MEANING[measure], f"{f.count:,}", *(f"{cell:,.1f}" for cell in cells)))
    return _table(("", "count", "p50", "p90", "p99", "p99.9", "max"), rows)


def _over_time(report: Report) -> list[str]:
    times = _times(report, (interval.at_ms for interval in report.timeline))
    figures = [figures_of(decoded(interval.act)) for interval in report.timeline]
    x = even(times, " s")
    lines = [
        Series(name, [(at, getattr(f, key)) for at, f in zip(times, figures, strict=True) if f.count])
        for name, key in (("max", "max"), ("p99", "p99"), ("p90", "p90"), ("p50", "p50"))
    ]
    drawn = [plot(f"{MEANING[Measure.ACT]}, ms", lines, x, even(y for line in lines for _, y in line.points), "ms")]
    for what in (Count.ACTIONS, Count.DELIVERIES, Count.HANDS):
        rates = [(at, per_s(interval, what)) for at, interval in zip(times, report.timeline, strict=True)]
        title = f"{what.value} a second"
        drawn.append(plot(title, [Series(what.value, rates)], x, even(y for _, y in rates), "a second"))
    return drawn


def _distribution(report: Report) -> str:
    def across(percentile: float) -> float:
        return -math.log10(1 - percentile / 100)

    lines = []
    for measure in (Measure.ACT, Measure.SERVICE, Measure.SEEN, Measure.VERDICT):
        values = decoded(report.measures.get(measure, ""))
        total = values.get_total_count()
        points = [(across(p), values.get_value_at_percentile(p) / 1000) for p in NINES if total * (1 - p / 100) >= 1]
        lines.append(Series(measure.value, points))
    x = Axis(0.0, across(NINES[-1]), [(across(p), f"{p:g}%") for p in LABELLED])
    return plot("Latency by percentile, ms", lines, x, even(y for line in lines for _, y in line.points), "ms")


def _processes(report: Report) -> str:
    return _table(PROCESS_COLUMNS, report.process_rows())


def _usage(report: Report) -> list[str]:
    drawn = []
    for title, key, unit in (
        ("CPU, share of a core", "cpu_share", "of a core"),
        ("Memory, MiB", "rss_mib", "MiB"),
    ):
        lines = []
        for name, use in report.usage.items():
            times = _times(report, (sample.at_ms for sample in use.samples))
            points = [(at, getattr(sample, key)) for at, sample in zip(times, use.samples, strict=True)]
            lines.append(Series(name, points))
        x = even((at for line in lines for at, _ in line.points), " s")
        drawn.append(plot(title, lines, x, even(y for line in lines for _, y in line.points), unit))
    return drawn


def _times(report: Report, moments_ms: Iterable[int]) -> list[float]:
    """Return seconds since the beginning of the window."""
    return [(moment_ms - report.started_at_ms) / 1000 for moment_ms in moments_ms]

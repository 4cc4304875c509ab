"""Reports beside each other, added up, drawn for people."""

import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import msgspec
import pytest
from rich.console import Console

from stud_load.comparing import compared, differences
from stud_load.merging import merged
from stud_load.page import page
from stud_load.panel import Panel
from stud_load.plan import Chaos, LoadPlan, parse_rate
from stud_load.plots import Series, even, plot
from stud_load.recorder import Count, Interval, Measure, Recorder
from stud_load.report import Machine, Report
from stud_load.running import Progress
from stud_load.usage import Sample, Usage

SECOND_US = 1_000_000


def report_of(*latencies_ms: float, share: int = 0, at_ms: int = 1000, seconds: float = 2.0) -> Report:
    """A report of one driver: an interval a second, all actions in the first one."""
    plan = LoadPlan(tables=4, rate=parse_rate("20/s"), seconds=2, chaos=Chaos(slow_readers=1))
    recorder = Recorder()
    recorder.open(0.0)
    for latency_ms in latencies_ms:
        recorder.time(Measure.ACT, 0.0, latency_ms / 1000)
        recorder.count(Count.ACTIONS)
    recorder.tick(1.0, at_ms)
    recorder.tick(2.0, at_ms + 1000)
    recorder.refusals["STALE_TURN"] = 1
    report = Report(plan.shares(2)[share], Machine(2, "x", "3"), at_ms, seconds)
    report.take(recorder)
    report.usage = {"driver": Usage(1.0, 50.0, [Sample(at_ms, 0.5, 50.0)])}
    report.checks = {"books": f"{share + 1} compared"}
    return report


def test_reports_of_two_drivers_are_added_up():
    whole = merged([report_of(10, 20, share=0), report_of(30, 400, share=1, at_ms=1100)])
    assert (whole.plan.tables, whole.plan.rate.per_s, whole.plan.chaos.slow_readers) == (4, 20.0, 1)
    assert whole.drivers == 2
    assert whole.counts == {"actions": 4}
    assert whole.per_s(Count.ACTIONS) == 2.0
    figures = whole.figures(Measure.ACT)
    assert (figures.count, figures.p50, figures.max) == pytest.approx((4, 20, 400), rel=0.01)
    assert [interval.counts.get("actions", 0) for interval in whole.timeline] == [4, 0]
    assert whole.refusals == {"STALE_TURN": 2}
    assert set(whole.usage) == {"driver", "driver 2"}
    assert whole.checks == {"books": "1 compared; 2 compared"}
    assert whole.ok
    assert whole.notes == []


def test_a_violation_of_one_fails_the_whole():
    bad = report_of(share=1)
    bad.found("version missed", ["t v: version 7 came after version 5"])
    whole = merged([report_of(share=0), bad])
    assert not whole.ok
    assert whole.violations == bad.violations


def test_windows_that_were_apart_are_told():
    whole = merged([report_of(1, share=0), report_of(2, share=1, at_ms=6000)])
    assert any("5.0 s apart" in note for note in whole.notes)
    assert [interval.counts.get("actions", 0) for interval in whole.timeline] == [1, 0, 1, 0]


def test_a_report_may_be_merged_again():
    once = merged([report_of(10, share=0), report_of(20, share=1)])
    twice = merged([once])
    assert twice.figures(Measure.ACT) == once.figures(Measure.ACT)
    assert twice.drivers == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"players": 6}, "players is 8 and 6"),
        ({"transport": "unary"}, "transport is play and unary"),
        ({"rate": parse_rate("max")}, "rate is fixed and max"),
    ],
)
def test_what_is_no_part_of_the_load_is_not_merged(change, said):
    other = report_of(share=1)
    other.plan = msgspec.structs.replace(other.plan, **change)
    with pytest.raises(ValueError, match=f"not parts of one load: {said}"):
        merged([report_of(share=0), other])


def test_nothing_is_not_merged():
    with pytest.raises(ValueError, match="nothing to merge"):
        merged([])


def test_two_reports_beside_each_other():
    first, second = report_of(10, 10), report_of(20, 20, 20)
    rows = {row.name: row for row in compared(first, second)}
    assert rows["actions"].ratio == 1.5
    assert rows["act → durable result, from the moment it was due, p99"].ratio == pytest.approx(2.0, rel=0.01)
    assert rows["driver: CPU per action"].first == 500_000
    assert "violations" not in rows, "neither has any"


def test_what_was_not_the_same_is_told():
    first, second = report_of(1), report_of(1)
    second.plan = msgspec.structs.replace(second.plan, players=4, run_id="other")
    second.machine = Machine(8, "x", "3")
    told = differences(first, second)
    assert told[0] == "players: 8 and 4"
    assert told[1].startswith("machine: ")
    assert differences(first, first) == []


def test_what_was_nothing_has_no_ratio():
    (row,) = [row for row in compared(report_of(), report_of(5)) if row.name == "actions"]
    assert row.ratio is None


# A page


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.opened: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        self.sources += [value or "" for name, value in attrs if name in {"src", "href", "data", "srcset"}]


def test_a_page_needs_nothing_but_itself():
    report = report_of(10, 20, 30)
    report.notes = ["<script>alert(1)</script>"]
    report.found("audit", ["<b>chips & money</b>"])
    text = page(report)
    tags = Tags()
    tags.feed(text)
    assert tags.sources == []
    assert "script" not in tags.opened
    assert "http" not in text.replace("http-equiv", "")
    assert "@import" not in text
    assert "url(" not in text
    assert "&lt;b&gt;chips &amp; money&lt;/b&gt;" in text
    assert "not ok" in text
    plots = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    titles = [ET.fromstring(each).attrib["aria-label"] for each in plots]
    assert titles == [
        "act → durable result, from the moment it was due, ms",
        "actions a second",
        "deliveries a second",
        "hands a second",
        "Latency by percentile, ms",
        "CPU, share of a core",
        "Memory, MiB",
    ]


def test_an_empty_run_has_a_page_too():
    assert "0 s measured" in page(Report(LoadPlan(), Machine(1, "x", "3"), 0, 0.0))


def test_lines_stay_inside_their_plot():
    axis = even([0.0, 130.0])
    assert [text for _, text in axis.ticks] == ["0", "50", "100", "150"]
    drawn = ET.fromstring(plot("t", [Series("a", [(0, 0), (130, 130)])], axis, axis, "ms"))
    places = drawn.find("polyline")
    assert places is not None
    assert places.attrib["points"] == "64.0,226.0 658.5,59.6"


@pytest.mark.parametrize("most", [0.0, 0.003, 1.0, 7.0, 99.0, 12345.0])
def test_axes_end_at_or_above_the_greatest_value(most: float):
    axis = even([most])
    assert axis.most >= most
    assert 2 <= len(axis.ticks) <= 7


# The panel


def test_the_panel_shows_how_it_goes():
    panel = Panel(LoadPlan(tables=3, spectators=1, rate=parse_rate("50/s")))
    report = report_of(10, 250)
    panel.take(Progress("measuring", 0.5, report.timeline[0], {"table": Sample(0, 0.83, 77.0)}, 2, 5))
    console = Console(file=io.StringIO(), width=120)
    console.print(panel)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for words in ("measuring", "3 tables of 8 + 1, 50/s, play", "table", "83% of a core", "refused 5, violations 2"):
        assert words in shown
    assert re.search(r"actions/s +2 ", shown)


def test_the_panel_begins_before_there_are_figures():
    console = Console(file=io.StringIO(), width=120)
    console.print(Panel(LoadPlan()))
    assert "starting" in console.file.getvalue()  # type: ignore[attr-defined]


def test_an_interval_without_time_has_no_rate():
    panel = Panel(LoadPlan())
    panel.take(Progress("measuring", 0.0, Interval(0, 0.0, {"actions": 1})))
    Console(file=io.StringIO()).print(panel)

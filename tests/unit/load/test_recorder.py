"""Latencies and counts: what is inside the window, how it is written and read again."""

import pytest

from stud_load.plan import LoadPlan
from stud_load.recorder import Count, Measure, Recorder, decoded, encoded, histogram
from stud_load.report import Machine, Report, as_json, figures_of, read, summary


def recorded(*seconds: float) -> Recorder:
    recorder = Recorder()
    recorder.open(100.0)
    for took_s in seconds:
        recorder.time(Measure.ACT, 100.0, 100.0 + took_s)
    return recorder


def test_only_what_begins_in_the_window_counts():
    recorder = Recorder()
    recorder.time(Measure.ACT, 1.0, 1.1)
    recorder.count(Count.ACTIONS)
    recorder.open(2.0)
    recorder.time(Measure.ACT, 1.9, 2.1)
    recorder.time(Measure.ACT, 2.0, 2.1)
    recorder.count(Count.ACTIONS)
    recorder.tick(3.0, 0)
    recorder.close(3.0)
    recorder.time(Measure.ACT, 2.9, 9.0)
    recorder.time(Measure.ACT, 3.0, 3.1)
    recorder.count(Count.ACTIONS)
    assert recorder.measures[Measure.ACT].get_total_count() == 2
    assert recorder.counts == {Count.ACTIONS: 1}
    assert recorder.measures[Measure.ACT].get_max_value() == pytest.approx(6_100_000, rel=0.001)


def test_seats_are_timed_before_the_window():
    recorder = Recorder()
    recorder.time(Measure.SEATED, 1.0, 1.5)
    assert recorder.measures[Measure.SEATED].get_total_count() == 1


def test_an_interval_has_its_own_figures():
    recorder = recorded(0.010)
    recorder.count(Count.HANDS, 3)
    first = recorder.tick(101.0, 1)
    recorder.time(Measure.ACT, 101.0, 101.5)
    second = recorder.tick(102.5, 2)
    assert first.counts == {Count.HANDS: 3}
    assert figures_of(decoded(first.act)).max == pytest.approx(10, rel=0.01)
    assert figures_of(decoded(second.act)).max == pytest.approx(500, rel=0.01)
    assert (first.seconds, second.seconds) == (1.0, 1.5)
    assert second.counts == {}


def test_nothing_is_too_short_or_too_long():
    recorder = recorded(0.0, -1.0, 1e9)
    figures = figures_of(recorder.measures[Measure.ACT])
    assert figures.count == 3
    assert figures.max == pytest.approx(3_600_000, rel=0.01)


@pytest.mark.parametrize("text", ["x", "HISTFAAA", "AAAA" * 10])
def test_what_is_no_histogram_is_refused(text: str):
    with pytest.raises(ValueError, match="no histogram"):
        decoded(text)


def test_an_empty_histogram_is_no_text():
    assert encoded(histogram()) == ""
    assert decoded("").get_total_count() == 0


def report_of(recorder: Recorder) -> Report:
    report = Report(LoadPlan(), Machine(2, "x", "3"), 0, 10.0)
    report.take(recorder)
    return report


def test_a_report_is_written_and_read(tmp_path):
    report = report_of(recorded(0.001, 0.002, 0.2))
    (tmp_path / "r.json").write_bytes(as_json(report))
    again = read(tmp_path / "r.json")
    assert again == report
    assert again.figures(Measure.ACT).count == 3
    assert summary(again)["ms"]["act"]["max"] == pytest.approx(200, rel=0.01)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 99}', "null"])
def test_what_is_no_report_is_refused(tmp_path, text: str):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(ValueError, match="not what `stud load --out` writes"):
        read(tmp_path / "r.json")


def test_a_report_of_another_build_is_refused(tmp_path):
    report = report_of(recorded())
    report.format = 99
    (tmp_path / "r.json").write_bytes(as_json(report))
    with pytest.raises(ValueError, match="format 99"):
        read(tmp_path / "r.json")


def test_what_a_check_finds_fails_a_report():
    report = report_of(recorded())
    report.found("audit", [])
    assert [report.ok, report.violations] == [True, []]
    report.found("audit", ["a chip is missing"])
    assert not report.ok
    assert report.violations == ["audit: a chip is missing"]

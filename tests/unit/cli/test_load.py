"""`stud load` at its edges: what cannot be played, and what is done with reports."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from stud_load import LoadPlan, Report
from stud_load.recorder import Interval
from stud_load.report import Machine, as_json, read
from stud_load.usage import Sample, Usage
from tests.unit.cli.test_commands import run


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STUD_")]:
        monkeypatch.delenv(name)


def kept(name: str, *violations: str) -> str:
    report = Report(LoadPlan(seconds=2, run_id=name), Machine(2, "x", "3"), 0, 2.0, counts={"actions": 10})
    report.found("audit", violations)
    Path(name).write_bytes(as_json(report))
    return name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rate", "fast"], "want human, max, or actions a second such as 250/s"),
        (["--ruleset", "razz"], "unknown ruleset 'razz': want playnow or william_hill"),
        (["--tables", "2", "--processes", "3"], "3 processes for 2 tables: want 1 to 2"),
        (["--tables", "90", "--rate", "2/s"], "players would run out of time"),
        (["--run", "nothing.json"], "nothing.json names no running system"),
        (["--endpoints", "table=h:1"], "--endpoints wants --keys"),
        (["--endpoints", ""], "--endpoints is empty"),
        (["--endpoints", " ", "--keys", "k"], "--endpoints is empty"),
        (["--keys", "k"], "name the other one with --endpoints (or --run), or leave --keys out"),
        (["--endpoints", "table", "--keys", "k"], "want names of services and addresses"),
        (["--endpoints", "tabel=h:1", "--keys", "k"], "tabel: want names of services"),
        (["--endpoints", "table=h:1", "--keys", "k"], "no tokens can be made with the key in k"),
        (["--run", "a", "--endpoints", "table=h:1"], "name two systems: want one of them"),
        (["--out", "no/such/folder.json"], "no/such/folder.json cannot be written"),
    ],
)
def test_what_cannot_be_played_says_why(words: list[str], said: str):
    ended = run("load", *words)
    assert ended.exit_code == 2, ended.output
    assert said in " ".join(ended.stderr.split())
    assert ended.stdout == ""


def test_reports_are_compared_and_merged():
    ended = run("load", "compare", kept("a"), kept("b"), "--json")
    told = json.loads(ended.stdout.splitlines()[-1])
    assert ended.exit_code == 0
    assert told["figures"][0] == {"name": "actions", "unit": "a second", "first": 5.0, "second": 5.0, "ratio": 1.0}
    assert run("load", "compare", "a", "b").exit_code == 0
    merged = run("load", "merge", "a", "b", "--out", "c", "--html", "c.html", "--json")
    assert merged.exit_code == 0
    assert json.loads(merged.stdout.splitlines()[-1])["actions_s"] == 10.0
    assert Path("c.html").read_text().startswith("<!doctype html>")
    assert run("load", "html", "c", "d.html", "--json").exit_code == 0
    assert Path("d.html").read_text() == Path("c.html").read_text()


def test_a_merge_finds_what_one_of_them_found():
    ended = run("load", "merge", kept("a"), kept("b", "a chip is missing"))
    assert ended.exit_code == 1
    assert "audit: a chip is missing" in ended.stdout


@pytest.mark.parametrize("words", [["compare", "a", "no"], ["merge", "no"], ["html", "no", "x"], ["html", "bad", "x"]])
def test_what_is_no_report_says_so(words: list[str]):
    kept("a")
    Path("bad").write_text("{}")
    ended = run("load", *words)
    assert ended.exit_code == 2
    assert "cannot be read" in ended.stderr or "not what `stud load --out` writes" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [["a", "a"], ["a", "./a"], ["a", "b", "a"], ["a", "copy"], ["whole", "a"], ["b", "whole"], ["whole", "whole"]],
)
def test_a_run_that_is_named_twice_is_not_counted_twice(words: list[str]):
    kept("a")
    kept("b")
    Path("copy").write_text(json.dumps(json.loads(Path("a").read_bytes()) | {"notes": ["edited"]}, indent=1))
    assert run("load", "merge", "a", "b", "--out", "whole").exit_code == 0
    ended = run("load", "merge", *words, "--out", "out")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "are of the same run" in ended.stderr
    assert not Path("out").exists()


def test_drivers_of_one_run_are_parts_of_it():
    for number, plan in enumerate(LoadPlan(tables=5, seconds=2, run_id="ab").shares(3)):
        Path(str(number)).write_bytes(as_json(Report(plan, Machine(2, "x", "3"), 0, 2.0)))
    assert run("load", "merge", "0", "1", "2", "--out", "whole").exit_code == 0
    assert read(Path("whole")).plan.tables == 5
    assert run("load", "merge", "whole", "1").exit_code == 2


def changed(value: Any, place: str, to: object) -> None:
    """Put something into a place such as ``usage.table.samples.0.at_ms``."""
    *above, name = place.split(".")
    for step in above:
        value = value[int(step)] if isinstance(value, list) else value[step]
    if isinstance(value, list):
        value[int(name)] = to
    else:
        value[name] = to


NUMBERS: dict[str, list[float]] = {
    "seconds": [-1, 0, 1e308],
    "started_at_ms": [-1, 1e18],
    "drivers": [0, -1],
    "counts.actions": [-5, 10**16],
    "refusals.STALE_TURN": [-1],
    "expected_refusals.NO_VERB": [-1],
    "events.reconnected": [-1],
    "unanswered": [-7],
    "violation_counts.audit": [-1, 0],
    "plan.tables": [-5, 0],
    "plan.players": [1, 9],
    "plan.seconds": [0, -1, 1e308],
    "plan.rate.per_s": [-1],
    "plan.chaos.reconnect": [-0.1, 1.1],
    "machine.cpus": [0, -2],
    "usage.table.cpu_s": [-1, 1e308],
    "usage.table.peak_mib": [-1],
    "usage.table.samples.0.cpu_share": [-1, 1e308],
    "timeline.0.seconds": [-1],
    "timeline.0.counts.seed": [-1],
}


@pytest.mark.parametrize("place", NUMBERS)
def test_a_number_that_cannot_be_is_refused_by_its_name(place: str):
    report = Report(LoadPlan(seconds=2), Machine(2, "x", "3"), 0, 2.0)
    report.counts, report.refusals, report.expected_refusals = {"actions": 1}, {"STALE_TURN": 1}, {"NO_VERB": 1}
    report.events, report.usage = {"reconnected": 1}, {"table": Usage(1.0, 1.0, [Sample(0, 0.5, 1.0)])}
    report.timeline, report.violation_counts = [Interval(0, 1.0, {"seed": 1})], {"audit": 1}
    Path("ok").write_bytes(as_json(report))
    assert run("load", "compare", "ok", "ok").exit_code == 0
    for to in [*NUMBERS[place], float("nan"), float("inf"), float("-inf"), None, "2", True]:
        value = json.loads(Path("ok").read_bytes())
        changed(value, place, to)
        Path("bad").write_text(json.dumps(value))
        for words in (["merge", "bad"], ["merge", "ok", "bad"], ["compare", "ok", "bad"], ["html", "bad", "page"]):
            ended = run("load", *words)
            assert (ended.exit_code, ended.stdout) == (2, ""), (to, ended.output)
            said = " ".join(ended.stderr.split())
            assert "bad: not what `stud load --out` writes (" in said
            assert place.rsplit(".", maxsplit=1)[-1] in said or (place.count(".") and "[...]" in said), said
            assert not Path("page").exists()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"seconds": NaN', "\0", "9" * 5000, '"\\ud800"'])
def test_what_cannot_be_parsed_is_no_report(text: str):
    Path("bad").write_text(text)
    ended = run("load", "merge", "bad")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "not what `stud load --out` writes" in ended.stderr


def test_a_violation_that_is_told_is_counted():
    report = Report(LoadPlan(seconds=2), Machine(2, "x", "3"), 0, 2.0, violations=["audit: a chip is missing"])
    Path("bad").write_bytes(as_json(report))
    ended = run("load", "merge", "bad")
    assert ended.exit_code == 2
    assert "violation_counts" in ended.stderr

"""`stud load` at its edges: what cannot be played, and what is done with reports."""

import json
import os
from pathlib import Path

import pytest

from stud_load import LoadPlan, Report
from stud_load.report import Machine, as_json
from tests.unit.cli.test_commands import run


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STUD_")]:
        monkeypatch.delenv(name)


def kept(name: str, *violations: str) -> str:
    report = Report(LoadPlan(seconds=2), Machine(2, "x", "3"), 0, 2.0, counts={"actions": 10})
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

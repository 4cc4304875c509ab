"""The page of statements, knobs and tests is complete, and what would make it incomplete or untrue is found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from stud_core.ruleset import OpenPair, Ruleset
from tests.arch.repository import ROOT
from tools import generate_rules_coverage as tool
from tools.generate_rules_coverage import (
    TARGET,
    Mark,
    Statement,
    Unreadable,
    marks,
    page,
    problems,
    statements,
    values_of,
)

SAID = statements()
MARKED = marks((ROOT / "tests").rglob("test_*.py"))
HERE = Path(__file__)


def mark(kind: str, *values: object) -> Mark:
    return Mark(kind, values, HERE, "test_x")


def without(kind: str, *gone: object) -> list[Mark]:
    """The tests' markers, without these statements or without these values of a knob."""
    if kind == "rules":
        return [
            m._replace(values=tuple(v for v in m.values if v not in gone)) if m.kind == "rules" else m for m in MARKED
        ]
    knob, *values = gone
    kept = [m for m in MARKED if m.kind != "knob" or m.values[0] != knob]
    turned = [m for m in MARKED if m.kind == "knob" and m.values[0] == knob]
    return kept + [m._replace(values=(knob, *[v for v in m.values[1:] if v not in values])) for m in turned]


def test_nothing_is_missing_now():
    assert problems(SAID, MARKED) == []
    assert TARGET.read_text() == page(SAID, MARKED)
    assert len(SAID) == 65 + 29


@pytest.mark.parametrize(("there", "said"), [(True, ""), (False, "is stale: run `make proto`")])
def test_check_compares_with_the_page(
    there: bool, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(tool, "TARGET", TARGET if there else tmp_path / "old.md")
    monkeypatch.setattr("sys.argv", ["generate_rules_coverage.py", "--check"])
    assert tool.main() == (0 if there else 1)
    assert said in capsys.readouterr().err


def test_nothing_is_written_while_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(tool, "TARGET", tmp_path / "page.md")
    monkeypatch.setattr("sys.argv", ["generate_rules_coverage.py"])
    monkeypatch.setattr(tool, "statements", lambda: SAID | {"P56": Statement(("cap",), "Three raises.")})
    assert tool.main() == 1
    assert capsys.readouterr().err == "P56: there is no knob or table parameter cap\n"
    assert not (tmp_path / "page.md").exists()
    monkeypatch.setattr(tool, "statements", lambda: SAID)
    assert tool.main() == 0
    assert (tmp_path / "page.md").read_text() == TARGET.read_text()


@pytest.mark.parametrize("key", SAID)
def test_a_statement_without_a_test(key: str):
    assert problems(SAID, without("rules", key)) == [f"{key} has no test: {SAID[key].text}"]


def test_a_marker_of_a_statement_that_does_not_exist():
    assert problems(SAID, [*MARKED, mark("rules", "P66")]) == [
        "test_rules_coverage.py::test_x: there is no statement P66"
    ]


def test_a_statement_that_rests_on_a_field_that_does_not_exist():
    wrong = SAID | {"P56": Statement(("max_raise",), "Three raises.")}
    assert problems(wrong, MARKED) == ["P56: there is no knob or table parameter max_raise"]


def test_a_statement_that_is_left_out_or_made_up():
    fewer = {key: statement for key, statement in SAID.items() if key != "W29"}
    assert problems(fewer, without("rules", "W29"))[0].endswith("differing: ['W29']")
    assert problems(SAID | {"W30": Statement((), "")}, [*MARKED, mark("rules", "W30")])[0].endswith(
        "differing: ['W30']"
    )


@pytest.mark.parametrize("knob", Ruleset.__struct_fields__)
def test_a_value_without_a_test(knob: str):
    """Also the answer to a new enum member or another bound: nobody has marked a test with it."""
    for value in values_of(knob):
        others = [v for v in values_of(knob) if v != value or type(v) is not type(value)]
        rest = [m for m in without("knob", knob, *values_of(knob)) if m.values[1:] or m.kind == "rules"]
        (problem,) = problems(SAID, [*rest, mark("knob", knob, *others)])
        assert problem.startswith(f"{knob} = ")
        assert problem.endswith(" has no test")


def test_a_new_value_of_an_enum(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tool, "values_of", lambda knob: [*values_of(knob), *["NEW"] * (knob == "open_pair")])
    assert tool.problems(SAID, MARKED) == ["open_pair = new has no test"]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (("open_pairs", OpenPair.OFF), "there is no knob open_pairs"),
        (("open_pair", 7), "open_pair is never 7"),
        (("burns", 1), "burns is never 1"),
        (("max_raises", None), "max_raises is never absent"),
        (("heads_up", OpenPair.OFF), "heads_up is never OFF"),
    ],
)
def test_a_marker_of_what_no_knob_is(values: tuple[object, ...], problem: str):
    assert problems(SAID, [*MARKED, mark("knob", *values)]) == [f"test_rules_coverage.py::test_x: {problem}"]


def written(folder: Path, source: Iterable[str]) -> list[Mark]:
    file = folder / "test_it.py"
    file.write_text("\n".join(source))
    return marks([file])


def test_markers_are_read_from_the_source(tmp_path: Path):
    found = written(
        tmp_path,
        [
            "@pytest.mark.rules('P1', 'W2')",
            "@pytest.mark.parametrize('n', [pytest.param(1, marks=pytest.mark.knob('seats', -1, None, True))])",
            "@pytest.mark.knob('open_pair', OpenPair.OFF)",
            "async def test_it(n): ...",
        ],
    )
    assert [(m.kind, m.values, m.test) for m in found] == [
        ("rules", ("P1", "W2"), "test_it"),
        ("knob", ("seats", -1, None, True), "test_it"),
        ("knob", ("open_pair", OpenPair.OFF), "test_it"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        ["@pytest.mark.knob('open_pair', OpenPair.NONE)", "def test_it(): ..."],
        ["@pytest.mark.rules(*NAMES)", "def test_it(): ..."],
        ["@pytest.mark.rules('P1')", "def helper(): ..."],
        ["pytestmark = pytest.mark.rules('P1')", "def test_it(): ..."],
    ],
)
def test_a_marker_that_cannot_be_read_is_refused(tmp_path: Path, source: list[str]):
    with pytest.raises(Unreadable, match=r"test_it\.py: "):
        written(tmp_path, source)

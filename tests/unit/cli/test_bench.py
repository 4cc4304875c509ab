"""`stud bench` at its edges: what is compared, what is recorded, and what cannot be run. The measuring is elsewhere."""

import json
from pathlib import Path

import msgspec
import pytest

from stud_cli.bench import command, ratios
from stud_cli.bench.parts import BENCHES, PARTS, Part, chosen
from stud_cli.bench.report import Bench, Machine, Recorded, Records, as_json, read_records, recorded
from tests.unit.cli.test_commands import run

MACHINE = Machine(2, "a processor", "Linux", "3.11", 0)
FIGURES = {"times_pokerkit": 18.0, "playnow_us_per_action": 20.0}
NAME = "engine.times_pokerkit"
LESS = "system.table_cpu_of_bare"


@pytest.fixture(autouse=True)
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Figures that nobody measured, and what the scripts would have been given."""
    given: list[list[str]] = []

    async def figures_of(part: Part, arguments: list[str]) -> dict[str, float]:
        given.append([part.script, *arguments])
        return FIGURES

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "figures_of", figures_of)
    return given


def held(path: str, value: float, *, brief: bool = True) -> str:
    there = {"engine": Recorded(MACHINE, 3, {NAME: value})}
    Path(path).write_bytes(as_json(Records(brief=there) if brief else Records(full=there)))
    return path


@pytest.mark.parametrize(
    ("name", "now", "then", "worse"),
    [
        (NAME, 20.0, 20.0, False),
        (NAME, 13.4, 20.0, False),
        (NAME, 13.3, 20.0, True),
        (NAME, 200.0, 20.0, False),
        (LESS, 2.0, 2.0, False),
        (LESS, 2.9, 2.0, False),
        (LESS, 3.1, 2.0, True),
        (LESS, 0.2, 2.0, False),
    ],
)
def test_a_ratio_is_worse_where_it_is_a_third_below(name: str, now: float, then: float, worse: bool):
    (row,) = ratios.held_against({name: now}, {name: then})
    assert row.is_worse is worse


def test_what_was_measured_or_recorded_alone_is_not_worse():
    rows = ratios.held_against({NAME: 1.0}, {LESS: 1.0})
    assert [(row.ratio.name, row.share, row.is_worse) for row in rows] == [(NAME, None, False)]


def test_only_ratios_are_taken_from_figures():
    assert ratios.taken_from({"engine": FIGURES}, brief=False) == {NAME: 18.0}


def test_throughput_on_the_clock_is_compared_in_whole_runs_alone():
    figures = {"system": {"actions_of_bare": 0.3, "table_cpu_of_bare": 2.0}}
    assert set(ratios.taken_from(figures, brief=False)) == {"system.actions_of_bare", LESS}
    assert set(ratios.taken_from(figures, brief=True)) == {LESS}


def test_a_run_replaces_what_it_measured_and_leaves_the_rest_where_it_comes_from():
    other = msgspec.structs.replace(MACHINE, model="another")
    there = {"engine": Recorded(other, 3, {NAME: 9.0}), "system": Recorded(other, 3, {LESS: 2.0})}
    new = recorded(Bench(True, 1, MACHINE, 1.0, {"engine": FIGURES}, {NAME: 5.0}), Records(there, there))
    assert new.full == there
    assert new.brief == {"engine": Recorded(MACHINE, 1, {NAME: 5.0}), "system": there["system"]}
    assert new.ratios(brief=True) == {NAME: 5.0, LESS: 2.0}


@pytest.mark.parametrize(("then", "code"), [(18.0, 0), (26.9, 0), (27.1, 1)])
def test_the_exit_code_says_whether_something_is_worse(then: float, code: int):
    ended = run("bench", "--brief", "--only", "engine", "--against", held("r.json", then), "--json")
    assert ended.exit_code == code, ended.output
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["ratios"] == {NAME: 18.0}
    assert told["worse"] == [NAME] * code


@pytest.mark.parametrize(
    ("came_out", "tries", "code", "measured_times"),
    [
        ([10.0, 10.0, 18.0], 3, 0, 3),
        ([10.0, 18.0], 3, 0, 2),
        ([18.0], 3, 0, 1),
        ([11.0, 10.0, 10.5], 3, 1, 3),
        ([10.0, 18.0], 1, 1, 1),
    ],
)
def test_what_came_out_worse_is_tried_again_and_its_best_counts(
    monkeypatch: pytest.MonkeyPatch, came_out: list[float], tries: int, code: int, measured_times: int
):
    left = list(came_out)

    async def figures_of(_part: Part, _arguments: list[str]) -> dict[str, float]:
        return {"times_pokerkit": left.pop(0)}

    monkeypatch.setattr(command, "figures_of", figures_of)
    words = ("--brief", "--only", "engine", "--against", held("r.json", 18.0), "--tries", str(tries), "--json")
    ended = run("bench", *words)
    assert ended.exit_code == code, ended.output
    assert len(came_out) - len(left) == measured_times
    assert json.loads(ended.stdout.splitlines()[-1])["ratios"] == {NAME: max(came_out[:measured_times])}


def test_what_says_something_of_a_machine_alone_is_compared_with_the_same_kind_of_machine():
    there = {"engine": Recorded(MACHINE, 3, {NAME: 18.0}), "system": Recorded(MACHINE, 3, {LESS: 1.0})}
    assert Records(there).ratios(brief=False, model=MACHINE.model) == {NAME: 18.0, LESS: 1.0}
    assert Records(there).ratios(brief=False, model="another") == {NAME: 18.0}


def test_only_what_came_out_worse_is_tried_again(measured: list[list[str]], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "this_machine", lambda: MACHINE)
    there = {"engine": Recorded(MACHINE, 3, {NAME: 18.0}), "system": Recorded(MACHINE, 3, {LESS: 1.0})}
    Path("r.json").write_bytes(as_json(Records(brief=there)))
    FIGURES["table_cpu_of_bare"] = 2.0
    try:
        assert run("bench", "--brief", "--only", "engine,system", "--against", "r.json", "--tries", "2").exit_code == 1
    finally:
        del FIGURES["table_cpu_of_bare"]
    assert [given[0] for given in measured] == ["bench_core.py", "bench_system.py", "bench_system.py"]


def test_the_better_of_a_ratio_is_the_lower_one_where_less_is_better():
    assert (ratios.better(NAME, 1.0, 2.0), ratios.better(LESS, 1.0, 2.0)) == (2.0, 1.0)


def test_what_is_recorded_is_what_a_later_run_is_held_against():
    assert run("bench", "--only", "engine", "--record", "r.json", "--out", "all.json").exit_code == 0
    assert read_records(Path("r.json")).ratios(brief=False) == {NAME: 18.0}
    assert json.loads(Path("all.json").read_bytes())["figures"]["engine"] == FIGURES
    assert run("bench", "--only", "engine", "--against", "r.json").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "poker"], "--only: no part 'poker': want some of engine, rebuild"),
        (["--only", ""], "--only: no part '': want some of"),
        (["--only", " "], "--only: no part '': want some of"),
        (["--only", "engine,"], "--only: no part '': want some of"),
        (["--out", "."], ". cannot be written: name a file in a directory that can"),
        (["--record", "."], ". cannot be written"),
        (["--record", "no/such/r.json"], "no/such/r.json cannot be written: name a file in a directory that can"),
        (["--out", "full.json/below"], "full.json/below cannot be written: name a file in a directory that can"),
        (["--out", "a.json", "--record", "./a.json"], "a.json is named twice: want a file for each"),
        (["--against", "nowhere.json"], "nowhere.json cannot be read"),
        (["--against", "other.json"], "other.json: not what `stud bench --record` writes"),
        (["--against", "full.json", "--brief"], "full.json holds nothing of a brief run"),
    ],
)
def test_what_cannot_be_run_says_why(measured: list[list[str]], words: list[str], said: str):
    Path("other.json").write_text("[]")
    held("full.json", 1.0, brief=False)
    ended = run("bench", *words)
    assert ended.exit_code == 2, ended.output
    assert said in " ".join(ended.stderr.split())
    assert measured == []


def test_an_installed_package_has_no_benches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "BENCHES", Path("nowhere"))
    ended = run("bench", "--only", "engine")
    assert ended.exit_code == 2
    assert "run this in a clone" in " ".join(ended.stderr.split())


def test_a_whole_run_takes_three_and_a_thousand_tables_where_asked(measured: list[list[str]]):
    run("bench", "--only", "engine,human", "--thousand")
    run("bench", "--only", "human", "--brief")
    assert measured[0] == ["bench_core.py", "--runs", "3", "--json"]
    assert measured[1] == ["bench_human.py", "--runs", "3", "--json", "--tables", "10", "100", "1000"]
    assert measured[2][-3:] == ["--runs", "1", "--json"]


def test_every_part_has_its_script_and_every_ratio_a_part():
    assert [part.script for part in PARTS if not (BENCHES / part.script).is_file()] == []
    assert {ratio.part for ratio in ratios.RATIOS} <= {part.name for part in chosen(None)}


@pytest.mark.parametrize("brief", [True, False])
def test_recorded_ratios_are_those_that_are_compared(brief: bool):
    records = read_records(BENCHES / "recorded.json")
    assert set(records.ratios(brief=brief)) == {ratio.name for ratio in ratios.RATIOS if ratio.is_steady or not brief}


@pytest.mark.parametrize("to", [0, -1, float("nan"), float("inf"), float("-inf"), 1e308, None, "2"])
@pytest.mark.parametrize("option", ["--against", "--record"])
def test_a_recorded_ratio_that_cannot_be_is_refused_by_its_name(measured: list[list[str]], to: object, option: str):
    value = json.loads(Path(held("r.json", 1.0)).read_bytes())
    value["brief"]["engine"]["ratios"][NAME] = to
    Path("r.json").write_text(json.dumps(value))
    ended = run("bench", "--brief", "--only", "engine", option, "r.json")
    assert (ended.exit_code, ended.stdout) == (2, "")
    said = " ".join(ended.stderr.split())
    assert "r.json: not what `stud bench --record` writes (" in said
    assert NAME in said or "brief[...].ratios[...]" in said
    assert measured == []
    assert json.loads(Path("r.json").read_bytes()).keys() == value.keys()

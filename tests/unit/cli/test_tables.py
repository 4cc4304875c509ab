"""``stud tables``: ids, names and states as they are, whatever they look like and however narrow it is."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from stud_cli.main import app
from stud_cli.output import console
from tests.support.open_house import OpenHouse

NAMES = {"007": "\u00b2", "1000000": "42", "a-table-of-a-long-name-1": "one", "a-table-of-a-long-name-2": "two"}
OPENED = ["--preset", "william_hill", "--currency", "EUR", "--small-bet", "500", "--as", "olga"]
WHY = "the table was seen twice in one place"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHouse]:
    with OpenHouse(tmp_path_factory.mktemp("house")) as house:
        for table, name in NAMES.items():
            assert run(house, "table", "create", table, "--name", name, *OPENED).exit_code == 0
        assert run(house, "table", "pause", "007", "--reason", WHY, "--as", "olga").exit_code == 0
        assert run(house, "table", "pause", "1000000", "--reason", "4711", "--as", "olga").exit_code == 0
        yield house


def run(house: OpenHouse, *words: str) -> Result:
    return CliRunner().invoke(app, list(words), env=house.environ)


def test_what_people_chose_stays_text_and_numbers_are_numbers(house: OpenHouse):
    told = run(house, "tables", "--json")
    assert told.exit_code == 0, told.output
    lines = {line["table"]: line for line in json.loads(told.stdout.splitlines()[-1])["tables"]}
    assert {table: line["name"] for table, line in lines.items()} == NAMES
    assert (lines["007"]["small_bet"], lines["007"]["hand_no"], lines["1000000"]["paused"]) == (500, 0, "4711")


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_no_id_and_no_state_is_cut(house: OpenHouse, columns: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console, "_width", columns)
    shown = run(house, "tables")
    assert shown.exit_code == 0
    assert "…" not in shown.stdout
    for table in NAMES:
        assert f" {table} " in shown.stdout
    last = -4 if columns >= 100 else -1
    cells = [line.strip("│").split("│") for line in shown.stdout.splitlines() if line.startswith("│")]
    assert WHY.replace(" ", "") in "".join(row[last].strip().replace(" ", "") for row in cells)
    assert ("hands/h" in shown.stdout) is (columns >= 100)

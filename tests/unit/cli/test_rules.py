"""``stud rules``: the page that people read, at the stakes they ask for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stud_cli.main import app
from stud_core.house_rules import house_rules, page
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config

GOLDEN = Path(__file__).parents[2] / "golden/rules"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["rules", *words])


@pytest.mark.parametrize("name", ["playnow", "william_hill"])
def test_the_page_is_printed(name: str):
    shown = run(name)
    assert shown.exit_code == 0
    assert shown.stdout == (GOLDEN / f"{name}.txt").read_text()


def test_another_tables_stakes():
    usual = run("playnow", "--small-bet", "1000", "--currency", "CAD")
    assert usual.stdout == page(table_config(PLAYNOW, small_bet=1000, currency="CAD"))
    own = run("playnow", "--small-bet", "700", "--big-bet", "1500", "--ante", "10", "--bring-in", "300")
    assert own.stdout == page(table_config(PLAYNOW, small_bet=700, big_bet=1500, ante=10, bring_in=300))
    assert "bring it in for 3, or open for 7" in " ".join(own.stdout.split())


def test_other_currencies_may_be_served(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STUD_CURRENCIES", "ZZZ, CHF")
    assert run("playnow", "--currency", "CHF").exit_code == 0
    assert "All amounts are in ZZZ." in run("playnow").stdout
    assert "want ZZZ, CHF" in run("playnow", "--currency", "USD").stderr
    monkeypatch.setenv("STUD_CURRENCIES", "")
    ended = run("playnow")
    assert (ended.exit_code, "STUD_CURRENCIES: want at least one currency" in ended.stderr) == (2, True)


def test_scripts_get_sections():
    value = json.loads(run("william_hill", "--json").stdout)
    expected = house_rules(table_config(WILLIAM_HILL))
    assert value["ruleset"] == "william_hill"
    assert [(section["title"], section["text"]) for section in value["sections"]] == expected
    assert "5/10 EUR" in value["headline"]
    assert value["changed"] == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["razz"], "unknown ruleset razz: want playnow or william_hill"),
        (["playnow", "--small-bet", "1"], "small_bet: lies in 2.."),
        (["playnow", "--ante", "501"], "ante: lies between 0 and the small bet"),
        (["william_hill", "--bring-in", "200"], "bring_in: is half the small bet, rounded up: 250"),
        (["playnow", "--currency", "euro"], "currency: has three capital letters"),
        (["playnow", "--currency", "ZZZ"], "no table plays for ZZZ: want EUR, USD, GBP, CAD, XTS"),
    ],
)
def test_what_cannot_be_a_table_has_no_page(words: list[str], why: str):
    ended = run(*words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert why in " ".join(ended.stderr.split())

"""What is typed and cannot be meant: a sentence and exit code 2, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stud_cli.main import app
from stud_cli.operate.desk import refusal
from stud_client import StudError
from stud_service.keyring import ensure_dev_keys

NOBODY = ["--endpoints", "table=127.0.0.1:1,rules=127.0.0.1:1,wallet=127.0.0.1:1"]
EURO = ["--currency", "EUR"]
NO_TEXT = os.fsdecode(b"\xff")
HUGE = "9" * 24
OPENED = ["--preset", "playnow", *EURO, "--small-bet", "500", "--dry-run"]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STUD_")]:
        monkeypatch.delenv(name)
    ensure_dev_keys(tmp_path / "var/keys")


def told(*words: str) -> str:
    ended = CliRunner().invoke(app, list(words))
    said = " ".join(ended.stderr.replace("│", " ").split())
    assert (ended.exit_code, ended.stdout) == (2, ""), ended.output
    assert "Traceback" not in said
    assert "a fault of" not in said
    return said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["account", "deposit", "ada", HUGE, *EURO, "--as", "carl"], "AMOUNT: 9"),
        (["account", "withdraw", *EURO, "--as", "carl", "--", "ada", "-" + HUGE], "AMOUNT: -9"),
        (["account", "transfers", "ada", *EURO, "--after", HUGE], "AFTER: 9"),
        (["hand", "show", "friday", HUGE], "HAND-NO: 9"),
        (["hand", "void", "friday", HUGE, "--reason", "why", "--as", "olga"], "HAND-NO: 9"),
        (["cashout", "resolve", "friday", "1", HUGE, "--reason", "why", *EURO, "--as", "olga"], "AMOUNT: 9"),
        (["cashout", "resolve", "friday", HUGE, "5", "--reason", "why", *EURO, "--as", "olga"], "SITTING-NO: 9"),
    ],
)
def test_a_number_has_its_bounds(words: list[str], why: str):
    said = told(*words[:2], *NOBODY, *words[2:])
    assert why in said
    assert "want at most 9223372036854775807" in said


@pytest.mark.parametrize(
    "words",
    [
        ["table", "show", NO_TEXT],
        ["table", "create", "t-1", "--name", NO_TEXT, *OPENED],
        ["table", "create", "t-1", "--set", f"name={NO_TEXT}", *OPENED],
        ["account", "adjust", f"{NO_TEXT}=5", "b=-5", *EURO, "--reference", "r", "--as", "olga"],
        ["hand", "void", "t-1", "1", "--reason", NO_TEXT, "--as", "olga", "--yes"],
        ["bots", NO_TEXT, "--yes"],
    ],
)
def test_a_text_is_text(words: list[str]):
    assert "is no text: want UTF-8" in told(*words, *NOBODY)


@pytest.mark.parametrize("words", [["player:ada=5", "-5"], ["-500"]])
def test_what_begins_with_a_minus_stands_behind_two(words: list[str]):
    said = told("account", "deposit", *words, *EURO, "--as", "carl")
    assert "No such option: -5" in said
    assert "put -- before" in said


def test_an_option_that_is_none_is_no_number():
    assert "put -- before" not in told("account", "deposit", "-q", *EURO)


def test_a_service_is_named_once():
    said = told("table", "show", "t-1", "--endpoints", "table=a:1,table=b:2")
    assert "table is named twice: want one address for each service" in said


def test_a_preset_that_is_nearly_one():
    said = told("table", "create", "t-1", "--preset", "william-hill", *EURO, "--small-bet", "500", "--as", "olga")
    assert "preset: there is no preset 'william-hill': did you mean william_hill?" in said
    assert said.count("preset:") == 1


def test_what_waits_is_shown_only_where_something_can_wait():
    own = StudError("OWN_INTEREST", "the account is your own: another operator must do it")
    assert "stud proposals" not in refusal(own, "ada")
    assert "`stud proposals` shows what waits for somebody else" in refusal(own, "ada", proposes=True)


def test_a_balance_is_told_as_money():
    short = StudError("INSUFFICIENT_FUNDS", "the balance is 199600, not 5", {"balance": "199600"})
    assert refusal(short, "carl") == "INSUFFICIENT_FUNDS: the balance is 1,996.00"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["hands", "--player", ""], "--player '': account: want 1 to 64 letters"),
        (["hands", "--table", ""], "--table table id '': expected 1 to 64"),
        (["hands", "--since", ""], "--since '': want a moment"),
        (["hands", "--until", " "], "--until ' ': want a moment"),
        (["hands", "--min-pot", ""], "--min-pot '': want an amount"),
        (["replay", "t-1", "--time", ""], "--time '': want a moment"),
        (["replay", "t-1", "--as", ""], "--as '': account: want 1 to 64 letters"),
        (["replay", "t-1", "--html", "hand.html", "--as", ""], "--as '': account: want 1 to 64 letters"),
    ],
)
def test_what_a_script_left_empty_is_not_everything(words: list[str], why: str):
    """``--player "$WHO"`` where nobody set WHO: all hands of all players are no answer to that."""
    assert why in told(*words)


def test_a_reason_that_players_read_is_called_so():
    """What stands in a view or in a public event; the others stay with the house."""
    asked = {"table pause": True, "hand void": True, "hand resolve": False, "account freeze": False}
    for words, public in asked.items():
        shown = " ".join(CliRunner().invoke(app, [*words.split(), "--help"]).stdout.replace("│", " ").split())
        assert ("the players read it" in shown) is public, words

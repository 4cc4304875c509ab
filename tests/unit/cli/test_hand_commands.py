"""`stud adjudicate` and `stud rehearse` around the hands: what they read, how they end, what they ask of a system."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stud_cli.hands import report as module
from stud_cli.hands.rehearsal import BANKROLL, LEAST, fund
from stud_cli.hands.rehearse import AT_ONCE, decks_can_be_stacked
from stud_cli.hands.report import Report
from stud_cli.main import app
from stud_client import StudError
from stud_core import validate
from stud_core.amounts import MAX_AMOUNT, MAX_BALANCE
from stud_hands.adjudication import Verdict, judge
from stud_hands.record import STDIN, BadLine, count_hands, parse_hand
from stud_hands.script import table_config
from tests.arch.repository import ROOT

MERGE = (ROOT / "tests" / "golden" / "hands" / "merge.jsonl").read_text()
HAND = json.loads(MERGE.splitlines()[0])


def run(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["adjudicate", *words], input=given)


# --- what is read -------------------------------------------------------------


def test_a_file_without_hands_is_told_and_could_not_be_run(tmp_path: Path):
    empty, blank, full = tmp_path / "empty", tmp_path / "blank", tmp_path / "full"
    empty.write_text("")
    blank.write_text("\n\n")
    full.write_text(MERGE)
    ended = run(str(empty), str(blank), str(full), "--json")
    assert ended.exit_code == 2
    told = "".join(ended.stderr.split("\n"))
    assert f"no hands in {empty}" in told
    assert f"no hands in {blank}" in told
    assert json.loads(ended.stdout) == {"hands": 2, "matched": 2, "mismatched": [], "partly": []}


def test_a_dash_is_standard_input():
    ended = run("-", "--json", given=MERGE)
    assert (ended.exit_code, json.loads(ended.stdout)["matched"]) == (0, 2)
    assert run("-", given="").exit_code == 2


def test_lines_are_counted_beforehand_where_that_is_possible(tmp_path: Path):
    file = tmp_path / "hands"
    file.write_text(MERGE + "\n\n" + MERGE)
    assert count_hands([file, tmp_path / "nowhere", file]) == 8
    assert count_hands([file, STDIN]) is None


def test_hands_with_one_id_are_told_apart_by_where_they_stand(tmp_path: Path):
    """A wrong one, one that is none, and a right one; another hand beside them is told as ever."""
    first, second = tmp_path / "first", tmp_path / "second"
    wrong, other = HAND | {"pot_total": 1}, HAND | {"id": "another", "pot_total": 1}
    first.write_text("\n".join(map(json.dumps, [wrong, other])) + "\n\n" + json.dumps(HAND | {"seats": []}))
    second.write_text(json.dumps(HAND))
    ended = run(str(first), str(second), "--json")
    told = {line["why"].rpartition(" ")[2]: line["id"] for line in json.loads(ended.stdout)["mismatched"]}
    assert [told[f"({first}:{line})"] for line in (1, 4)] == [HAND["id"]] * 2
    assert json.loads(ended.stdout)["mismatched"][1]["id"] == "another"
    assert str(first) not in json.loads(ended.stdout)["mismatched"][1]["why"]
    assert f"3 hands have the id '{HAND['id']}': {first}:1, {first}:4, {second}:1" in ended.stderr
    assert json.loads(ended.stdout).keys() == {"hands", "matched", "mismatched", "partly"}


def test_an_id_that_is_there_often_is_told_shortly(tmp_path: Path):
    file = tmp_path / "hands"
    file.write_text(f"{json.dumps(HAND)}\n" * 7)
    ended = run(str(file))
    assert ended.exit_code == 0
    assert f"7 hands have the id '{HAND['id']}': " in ended.stdout
    assert f"{file}:5, …" in ended.stdout


@pytest.mark.parametrize("name", ["hand 1", "#1:2/3", "Händ", "x" * 200, "", "[bold]", "\u2028", "??"])
def test_an_id_may_be_any_text(name: str):
    ended = run("-", "--json", given=json.dumps(HAND | {"id": name}))
    assert json.loads(ended.stdout) == {"hands": 1, "matched": 1, "mismatched": [], "partly": []}
    wrong = run("-", "--json", given=json.dumps(HAND | {"id": name, "pot_total": 1}))
    assert json.loads(wrong.stdout)["mismatched"][0]["id"] == name


def test_an_ante_may_be_larger_than_the_bets_and_bets_as_large_as_money_goes():
    """The format sets no such limits, and no rule relates the ante to the bets (W5, W6)."""
    for header in ({"ante": HAND["big_bet"] * 50}, {"small_bet": 10**14, "big_bet": MAX_AMOUNT}):
        assert validate.validate_config(table_config(parse_hand(json.dumps(HAND | header)))) == []


def test_what_may_be_staked_is_what_may_be_booked():
    assert LEAST >= AT_ONCE * MAX_AMOUNT
    assert 8 * BANKROLL < MAX_BALANCE


# --- how it ends --------------------------------------------------------------


def test_an_interrupted_run_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):

    def interrupted(hand: Any, rng: Any) -> Verdict:
        if hand.id == "merge-7stud-0002":
            raise KeyboardInterrupt
        return judge(hand, rng)

    monkeypatch.setattr(module, "judge", interrupted)
    file = tmp_path / "hands"
    file.write_text(MERGE)
    ended = run(str(file), "--json")
    assert (ended.exit_code, ended.stdout) == (130, "")
    assert "interrupted after 1 hands: 1 match, 0 do not" in ended.stderr


def test_a_report_keeps_the_order_of_the_files_and_no_scripts():
    report = Report()
    report.add(3, Verdict("c", "wrong"))
    report.add_line(1, BadLine("file", 7, "no hand"))
    report.add(2, Verdict("b", "", "in part"))
    assert [verdict.hand_id for verdict in report.mismatched] == ["file:7", "c"]
    assert (report.hands, report.matched, report.exit_code) == (3, 1, 1)
    assert all(verdict.script is None for verdict in (*report.wrong.values(), *report.noted.values()))


# --- what is asked of a system ------------------------------------------------


class Dealer:
    """Answers every deck alike."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    async def StackDeck(self, _request: Any) -> None:
        raise StudError(self.reason, "as told")


async def test_a_system_that_stacks_no_decks_is_told_before_any_hand():
    def people(reason: str) -> Any:
        return SimpleNamespace(operator=SimpleNamespace(dealer=Dealer(reason)))

    await decks_can_be_stacked(people("INVALID_DECK"))
    for reason in ("STACKED_DECKS_OFF", "UNAVAILABLE"):
        with pytest.raises(StudError, match=reason):
            await decks_can_be_stacked(people(reason))


class Bank:
    """A wallet of one account, for its owner and for the cashier."""

    def __init__(self, balance: int) -> None:
        self.balance = balance
        self.deposits: list[int] = []
        self.wallet = self.cashier = self

    def player(self, _name: str) -> Bank:
        return self

    async def OpenAccount(self, _request: Any) -> None:
        return

    async def GetAccount(self, _request: Any) -> Bank:
        return self

    async def Deposit(self, request: Any) -> None:
        self.deposits.append(request.amount)


@pytest.mark.parametrize(
    ("balance", "missing"), [(0, BANKROLL), (LEAST - 1, BANKROLL - LEAST + 1), (LEAST, 0), (BANKROLL, 0)]
)
async def test_only_what_is_missing_to_the_bankroll_is_deposited(balance: int, missing: int):
    bank: Any = Bank(balance)
    await fund(bank, {1: 500})
    assert sum(bank.deposits) == missing
    assert all(0 < amount <= MAX_AMOUNT for amount in bank.deposits)

"""Refusals that rest on a rule cite the table's own page, or "B.n" of the rules where it is silent.

Illegal actions have a file of their own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stud_core import commands as cmd
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import BuyInLimit, Ruleset
from tests.support.core_table import knobs
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import both, fifth_street
from tools.sources import syntax_tree


def seated(rules: Ruleset, *stacks: int, **turned: object) -> TableDriver:
    return TableDriver(knobs(rules, **turned), dict(enumerate(stacks, 1)), strict_buy_in=True)


def late(table: TableDriver, command: cmd.Command) -> Rejection:
    table.now_ms += 60_000
    return table.reject(command)


def loser_asked(rules: Ruleset) -> TableDriver:
    table = fifth_street(rules, 2, street=7, up={1: "Ac Kd Jh 9s", 2: "2c Td 8h 6s"}, down={1: "As Ad 3h"})
    table.send(cmd.SetPreferences("a2", muck_losing=False))
    table.play("1 bet 1000", "2 call")
    return table


def prompted(rules: Ruleset) -> TableDriver:
    table = deal(rules, 3, prompted=[2])
    assert table.hand.prompts
    return table


def show(table: TableDriver, *cards: int) -> cmd.ChooseShow:
    return cmd.ChooseShow("a2", table.hand.prompts[0].prompt_id, show=True, cards=cards)


MAXIMUM = {"max_buy_in": BuyInLimit(small_bets=40)}
REFUSALS: dict[str, tuple[Callable[[Ruleset], Rejection], Reason, str, str]] = {
    "no ninth seat": (
        lambda rules: seated(rules).reject(cmd.TakeSeat("b", 9, 5_000)), Reason.SEAT_OUT_OF_RANGE, "P2", "W3"
    ),
    "no ninth player": (
        lambda rules: seated(rules, *[5_000] * 8).reject(cmd.TakeSeat("b", None, 5_000)), Reason.TABLE_FULL, "P2", "W3"
    ),
    "too little": (
        lambda rules: seated(rules).reject(cmd.TakeSeat("b", 1, 4_999)), Reason.BUY_IN_TOO_SMALL, "P4", "W2"
    ),
    "too much": (
        lambda rules: seated(rules, **MAXIMUM).reject(cmd.TakeSeat("b", 1, 20_001)),
        Reason.BUY_IN_TOO_LARGE, "P3", "B.19",
    ),
    "a top-up to too much": (
        lambda rules: seated(rules, 20_000, **MAXIMUM).reject(cmd.AddChips("a1", 1)),
        Reason.TOP_UP_OUT_OF_LIMITS, "B.19", "B.19",
    ),
    "an action too late": (
        lambda rules: late(table := deal(rules), table.parse("1 bring_in")), Reason.DEADLINE_PASSED, "B.18", "B.18"
    ),
    "an ante too late": (
        lambda rules: late(table := prompted(rules), cmd.PostAnte("a2", table.hand.prompts[0].prompt_id)),
        Reason.DEADLINE_PASSED, "B.18", "B.18",
    ),
    "an answer too late": (
        lambda rules: late(table := loser_asked(rules), show(table)), Reason.DEADLINE_PASSED, "B.18", "B.18"
    ),
    "one card of three": (
        lambda rules: (table := loser_asked(rules)).reject(show(table, table.dealer.open(table.hand.down[2])[0])),
        Reason.UNEXPECTED_CARDS, "B.15", "B.15",
    ),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", REFUSALS)
def test_other_refusals_cite_the_tables_own_page(rules: Ruleset, name: str):
    refuse, reason, playnow, william_hill = REFUSALS[name]
    refusal = refuse(rules)
    assert (refusal.reason, refusal.rule) == (reason, playnow if rules is PLAYNOW else william_hill)


ROOT = Path(__file__).parents[3]
SOURCES = [
    file
    for tree in (*ROOT.glob("libs/stud_*"), *ROOT.glob("services/*_service"))
    for file in sorted(tree.rglob("*.py"))
]


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_statement_is_cited_but_by_page(file: Path):
    """A bare "P53" in what is said at run time would be cited at William Hill tables too; so would "P25, P55"."""
    module = syntax_tree(file.read_text())
    calls = [n for n in ast.walk(module) if isinstance(n, ast.Call) and ast.unparse(n.func) == "cite"]
    for call in calls:
        _, playnow, william_hill = call.args
        assert all(re.fullmatch(r"P\d+|B\.\d+", rule) for rule in rules_in(playnow)), ast.unparse(call)
        assert all(re.fullmatch(r"W\d+|B\.\d+", rule) for rule in rules_in(william_hill)), ast.unparse(call)
    cited = [rule for call in calls for rule in rules_in(call) if rule[0] in "PW"]
    assert sorted(cited) == sorted(rule for rule in rules_in(module) if rule[0] in "PW")


def rules_in(node: ast.AST) -> list[str]:
    """Every rule that a string names, those of docstrings and comments left out."""
    told = {id(part.value) for part in ast.walk(node) if isinstance(part, ast.Expr)}
    strings = [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in told
    ]
    return [rule for text in strings for rule in re.findall(r"\b[PW]\d{1,2}\b|\bB\.\d+", text)]

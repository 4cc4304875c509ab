"""Every kind of illegal action, word for word: what is wrong, by which statement of the table's page, what is legal.

A kind is a text of ``decide/explain.py``; the last test shows that none is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stud_core.decide import explain
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import OpenPair, Ruleset
from tests.support.core_table import knobs
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import LEADER, both, bring_in, fifth_street, fourth_street
from tools.sources import syntax_tree

Position = Callable[[Ruleset], TableDriver]
NO_PAIR = {seat: LEADER[seat] for seat in (1, 2, 3)}


class Kind(msgspec.Struct, frozen=True):
    """One illegal action; ``{bring_in}`` stands for 200 at a PlayNow table and 250 at a William Hill one."""

    position: Position
    action: str
    asked: str
    why: str
    rules: tuple[str, str]  # PlayNow, William Hill
    legal: str


def third(*actions: str, **options: Any) -> Position:
    def position(rules: Ruleset) -> TableDriver:
        table = deal(rules, **options)
        table.play(*actions)
        return table

    return position


def fourth(
    *actions: str, up: dict[int, str] | None = None, behind: dict[int, int] | None = None, **turned: object
) -> Position:
    def position(rules: Ruleset) -> TableDriver:
        table = fourth_street(knobs(rules, **turned), up, behind)
        table.play(*actions)
        return table

    return position


def fifth(*actions: str, behind: dict[int, int] | None = None) -> Position:
    def position(rules: Ruleset) -> TableDriver:
        table = fifth_street(rules, behind=behind)
        table.play(*actions)
        return table

    return position


OPENING = "bring in {bring_in}, open to 500"
COMPLETING = "fold, call {bring_in}, complete to 500"
CHECKED = "fold, check, bet to 500"
MUST = "the lowest card must bring it in or open"
NO_CHIPS = "there are no chips for more"
HOLDER_WHY = "with an open pair on fourth street its holder wagers by 500 or 1000, everybody else by 500"
FULL = ("1 bring_in", "2 complete 500", "3 raise 1000", "1 raise 1500", "2 raise 2000")
OPTIONAL = third(stacks={1: 50})
OPTIONAL_LEGAL = f"fold, {OPENING}"
LESS = fifth("1 bet 400", behind={1: 400})
LESS_LEGAL = "fold, call 400, complete to 1000"

KINDS = {
    # The low card
    "may not fold": Kind(deal, "1 fold", "fold", MUST, ("P58", "W8"), OPENING),
    "may not check": Kind(deal, "1 check", "check", MUST, ("P58", "W8"), OPENING),
    "may not call": Kind(deal, "1 call", "call", MUST, ("P58", "W8"), OPENING),
    "brings in one amount": Kind(
        deal, "1 bring_in 100", "bring in 100", "the bring-in is {bring_in}", ("P58", "W9"), OPENING
    ),
    "brings in what he has": Kind(
        third(stacks={1: 150}), "1 bring_in 150", "bring in 150", "the bring-in is 100", ("P58", "W9"),
        "bring in 100 all-in",
    ),
    "opens for the lower limit": Kind(
        deal, "1 open 700", "open to 700", "third street is opened for 500", ("P58", "W9"), OPENING
    ),
    "opens, not raises": Kind(
        deal, "1 raise 500", "raise to 500", "to put in more here is to open", ("P58", "W9"), OPENING
    ),
    "opens for what he has": Kind(
        third(stacks={1: 450}), "1 open 500", "open to 500", NO_CHIPS, ("B.19", "B.19"),
        "bring in {bring_in}, open to 400 all-in",
    ),
    "cannot open": Kind(
        third(stacks={1: 150}), "1 open 500", "open to 500", NO_CHIPS, ("B.19", "B.19"), "bring in 100 all-in"
    ),
    # The low card has no chips
    "next may not check": Kind(
        OPTIONAL, "2 check", "check", "the low card has no chips: bring it in, open, or fold", ("B.4", "B.4"),
        OPTIONAL_LEGAL,
    ),
    "next may not call": Kind(
        OPTIONAL, "2 call", "call", "the low card has no chips: bring it in, open, or fold", ("B.4", "B.4"),
        OPTIONAL_LEGAL,
    ),
    "next folds without amount": Kind(
        OPTIONAL, "2 fold 500", "fold to 500", "a fold has no amount", ("P51", "W13"), OPTIONAL_LEGAL
    ),
    # After the bring-in
    "brought in already": Kind(
        third("1 bring_in"), "2 bring_in", "bring in", "there is nothing to bring in now", ("P58", "W8"), COMPLETING
    ),
    "check facing a wager": Kind(
        third("1 bring_in"), "2 check", "check", "there is a wager of {bring_in} to meet", ("P53", "B.16"), COMPLETING
    ),
    "call of another amount": Kind(
        third("1 bring_in"), "2 call 500", "call to 500", "a call takes what is missing, neither more nor less",
        ("P51", "W13"), COMPLETING,
    ),
    "call of a size": Kind(
        third("1 bring_in"), "2 call high", "call (big)", "only a bet or a raise has a size", ("P51", "W13"), COMPLETING
    ),
    "raise before the completion": Kind(
        third("1 bring_in"), "2 raise 1000", "raise to 1000", "to put in more here is to complete", ("P59", "W14"),
        COMPLETING,
    ),
    "complete to more": Kind(
        third("1 bring_in"), "2 complete 1000", "complete to 1000",
        "on third street the bring-in is completed to 500", ("P59", "W14"), COMPLETING,
    ),
    "raise on third street": Kind(
        third("1 bring_in", "2 complete 500"), "3 raise 1500", "raise to 1500", "on third street raises are by 500",
        ("P50", "W14"), "fold, call 500, raise to 1000",
    ),
    "cap on third street": Kind(
        third(*FULL), "3 raise 2500", "raise to 2500", "the cap of 3 raises is reached", ("P56", "W19"),
        "fold, call 1000",
    ),
    # Fourth street
    "bring-in on fourth street": Kind(
        fourth(up=NO_PAIR), "1 bring_in", "bring in", "there is nothing to bring in now", ("P58", "W8"), CHECKED
    ),
    "big bet without a pair": Kind(
        fourth(up=NO_PAIR), "1 bet 1000", "bet to 1000", "on fourth street without an open pair wagers are by 500",
        ("P61", "W14"), CHECKED,
    ),
    "big bet where pairs give nothing": Kind(
        fourth(open_pair=OpenPair.OFF), "1 bet 1000", "bet to 1000", "on fourth street wagers are by 500",
        ("P61", "W14"), CHECKED,
    ),
    "nothing to call": Kind(
        fourth(up=NO_PAIR), "1 call", "call", "there is nothing to call", ("P52", "B.16"), CHECKED
    ),
    "check with an amount": Kind(
        fourth(up=NO_PAIR), "1 check 500", "check to 500", "a check has no amount", ("P51", "W13"), CHECKED
    ),
    "raise of nothing": Kind(
        fourth(up=NO_PAIR), "1 raise 500", "raise to 500", "to put in more here is to bet", ("P20", "B.16"), CHECKED
    ),
    "between the limits": Kind(
        fourth(), "1 bet 700", "bet to 700", "with an open pair on fourth street wagers are by 500 or 1000",
        ("P62", "W15"), "fold, check, bet to 500, bet to 1000",
    ),
    "which of the two": Kind(
        fourth(), "1 bet", "bet", "the amount or the size must be said", ("P62", "W15"),
        "fold, check, bet to 500, bet to 1000",
    ),
    "which all-in of the two": Kind(
        fourth(behind={1: 400}), "1 bet 400", "bet to 400",
        "both sizes come to that, so the size must be said", ("P62", "W15"),
        "fold, check, bet to 400 (small) all-in, bet to 400 (big) all-in",
    ),
    "small raise of a big bet": Kind(
        fourth("1 bet 500", "2 raise 1500"), "3 raise 2000", "raise to 2000",
        "after a big bet on fourth street raises are by 1000", ("P24", "W17"), "fold, call 1500, raise to 2500",
    ),
    "the pair is another's": Kind(
        fourth("1 check", open_pair=OpenPair.HOLDER_ONLY), "2 bet 1000", "bet to 1000", HOLDER_WHY, ("P22", "W15"),
        CHECKED,
    ),
    "cap on fourth street": Kind(
        fourth("1 bet 500", "2 raise 1500", "3 raise 2500", "1 raise 3500"), "2 raise 4500", "raise to 4500",
        "the cap of 3 raises is reached", ("P56", "W19"), "fold, call 2000",
    ),
    # From fifth street on
    "small bet on fifth street": Kind(
        fifth(), "1 bet 500", "bet to 500", "from fifth street on wagers are by 1000", ("P27", "W16"),
        "fold, check, bet to 1000",
    ),
    "bet on a bet": Kind(
        fifth("1 bet 1000"), "2 bet 2000", "bet to 2000", "to put in more here is to raise", ("P53", "B.16"),
        "fold, call 1000, raise to 2000",
    ),
    "bet of more than he has": Kind(
        fifth(behind={1: 700}), "1 bet 1000", "bet to 1000", NO_CHIPS, ("B.19", "B.19"),
        "fold, check, bet to 700 all-in",
    ),
    "nothing left for a raise": Kind(
        fifth("1 bet 1000", behind={2: 700}), "2 raise 2000", "raise to 2000", NO_CHIPS, ("B.19", "B.19"),
        "fold, call 700 all-in",
    ),
    "raise of an all-in for less": Kind(
        LESS, "2 raise 1000", "raise to 1000", "to put in more here is to complete", ("B.8", "B.8"), LESS_LEGAL
    ),
    "all-in for less completed to more": Kind(
        LESS, "2 complete 1400", "complete to 1400", "an all-in for less is completed to 1000", ("B.8", "B.8"),
        LESS_LEGAL,
    ),
    "all-in for less that either size completes with the same last chips": Kind(
        fourth("1 bet 60 low", behind={1: 60, 2: 73}), "2 complete 70 low", "complete to 70 (small)",
        "an all-in for less is completed to 73", ("B.8", "B.8"),
        "fold, call 60, complete to 73 (small) all-in, complete to 73 (big) all-in",
    ),
    "not reopened": Kind(
        fifth("1 bet 1000", "2 raise 1300", "3 call 1300", behind={2: 1300}), "1 raise 2300", "raise to 2300",
        "the all-in for less did not reopen the betting to those who have acted", ("B.8", "B.8"), "fold, call 300",
    ),
    "nobody could answer": Kind(
        fifth("1 bet 1000", behind={1: 1000, 3: 0}), "2 raise 2000", "raise to 2000", "no opponent could put in more",
        ("B.6", "B.6"), "fold, call 1000",
    ),
}  # fmt: skip


def refused(kind: Kind, rules: Ruleset) -> Rejection:
    table = kind.position(rules)
    return table.reject(table.parse(kind.action))


@both
@pytest.mark.parametrize("name", KINDS)
def test_an_illegal_action_is_explained(rules: Ruleset, name: str):
    kind = KINDS[name]
    refusal = refused(kind, rules)
    rule = kind.rules[0 if rules is PLAYNOW else 1]
    text = f"{kind.asked} is not allowed: {kind.why} ({rule}); legal: {kind.legal}"
    assert refusal.text == text.format(bring_in=bring_in(rules))
    assert (refusal.reason, refusal.rule) == (Reason.ILLEGAL_ACTION, rule)
    assert refusal.legal


def pieces(node: ast.AST) -> Iterator[str]:
    """The fixed parts of the sentences that the functions named ``_why…`` return."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value.strip():
            yield part.value


def test_every_sentence_is_among_the_kinds():
    module = syntax_tree(Path(explain.__file__).read_text())
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name.startswith("_why")]
    said = {
        piece
        for function in functions
        for statement in function.body[1 if ast.get_docstring(function) else 0 :]
        for piece in pieces(statement)
    }
    assert len(said) > 15
    told = [kind.why for kind in KINDS.values()]
    assert {piece for piece in said if not any(piece in why for why in told)} == set()

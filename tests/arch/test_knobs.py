"""A field of the ruleset stands in every place that a knob needs; whoever forgets one is told which.

Read from the sources alone, so that it can say so of a knob that is only half there and imports nowhere.
docs/extending.md has the places with their reasons.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from tests.arch.repository import ROOT
from tools.sources import syntax_tree

PROTO = "protos/stud/common/v1/ruleset.proto"
FIELDS = "libs/stud_core/ruleset.py"
RANGES = "libs/stud_core/validate.py"
PRESETS = "libs/stud_core/presets.py"
PAGE = "libs/stud_core/house_rules"
REFEREE = "services/rules_service/second_opinion"
DRAWN = "tests/property/strategies.py"
BOUNDS = "tests/unit/core/test_config.py"
SPOKEN = "tests/unit/core/test_house_rules.py"

NOT_PLAYED = {
    "show_connection": "it is seen, and nothing is played by it",
}
NOT_SAID = {"river_shortage": "the page asks `river_plan`, as the game does, and tells what comes of it"}
NOT_JUDGED = {
    "name": "decides nothing",
    "show_clock_ms": "hiding a hand in time moves no chip",
    "pre_fold_is_literal": "a fold that was chosen ahead is a fold",
    "pre_check_call_any": "a check or call that was chosen ahead is a check or call",
    "auto_post_default": "what a player has switched on is an event",
    "muck_losing_default": "what a player has switched on is an event",
    **dict.fromkeys(("waiting_list", "offer_ms"), "who waits for a seat has no chips at the table"),
    **dict.fromkeys(
        ("min_buy_in", "max_buy_in", "top_up", "rathole_ms"), "chips come from the wallet, which has moved them"
    ),
}
"""Knobs that a hand is not judged by, and why the referee's second opinion need not know them."""


@cache
def source(place: str) -> str:
    """The text of a file, or of all files of a folder."""
    path = ROOT / place
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return "\n".join(file.read_text() for file in files)


@cache
def in_contract() -> dict[str, str]:
    """Fields of the message and their types."""
    message = re.search(r"^message Ruleset \{\n(.*?)^\}", source(PROTO), re.MULTILINE | re.DOTALL)
    assert message is not None
    return {name: kind for kind, name in re.findall(r"^  (?:optional )?(\w+) (\w+) = \d+;", message[1], re.MULTILINE)}


@cache
def in_core() -> list[str]:
    (found,) = [n for n in syntax_tree(source(FIELDS)).body if isinstance(n, ast.ClassDef) and n.name == "Ruleset"]
    return [n.target.id for n in found.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]


KNOBS = list(dict.fromkeys([*in_contract(), *in_core()]))


def is_number(knob: str) -> bool:
    """Whether it has a least and a greatest value: no choice, no yes or no."""
    return in_contract().get(knob, "int32") in {"int32", "int64", "string", "BuyInLimit"}


def given(place: str, function: str) -> list[set[str]]:
    """The arguments by name of each call of a function, or the first ones by themselves where it names it."""
    calls = [node for node in ast.walk(syntax_tree(source(place))) if isinstance(node, ast.Call)]
    return [
        {str(word.arg) for word in call.keywords}
        for call in calls
        if "Ruleset" in {ast.unparse(call.func), *map(ast.unparse, call.args[:1])}
        and function in ast.unparse(call.func)
    ]


def keys_of(place: str, name: str) -> set[str]:
    """The keys of a table that a module binds to a name."""
    for node in syntax_tree(source(place)).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and isinstance(node.value, ast.Dict):
            return {
                key.value for key in node.value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
    raise LookupError(f"{place} binds no table to {name}")


def reads(knob: str, text: str) -> bool:
    return re.search(rf"\.{knob}\b", text) is not None


def rules() -> Iterable[Path]:
    """Files of the core that play: not those that only list, describe or check the knobs."""
    apart = {ROOT / place for place in (FIELDS, RANGES, PRESETS)}
    return [p for p in (ROOT / "libs/stud_core").rglob("*.py") if p not in apart and "house_rules" not in p.parts]


PLACES: dict[str, Callable[[str], bool]] = {
    f"{PROTO}: message Ruleset has no field for it": lambda knob: knob in in_contract(),
    f"{FIELDS}: Ruleset has no field for it": lambda knob: knob in in_core(),
    f"{RANGES}: RANGES has no least and greatest value": lambda k: not is_number(k) or k in keys_of(RANGES, "RANGES"),
    f"{PRESETS}: a preset does not give it": lambda knob: all(knob in words for words in given(PRESETS, "Ruleset")),
    "libs/stud_core: no rule reads it (gate.py, decide/, betting.py, showdown.py ...)": lambda knob: (
        knob in NOT_PLAYED or any(reads(knob, source(str(path.relative_to(ROOT)))) for path in rules())
    ),
    f"{PAGE}: no sentence of the house rules depends on it": lambda k: k in NOT_SAID or reads(k, source(PAGE)),
    f"{REFEREE}: judges without it, and NOT_JUDGED in {Path(__file__).name} does not say why": lambda knob: (
        knob in NOT_PLAYED.keys() | NOT_JUDGED.keys() or reads(knob, source(REFEREE))
    ),
    f"{DRAWN}: DRAWN plays without it": lambda knob: all(knob in words for words in given(DRAWN, "builds")),
    f"{BOUNDS}: its bounds are not tried": lambda k: not is_number(k) or f'mark.knob("{k}", ' in source(BOUNDS),
    f"{SPOKEN}: VALUES has none for the page": lambda knob: (
        not is_number(knob) or knob in NOT_PLAYED or knob in keys_of(SPOKEN, "VALUES")
    ),
}
"""What is missing, in the words in which it is told, and how a knob shows that it is not."""


@pytest.mark.parametrize("knob", KNOBS)
def test_a_knob_is_in_every_place(knob: str):
    missing = [f"{knob}: {place}" for place, has in PLACES.items() if not has(knob)]
    assert not missing, "\n".join(["", *missing, "docs/extending.md has the whole list"])


def test_a_knob_that_is_nowhere_misses_every_place():
    assert [place for place, has in PLACES.items() if has("no_such_knob")] == []


def test_exceptions_are_knobs():
    assert {*NOT_PLAYED, *NOT_SAID, *NOT_JUDGED} <= set(KNOBS)
    assert [knob for knob in NOT_JUDGED if reads(knob, source(REFEREE))] == []

"""An event of a table, and the command that leads to it, stand in every place that they need; whoever forgets one is
told which.

Read from the sources alone, so that it can say so of an event that is only half there. docs/extending.md has the
places with their reasons.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest

from tests.arch.repository import ROOT
from tools.sources import syntax_tree

MESSAGES = "protos/stud/events/v1/table_events.proto"
BODIES = "protos/stud/events/v1/commit.proto"
EVENTS = "libs/stud_core/events.py"
COMMANDS = "libs/stud_core/commands.py"
CAUSES = "services/rules_service/causes.py"
PUBLIC = "services/table_service/public_events.py"
LINES = "services/table_service/commits.py"
WORDS = "libs/stud_replay/words"
HERE = "tests/arch/test_events.py"

NEVER_FIRST = {
    "CashOutRequested", "HandStarted", "DealRequested", "TurnStarted", "UncalledReturned", "ShowPrompted",
    "PotAwarded", "HandEnded", "TableClosed",
}  # fmt: skip
"""Events that others bring about in the same commit: the command is told by the first one."""

NOT_IN_LINE = {
    "TopUpRequested", "TopUpPending", "TopUpRefused", "ChipsAdded", "SatOut", "SatIn", "PreferencesSet",
    "LeaveRequested", "DeckReady", "AntesOpened", "AntePosted", "AnteMissed", "AntesReturned", "DealRequested",
    "CardsDealt", "TurnStarted", "ClockRestarted", "ClockExtended", "ActionTaken", "UncalledReturned", "ShowPrompted",
    "HandShown", "SeatOffered",
    "HandMucked", "PotAwarded", "HandEnded", "HandVoided", "TableHandVerified",
}  # fmt: skip
"""Events that change nothing of a table's line in the lobby."""

NOT_JUDGED = {
    "TopUpRequested", "TopUpRefused", "PlayerLeft", "CashOutHeld", "DeckReady", "TablePaused", "TableResumed",
    "TableDraining", "TableClosing", "TableClosed", "WaitingJoined", "WaitingLeft", "SeatOffered",
}  # fmt: skip
"""Events that no hand's money depends on: the referee's second opinion need not know them."""

OF_THE_HOUSE = {
    "PreferencesSet", "TopUpRequested", "TopUpRefused", "CashOutHeld", "PlayerLeft",
}  # fmt: skip
"""Events that only the player and the house are told."""


class Event(NamedTuple):
    name: str

    @property
    def body(self) -> str:
        """As the contract's oneof calls it."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.name).lower()


@cache
def source(place: str) -> str:
    """The text of a file, or of all files of a folder."""
    path = ROOT / place
    return "\n".join([file.read_text() for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])])


@cache
def union(place: str, name: str) -> set[str]:
    """The classes that a module joins under a name."""
    (joined,) = [
        node.value
        for node in syntax_tree(source(place)).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return {node.id for node in ast.walk(joined) if isinstance(node, ast.Name)}


@cache
def classes(place: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in syntax_tree(source(place)).body if isinstance(node, ast.ClassDef)}


def of_class(place: str, base: str) -> list[str]:
    return [name for name, node in classes(place).items() if base in map(ast.unparse, node.bases)]


@cache
def named_in(place: str, name: str) -> set[str]:
    """What a tuple that a module binds to a name holds."""
    for node in syntax_tree(source(place)).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return {found.attr for found in ast.walk(node.value) if isinstance(found, ast.Attribute)}
    raise LookupError(f"{place} binds nothing to {name}")


def bodies() -> list[str]:
    return re.findall(r"// From a table log\.\n    (\w+) \w+ = \d+;", source(BODIES))


NAMES = list(dict.fromkeys([*bodies(), *sorted(union(EVENTS, "Event"))]))


def has(pattern: str, place: str) -> bool:
    return re.search(pattern, source(place), re.MULTILINE) is not None


PLACES: dict[str, Callable[[Event], bool]] = {
    f"{MESSAGES}: has no message for it": lambda e: has(rf"^message {e.name} \{{", MESSAGES),
    f"{BODIES}: no commit can hold it": lambda e: has(rf"^    {e.name} {e.body} = \d+;", BODIES),
    f"{EVENTS}: has no class for it": lambda e: e.name in classes(EVENTS),
    f"{EVENTS}: Event is made without it": lambda e: e.name in union(EVENTS, "Event"),
    "libs/stud_core/decide: nothing leads to it": lambda e: has(rf"\bev\.{e.name}\b", "libs/stud_core/decide"),
    "libs/stud_core/evolve: APPLY does not fold it": lambda e: has(rf"^    ev\.{e.name}: ", "libs/stud_core/evolve"),
    f"{CAUSES}: names no command for it, and NEVER_FIRST in {HERE} does not say that it needs none": lambda e: (
        e.name in NEVER_FIRST or has(rf"^    ev\.{e.name}: ", CAUSES)
    ),
    f"services/rules_service/second_opinion: does not know it, nor NOT_JUDGED in {HERE}": lambda e: (
        e.name in NOT_JUDGED or has(rf"\bev\.{e.name}\b", "services/rules_service/second_opinion")
    ),
    f"{PUBLIC}: says nobody what of it is public, nor OF_THE_HOUSE in {HERE} that nothing is": lambda e: (
        e.name in OF_THE_HOUSE or has(rf'^    "{e.body}": ', PUBLIC)
    ),
    f"{LINES}: LOBBY lacks it, and NOT_IN_LINE in {HERE} does not say that its line stays": lambda e: (
        e.name in NOT_IN_LINE or e.name in named_in(LINES, "LOBBY")
    ),
    f"{WORDS}: has no sentence for it": lambda e: has(rf"^    ev\.{e.name}: ", WORDS),
    "tests/unit: no test sees it": lambda e: has(rf'\bev\.{e.name}\b|"{e.name}"', "tests/unit"),
}
"""What is missing, in the words in which it is told, and how an event shows that it is not."""


@pytest.mark.parametrize("name", NAMES)
def test_an_event_is_in_every_place(name: str):
    missing = [f"{name}: {place}" for place, is_there in PLACES.items() if not is_there(Event(name))]
    assert not missing, "\n".join(["", *missing, "docs/extending.md has the whole list"])


def test_an_event_that_is_nowhere_misses_every_place():
    assert [place for place, is_there in PLACES.items() if is_there(Event("TableBurnt"))] == []
    assert len(NAMES) > 40


def test_exceptions_are_events():
    for apart in (NEVER_FIRST, NOT_IN_LINE, NOT_JUDGED, OF_THE_HOUSE):
        assert apart <= set(NAMES)
    assert not NOT_IN_LINE & named_in(LINES, "LOBBY")


NO_INTEREST = {"OpenTable": "nobody sits at a table that is not there yet"}
NOT_AT_RANDOM = {"RecordSettlement": "random tables have no ledger that could block one"}


def takes_an_operator(command: str) -> bool:
    return command in classes(COMMANDS) and "operator: str" in ast.unparse(classes(COMMANDS)[command])


def decided() -> list[str]:
    """The commands for which there is a function that decides them."""
    return re.findall(r"^    cmd\.(\w+): ", source("libs/stud_core/decide/__init__.py"), re.MULTILINE)


OF_COMMANDS: dict[str, Callable[[str], bool]] = {
    f"{COMMANDS}: has no class for it": lambda name: name in classes(COMMANDS),
    f"{COMMANDS}: Command is made without it": lambda name: name in union(COMMANDS, "Command"),
    "libs/stud_core/decide/__init__.py: nothing decides it": lambda name: name in decided(),
    "libs/stud_core/interest.py: an operator may do it where they have an interest": lambda name: (
        name in NO_INTEREST
        or not takes_an_operator(name)
        or name in named_in("libs/stud_core/interest.py", "_ABOUT_A_TABLE")
    ),
    "tests/property/moves.py: random play never tries it": lambda name: (
        name in NOT_AT_RANDOM or has(rf"\b{name}\(", "tests/property")
    ),
}


@pytest.mark.parametrize("name", sorted({*of_class(COMMANDS, "C"), *union(COMMANDS, "Command"), *decided()}))
def test_a_command_is_in_every_place(name: str):
    missing = [f"{name}: {place}" for place, is_there in OF_COMMANDS.items() if not is_there(name)]
    assert not missing, "\n".join(["", *missing, "docs/extending.md has the whole list"])

"""A call of the contract stands in every place that it needs; whoever forgets one is told which.

Read from the sources alone: a call without a handler imports well, and is answered UNIMPLEMENTED. docs/extending.md has
the places with their reasons.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.arch.repository import ROOT, documents, is_generated, relative, tracked_files
from tools.sources import syntax_tree

HERE = relative(Path(__file__))
MATRIX = "tests/unit/test_own_interest.py"
AUTHORISATION = "tests/component/test_authorisation.py"
ANYBODY = "Any role"
ROLES = re.compile(rf"{ANYBODY}|\b(?:[Pp]layers|[Oo]perators|[Cc]ashiers|[Aa]uditors)\b")


class Call(NamedTuple):
    service: str
    name: str
    comment: str

    @property
    def contract(self) -> str:
        return f"protos/stud/{self.service}/v1/{self.service}_service.proto"

    @property
    def servicer(self) -> str:
        return f"services/{self.service}_service/servicer.py"


def calls() -> Iterator[Call]:
    for path in sorted((ROOT / "protos").rglob("*_service.proto")):
        for comment, name in re.findall(r"((?:  //.*\n)*)  rpc (\w+)\(", path.read_text()):
            yield Call(path.name.removesuffix("_service.proto"), name, re.sub(r"\n\s*//", "", comment))


CALLS = list(calls())


@cache
def functions(servicer: str) -> dict[str, ast.AsyncFunctionDef | ast.FunctionDef]:
    """The functions of a servicer's file; none where there is no such file."""
    path = ROOT / servicer
    tree = syntax_tree(path.read_text() if path.exists() else "")
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)}


def called_in(node: ast.AST) -> set[str]:
    return {ast.unparse(found.func) for found in ast.walk(node) if isinstance(found, ast.Call)}


def asks_for_a_role(call: Call) -> bool:
    """Whether its handler does, or a function that it hands over to."""
    known = functions(call.servicer)
    if call.name not in known:
        return False
    names = called_in(known[call.name])
    inner = [known[name.removeprefix("self.")] for name in names if name.removeprefix("self.") in known]
    return any("require" in found for found in (names, *map(called_in, inner)))


@cache
def told() -> str:
    """What front ends, operators and debuggers are told; recipes for calls that do not exist are not."""
    return "\n".join([page.read_text() for page in documents() if page.name not in {"extending.md", "CHANGELOG.md"}])


@cache
def tried() -> str:
    files = [path for path in tracked_files() if path.suffix == ".py" and relative(path).startswith("tests/")]
    return "\n".join([path.read_text() for path in files if relative(path) not in {MATRIX, AUTHORISATION, HERE}])


@cache
def product() -> str:
    """What vulture looks at."""
    files = [path for path in tracked_files() if path.suffix == ".py" and not is_generated(path)]
    folders = ("libs/", "services/", "tools/", "benches/")
    return "\n".join([path.read_text() for path in files if relative(path).startswith(folders)])


PLACES: dict[str, Callable[[Call], bool]] = {
    "{contract}: its comment does not say who may call it": lambda call: ROLES.search(call.comment) is not None,
    "{servicer}: has no handler": lambda call: call.name in functions(call.servicer),
    "{servicer}: asks for no role": lambda call: ANYBODY in call.comment or asks_for_a_role(call),
    MATRIX + ": does not say whom its caller may decide about": lambda call: (
        re.search(rf'"{call.name}\b', (ROOT / MATRIX).read_text()) is not None
    ),
    AUTHORISATION + ": has no row that says who may call it": lambda call: (
        f'"{call.service.capitalize()}Service.{call.name}": Row(' in (ROOT / AUTHORISATION).read_text()
    ),
    "tools/not_dead.py: has no line for what is called by name alone": lambda call: (
        re.search(rf"\.{call.name}\b", product()) is not None
    ),
    "docs (front-end.md, operators.md): nobody is told of it": lambda call: (
        re.search(rf"\b{call.name}\b", told()) is not None
    ),
    "tests: nobody calls it": lambda call: re.search(rf'[."]{call.name}(?:Request)?\b', tried()) is not None,
}
"""What is missing, in the words in which it is told, and how a call shows that it is not."""


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_a_call_is_in_every_place(call: Call):
    words = {"contract": call.contract, "servicer": call.servicer}
    missing = [f"{call.name}: {place.format(**words)}" for place, has in PLACES.items() if not has(call)]
    assert not missing, "\n".join(["", *missing, "docs/extending.md has the whole list"])


@pytest.mark.parametrize("servicer", sorted({call.servicer for call in CALLS}))
def test_a_handler_is_in_the_contract(servicer: str):
    named = {call.name for call in CALLS if call.servicer == servicer}
    unknown = sorted(name for name in functions(servicer) if name[0].isupper() and name not in named)
    contract = next(call.contract for call in CALLS if call.servicer == servicer)
    assert not unknown, f"{contract}: has no rpc {', '.join(unknown)}"


def test_a_call_that_is_nowhere_misses_every_place():
    made_up = Call("table", "Juggle", "  // Juggles.")
    assert [place for place, has in PLACES.items() if has(made_up)] == []
    assert len(CALLS) > 40

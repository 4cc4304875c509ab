"""The operators' pages: every command has its section with the call behind it, and what is printed can be typed."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from stud_cli.main import app
from tests.arch.repository import ROOT, shell_lines
from tests.unit.cli.test_commands import COMMANDS

REFERENCE = ROOT / "docs/operators-reference.md"
PAGES = (REFERENCE, ROOT / "docs/operators.md", ROOT / "docs/runbook.md")
GROUPS = ("table", "hand", "cashout", "account")
PLACEHOLDERS = {"HAND": "1", "SITTING": "1", "AMOUNT": "1", "SERVICE": "wallet"}


def operators_commands() -> list[str]:
    return [name for name in COMMANDS if name.split()[0] in {*GROUPS, "proposals", "tables"}]


def sections() -> dict[str, str]:
    """What stands under the heading of each command."""
    parts = re.split(r"^### `stud ([a-z ]+)`\n", REFERENCE.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_command_of_operators_has_its_section():
    assert sorted(sections()) == sorted(operators_commands())


@pytest.mark.parametrize("name", sections())
def test_a_section_has_the_command_and_the_call_behind_it(name: str):
    text = sections()[name]
    assert re.search(rf"^stud {name}\b", text, re.MULTILINE)
    assert re.search(r"^grpcurl .* stud\.\w+\.v1\.\w+/\w+$", text, re.MULTILINE)
    assert re.match(r"\nFor: (any role|operator|cashier|auditor)", text)


def typed() -> list[str]:
    """Commands of the pages, as words behind `stud`."""
    lines = [line for page in PAGES for line in shell_lines(page)]
    return sorted({line for line in lines if re.match(r"(\.venv/bin/)?stud ", line)})


@pytest.mark.parametrize("line", typed())
def test_what_is_printed_can_be_typed(line: str):
    words = shlex.split(line.partition(">")[0].partition("|")[0])[1:]
    words = [PLACEHOLDERS.get(word, word) for word in words]
    words = [re.sub(r"=(-?)AMOUNT", r"=\g<1>1", word) for word in words]
    command: Any = typer.main.get_command(app)
    name = "stud"
    while getattr(command, "commands", None):
        if not words or words[0].startswith("-"):
            return
        name, *words = words
        command = command.commands[name]
    command.make_context(name, words, parent=None)

"""What the documents tell people to type exists."""

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tests.arch.repository import ROOT, documents, make_targets, relative, shell_lines

COMMANDS = [(relative(d), line) for d in documents() for line in shell_lines(d)]


def words_after(program: str, line: str) -> list[list[str]]:
    """The words behind each call of a program in a line of shell, up to the next pipe or `;`."""
    calls: list[list[str]] = []
    for part in re.split(r"\|\||&&|[|;&]", line):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words = words[1:]
        if words and Path(words[0]).name == program:
            calls.append(words[1:])
    return calls


def missing_subcommand(words: list[str]) -> str | None:
    """The first word that names no subcommand, following groups such as `stud dead list`."""
    from stud_cli.main import app

    command: Any = typer.main.get_command(app)
    for word in words:
        subcommands = getattr(command, "commands", None)
        if subcommands is None or word.startswith("-"):
            return None
        if word not in subcommands:
            return word
        command = subcommands[word]
    return None


def test_the_readme_shows_commands():
    assert [line for document, line in COMMANDS if document == "README.md"] != []


def test_every_make_target_in_the_documents_exists():
    unknown = [
        (document, line)
        for document, line in COMMANDS
        for words in words_after("make", line)
        for word in words
        if re.fullmatch(r"[a-z-]+", word) and word not in make_targets()
    ]
    assert unknown == []


def test_every_stud_subcommand_in_the_documents_exists():
    calls = [(d, line, words) for d, line in COMMANDS for words in words_after("stud", line)]
    assert [(d, line) for d, line, words in calls if missing_subcommand(words)] == []


def test_every_script_and_module_in_the_documents_exists():
    missing: list[tuple[str, str]] = []
    for document, line in COMMANDS:
        words = line.split()
        for word, following in zip(words, [*words[1:], ""], strict=True):
            is_repository_file = re.fullmatch(r"(?:tools|tests|docs|deploy|protos)/[\w./-]+", word)
            if is_repository_file and not (ROOT / word).exists():
                missing.append((document, word))
            if word == "-m" and importlib.util.find_spec(following.split(".")[0]) is None:
                missing.append((document, following))
    assert missing == []


@pytest.mark.parametrize("target", ["setup", "check", "test", "demo", "up", "fmt", "lock", "proto", "bench"])
def test_the_makefile_has_the_targets_people_rely_on(target: str):
    assert target in make_targets()


def test_links_between_documents_lead_somewhere():
    links = [(d, link) for d in documents() for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", d.read_text())]
    assert [(relative(d), link) for d, link in links if "://" not in link and not (d.parent / link).exists()] == []

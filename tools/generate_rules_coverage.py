"""Writes docs/rules-coverage.md: house-page statement, knob, tests. `--check` only compares.

Tests name what they show by the markers `rules` and `knob`; they are read from the source, nothing is run. It fails
when a statement or a value of a knob has no test, and when a marker or a statement names what does not exist.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from stud_core import ruleset as core
from stud_core.ruleset import Ruleset, TableConfig
from stud_core.validate import RANGES
from tools.pages import ROOT, write_or_check
from tools.sources import syntax_tree

STATEMENTS = ROOT / "tests/vectors/statements.tsv"
TARGET = ROOT / "docs/rules-coverage.md"
PAGES = {"PlayNow": [f"P{n}" for n in range(1, 66)], "William Hill": [f"W{n}" for n in range(1, 30)]}
KINDS = get_type_hints(Ruleset)
HEAD = """# The house pages and their tests

Every statement of the two pages of house rules, the knobs of a ruleset or the parameters of a table that decide it,
and the tests that show it; then every knob with its values. This page is made from `tests/vectors/statements.tsv` and
from the markers `rules` and `knob` on the tests. `make check` fails when a statement or a value has no test. What the
pages leave open, cited as `B.n`, is in [rules-gaps.md](rules-gaps.md).
"""


class Statement(NamedTuple):
    """One statement in our words, and the fields that decide it (none: it holds at every table)."""

    fields: tuple[str, ...]
    text: str


class Mark(NamedTuple):
    """What a test says it shows: statements, or values of a knob."""

    kind: str
    values: tuple[Any, ...]
    file: Path
    test: str


class Unreadable(ValueError):
    """A marker that is not written out, or does not stand on a test."""


def statements(path: Path = STATEMENTS) -> dict[str, Statement]:
    """Return the statements in the order of the pages."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return {
        key: Statement(tuple([f.strip() for f in fields.split(",") if f.strip()]), text) for key, fields, text in rows
    }


# --- what the tests say ------------------------------------------------------


def marks(files: Iterable[Path]) -> list[Mark]:
    """Return every marker of these files, in order."""
    return [mark for file in sorted(files) for mark in _marks_of(file)]


def _marks_of(file: Path) -> Iterator[Mark]:
    source = file.read_text()
    if "mark.rules(" not in source and "mark.knob(" not in source:
        return
    module = syntax_tree(source)
    found = 0
    for test in module.body:
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test_"):
            for decorator in test.decorator_list:
                for call in _marker_calls(decorator):
                    found += 1
                    values = tuple([_value(argument, file) for argument in call.args])
                    yield Mark(_kind(call), values, file, test.name)
    if found != len(list(_marker_calls(module))):
        raise Unreadable(f"{file.name}: a marker stands elsewhere than on a test function")


def _marker_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _kind(node):
            yield node


def _kind(call: ast.Call) -> str:
    return {"pytest.mark.rules": "rules", "pytest.mark.knob": "knob"}.get(ast.unparse(call.func), "")


def _value(node: ast.expr, file: Path) -> Any:
    """A literal, or a member of an enum of the ruleset such as ``OpenPair.OFF``."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        member = getattr(getattr(core, node.value.id, None), node.attr, None)
        if isinstance(member, IntEnum):
            return member
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise Unreadable(f"{file.name}: {ast.unparse(node)} is no value of a ruleset") from None


# --- what must be there ------------------------------------------------------


def values_of(knob: str) -> list[Any]:
    """Every value of an enum or bool; of a number both ends and what is just outside; None where it may be absent."""
    kind = KINDS[knob]
    if kind is bool:
        return [False, True]
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return list(kind)
    least, most = RANGES[knob]
    return [*dict.fromkeys((least - 1, least, most, most + 1)), *[None] * (type(None) in get_args(kind))]


def problems(said: dict[str, Statement], marked: list[Mark]) -> list[str]:
    """Return everything that is missing or made up; empty when the page is complete."""
    return [*_statement_problems(said, marked), *_knob_problems(marked)]


def _statement_problems(said: dict[str, Statement], marked: list[Mark]) -> Iterator[str]:
    known = [key for keys in PAGES.values() for key in keys]
    if list(said) != known:
        yield f"the statements are P1 to P65 and W1 to W29, in this order; differing: {sorted(set(said) ^ set(known))}"
    fields = {*Ruleset.__struct_fields__, *TableConfig.__struct_fields__}
    for key, statement in said.items():
        for field in statement.fields:
            if field not in fields:
                yield f"{key}: there is no knob or table parameter {field}"
    shown: set[str] = set()
    for mark in marked:
        if mark.kind == "rules":
            shown.update(mark.values)
            for key in mark.values:
                if key not in said:
                    yield f"{mark.file.name}::{mark.test}: there is no statement {key}"
    for key, statement in said.items():
        if key not in shown:
            yield f"{key} has no test: {statement.text}"


def _knob_problems(marked: list[Mark]) -> Iterator[str]:
    shown: set[tuple[str, str]] = set()
    for mark in marked:
        if mark.kind == "knob":
            knob, *values = mark.values
            if knob not in Ruleset.__struct_fields__:
                yield f"{mark.file.name}::{mark.test}: there is no knob {knob}"
                continue
            for value in values:
                shown.add((knob, spoken(value)))
                if not _is_value(knob, value):
                    yield f"{mark.file.name}::{mark.test}: {knob} is never {spoken(value)}"
    for knob in Ruleset.__struct_fields__:
        for value in values_of(knob):
            if (knob, spoken(value)) not in shown:
                yield f"{knob} = {spoken(value)} has no test"


def _is_value(knob: str, value: Any) -> bool:
    """Whether the marker's value is of the knob's kind; numbers between the ends are welcome too."""
    kind = KINDS[knob]
    if kind is bool or (isinstance(kind, type) and issubclass(kind, IntEnum)):
        return type(value) is kind
    return type(value) is int or (value is None and type(None) in get_args(kind))


# --- the page ----------------------------------------------------------------


def spoken(value: Any) -> str:
    """A value as the page shows it."""
    if isinstance(value, IntEnum):
        return value.name
    return "absent" if value is None else str(value).lower()


def _links(found: list[Mark]) -> str:
    """The tests, each once, as links to their files."""
    tests = dict.fromkeys((mark.file, mark.test) for mark in found)
    return ", ".join([f"[`{test}`](../{file.relative_to(ROOT).as_posix()})" for file, test in tests])


def page(said: dict[str, Statement], marked: list[Mark]) -> str:
    """Return the page."""
    lines = [HEAD]
    for title, keys in PAGES.items():
        lines += [f"## {title}", "", "| | statement | decided by | tests |", "|---|---|---|---|"]
        for key in keys:
            by = ", ".join([f"`{field}`" for field in said[key].fields]) or "every table"
            tests = _links([mark for mark in marked if mark.kind == "rules" and key in mark.values])
            lines.append(f"| {key} | {said[key].text} | {by} | {tests} |")
        lines.append("")
    lines += ["## Knobs", "", "Numbers are tried at both ends, and refused just outside.", ""]
    lines += ["| knob | value | tests |", "|---|---|---|"]
    for knob in Ruleset.__struct_fields__:
        of_knob = [mark for mark in marked if mark.kind == "knob" and mark.values[0] == knob]
        by_tests: dict[str, list[str]] = {}
        for value in _all_values(knob, of_knob):
            shown = spoken(value)
            tests = _links([mark for mark in of_knob if shown in map(spoken, mark.values[1:])])
            by_tests.setdefault(tests, []).append(shown + " refused" * _is_refused(knob, value))
        lines += [f"| `{knob}` | {', '.join(values)} | {tests} |" for tests, values in by_tests.items()]
    return "\n".join(lines) + "\n"


def _is_refused(knob: str, value: Any) -> bool:
    least, most = RANGES.get(knob, (0, 0))
    return type(value) is int and not least <= value <= most


def _all_values(knob: str, marked: list[Mark]) -> list[Any]:
    """The values that must be there, and for a number those that tests name besides, in order."""
    must = values_of(knob)
    more = [value for mark in marked for value in mark.values[1:]]
    numbers = {value for value in [*must, *more] if type(value) is int}
    return [*sorted(numbers), *[value for value in must if type(value) is not int]]


def main() -> int:
    """Write the page, or with --check exit with 1 when it is stale; nothing is written while something is missing."""
    said, marked = statements(), marks((ROOT / "tests").rglob("test_*.py"))
    wrong = problems(said, marked)
    if wrong:
        sys.stderr.write("\n".join(wrong) + "\n")
        return 1
    return write_or_check(TARGET, lambda: page(said, marked))


if __name__ == "__main__":
    sys.exit(main())

"""Every ``B.n`` that a refusal or the code cites is explained to who reads it, and nothing else is."""

from __future__ import annotations

import re

from stud_core.ruleset import Ruleset
from tests.arch.repository import ROOT, is_generated, relative, text_of, tracked_files

PAGE = ROOT / "docs/rules-gaps.md"
CITED = re.compile(r"\bB\.(\d+)\b")
ROW = re.compile(r"^\| B\.(\d+) \| ([^|]+) \| ([^|]+) \| ([^|]*) ?\|$", re.MULTILINE)


def cited() -> set[int]:
    """What code says: a refusal's rule as much as a comment."""
    sources = [f for f in tracked_files() if f.suffix == ".py" and relative(f).startswith(("libs/", "services/"))]
    return {int(n) for f in sources if not is_generated(f) for n in CITED.findall(text_of(f) or "")}


def test_what_is_cited_is_explained_and_nothing_else():
    explained = [int(number) for number, *_ in ROW.findall(PAGE.read_text())]
    assert explained == sorted(cited())


def test_a_citation_in_a_test_is_explained_too():
    tests = [f for f in tracked_files() if f.suffix == ".py" and relative(f).startswith("tests/")]
    assert {int(n) for f in tests for n in CITED.findall(text_of(f) or "")} <= cited()


def test_what_turns_a_reading_is_a_field_of_the_ruleset():
    fields = [name for *_, turned in ROW.findall(PAGE.read_text()) for name in re.findall(r"`(\w+)`", turned)]
    assert "open_pair" in fields
    assert set(fields) <= set(Ruleset.__struct_fields__)


def test_readers_find_the_page():
    for document in ("README.md", "docs/front-end.md", "docs/rules-coverage.md"):
        assert "rules-gaps.md)" in (ROOT / document).read_text(), document

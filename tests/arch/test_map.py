"""The pages that explain the code tell the truth about it: sections that are cited, symbols, stops, pictures, keys.

Each check is shown to fail on a copy that was spoiled in one place.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from stud_eventlog import keys
from tests.arch import map_checks as checks
from tests.arch.map_checks import MAP
from tests.arch.repository import ROOT, documents, relative, text_of

PAGES = ["architecture.md", "one-bet.md", "one-chip.md", "glossary.md", "debugging.md"]
STOPS = {"one-bet.md": 10, "one-chip.md": 10}
THE_MAP = (ROOT / MAP).read_text()
SECTIONS = checks.sections(THE_MAP)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def spoiled(text: str, old: str, new: str) -> str:
    assert old in text, f"nothing to spoil: {old!r}"
    return text.replace(old, new, 1)


# --- sections and who cites them --------------------------------------------------------------------------------------


def test_every_section_that_a_comment_cites_exists():
    found = {
        relative(path): problems
        for path in checks.citing_files()
        if (problems := checks.citation_problems(text_of(path) or "", SECTIONS))
    }
    assert found == {}


def test_comments_do_cite_the_map():
    citing = [path for path in checks.citing_files() if any(checks.cited(text_of(path) or ""))]
    assert len(citing) > 30
    assert len(SECTIONS) == len(set(SECTIONS)), "a name that stands twice leads nowhere"


def test_every_section_that_a_page_cites_or_links_to_exists():
    for path in documents():
        text = path.read_text()
        problems = checks.citation_problems(text, SECTIONS)
        assert [problem for problem in problems if problem != checks.NO_SECTION] == [], relative(path)
        anchors = set(re.findall(r"architecture\.md#([\w-]+)", text))
        assert anchors <= checks.slugs(THE_MAP), relative(path)


@pytest.mark.parametrize(
    ("comment", "problems"),
    [
        ('(B.21; architecture.md, "Leaving")', []),
        ('(architecture.md, R4 and "A dispute")', []),
        ('# see architecture.md, "The end of\n    # a hand"', []),
        ('(architecture.md, "Going")', ["no section 'Going'"]),
        ('(architecture.md, "Leaving" and "Going")', ["no section 'Going'"]),
        ("(architecture.md, R5)", ["no section 'R5'"]),
        ("see architecture.md", [checks.NO_SECTION]),
        ("(architecture 5, Leave)", ["'architecture 5' names no section"]),
        ("(architecture\n    R3)", ["'architecture R3' names no section"]),
    ],
)
def test_a_wrong_citation_is_found(comment: str, problems: list[str]):
    assert checks.citation_problems(comment, SECTIONS) == problems


def test_a_section_that_is_renamed_is_missed():
    renamed = checks.sections(spoiled(THE_MAP, "### Leaving", "### Going"))
    assert any(checks.citation_problems(text_of(path) or "", renamed) for path in checks.citing_files())


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_every_symbol_and_name_on_a_page_exists(name: str):
    assert checks.symbol_problems(page(name)) == []
    assert checks.word_problems(page(name), checks.words_of_the_product()) == []


@pytest.mark.parametrize("name", ["one-bet.md", "one-chip.md", "glossary.md"])
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[`decide`]", "[`decides`]", "decides is not defined in"),
        ("[`postings_of`](../libs/", "[`postings_of`](../lib/", "postings_of: there is no file ../lib/"),
    ],
)
def test_a_symbol_that_is_not_there_is_found(name: str, old: str, new: str, problem: str):
    text = page(name) if old in page(name) else f"{page(name)} {old}(../libs/stud_core/decide/__init__.py)"
    (found,) = checks.symbol_problems(spoiled(text, old, new))
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("old", "new"),
    [("`BuyInRequested`", "`BuyInAsked`"), ("`ALREADY_DONE`", "`DONE_ALREADY`"), ("HandEnded(", "HandFinished(")],
)
def test_a_name_that_the_code_does_not_know_is_found(old: str, new: str):
    text = THE_MAP if old in THE_MAP else page("one-chip.md")
    assert checks.word_problems(spoiled(text, old, new), checks.words_of_the_product()) == [new.strip("`(")]


# --- walks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "stops"), STOPS.items())
def test_every_stop_of_a_walk_leads_into_the_code(name: str, stops: int):
    assert checks.walk_problems(page(name), stops) == []


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda text: spoiled(text, "\n4. ", "\n5. "), "the stops are numbered"),
        (lambda text: "\n".join(line for line in text.splitlines() if not line.startswith("10. ")), "the stops are"),
        (lambda text: spoiled(text, "4. **The mailbox.**", "4. The mailbox."), "stop 4 has no name"),
        (lambda text: spoiled(text, "[`TableActor`](../services/table_service/actor.py)", "It"), "stop 4 names no sym"),
    ],
)
def test_a_walk_with_a_wrong_stop_is_found(spoil: Callable[[str], str], problem: str):
    assert checks.walk_problems(spoil(page("one-bet.md")), 10)[0].startswith(problem)


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_every_picture_is_whole_and_every_arrow_has_its_crash():
    assert len(checks.pictures(THE_MAP)) == 10
    assert [problem for picture in checks.pictures(THE_MAP) for problem in checks.picture_problems(picture)] == []
    assert checks.crash_problems(THE_MAP) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    participant W as wallet\n", "", "W is not declared"),
        ("P->>T: TakeSeat", "P->>X: TakeSeat", "X is not declared"),
        ("    actor P as player\n", "    actor P as player\n    actor Q as nobody\n", "Q takes no part"),
        ("    end\n", "", "a block does not end"),
        ("    alt the account can pay\n", "", "'else it cannot' is nothing that a picture may say"),
        ("P->>T: TakeSeat", "P=>T: TakeSeat", "is nothing that a picture may say"),
        ("sequenceDiagram", "flowchart", "'flowchart' begins no sequence"),
    ],
)
def test_a_broken_picture_is_found(old: str, new: str, problem: str):
    found = checks.picture_problems(spoiled(checks.pictures(THE_MAP)[0], old, new))
    assert any(problem in one for one in found), found


@pytest.mark.parametrize(("old", "new"), [("\n| 5, 6 | a seat that", "\n| 5 | a seat that"), ("| 8, 9 |", "| 8, 8 |")])
def test_an_arrow_without_its_crash_is_found(old: str, new: str):
    assert len(checks.crash_problems(spoiled(THE_MAP, old, new))) == 1


# --- keys -------------------------------------------------------------------------------------------------------------


def test_the_map_lists_every_key():
    assert checks.keys_in_the_map(THE_MAP) == checks.keys_in_the_code(keys.__doc__ or "")


def test_a_key_that_the_map_does_not_list_is_found():
    without = checks.keys_in_the_map(spoiled(THE_MAP, "| `{sNN}:retry:<service>` |", "| retry |"))
    assert checks.keys_in_the_code(keys.__doc__ or "") - without == {"{sNN}:retry:<service>"}


def test_the_map_names_who_writes_reads_and_trims_each_stream():
    assert checks.stream_problems(THE_MAP) == []


def test_a_reader_that_the_map_does_not_name_is_found():
    assert len(checks.stream_problems(spoiled(THE_MAP, "| rules, table, wallet |", "| rules, table |"))) == 1
    assert (
        len(checks.stream_problems(spoiled(THE_MAP, "by table: what dealer and wallet", "by table: what wallet"))) == 1
    )

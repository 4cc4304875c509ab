"""What can be wrong with the pages that explain the code: each check returns its findings, none when all is well."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from stud_eventlog import keys
from stud_topology.services import SERVICES, Service, readers_of
from tests.arch.repository import ROOT, is_generated, relative, text_of, tracked_files
from tools.sources import syntax_tree

MAP = "docs/architecture.md"
NO_SECTION = "the map is cited without a section"
"""Which a page may do, that links to it, and no comment."""

_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_RULE = re.compile(r"(R\d)\. ")
_CITED = re.compile(r'architecture\.md((?:(?:[,;]| and)? (?:"[^"]+"|R\d\b))*)')
_ITEM = re.compile(r'"([^"]+)"|(R\d)')
_WITHOUT_A_NAME = re.compile(r"\barchitecture,? (?:section |R)?\d")
_BREAK = re.compile(r"\s*\n\s*(?:#|//)?\s*")
_STOP = re.compile(r"^(\d+)\. \*\*.+?\*\* (.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)
_SYMBOL = re.compile(r"\[`(\w+)`\]\(([^)#]+)\)")
_SPAN = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_TELLING = re.compile(r"[a-z][A-Z]|_|^[A-Z]{4,}$")
"""Words that are names of code wherever they stand: two humps, an underscore, capitals."""

_OWN_WORDS = {"sequenceDiagram", "sNN"}
"""Telling words that are the pages' own: the beginning of a picture, any shard."""

# --- sections and who cites them --------------------------------------------------------------------------------------


def sections(text: str) -> list[str]:
    """The names by which the map's sections may be cited; a rule's heading is cited by its number alone."""
    return [rule[1] if (rule := _RULE.match(name)) else name for name in _HEADING.findall(text)]


def slugs(text: str) -> set[str]:
    """The anchors of a page's headings."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {word.replace(" ", "-") for word in words}


def cited(text: str) -> Iterator[list[str]]:
    """The sections of each citation of the map in a text, wherever its lines are broken."""
    for match in _CITED.finditer(_BREAK.sub(" ", text)):
        yield [section or rule for section, rule in _ITEM.findall(match[1])]


def citation_problems(text: str, known: list[str]) -> list[str]:
    """Sections that are cited and are none, and citations that name no section."""
    problems = [f"no section {item!r}" for items in cited(text) for item in items if item not in known]
    problems += [NO_SECTION for items in cited(text) if not items]
    flat = _BREAK.sub(" ", text)
    return problems + [f"{match[0]!r} names no section" for match in _WITHOUT_A_NAME.finditer(flat)]


def citing_files() -> list[Path]:
    """Everything that may cite the map in a comment: all text but the pages themselves."""
    return [
        path
        for path in tracked_files()
        if not is_generated(path)
        and path.suffix != ".md"
        and not relative(path).startswith(("tests/golden/", "tests/arch/"))
        and text_of(path) is not None
    ]


# --- names ------------------------------------------------------------------------------------------------------------


@cache
def defined_in(path: Path) -> frozenset[str]:
    """What a module defines at its top, or a contract's file anywhere."""
    text = path.read_text()
    if path.suffix == ".proto":
        return frozenset(re.findall(r"\b(?:message|enum|rpc|service) (\w+)", text))
    found: set[str] = set()
    for node in syntax_tree(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def symbol_problems(text: str) -> list[str]:
    """Symbols that a page links to a file which does not define them."""
    problems = []
    for symbol, link in _SYMBOL.findall(text):
        path = (ROOT / "docs" / link).resolve()
        if not path.is_file():
            problems.append(f"{symbol}: there is no file {link}")
        elif symbol not in defined_in(path):
            problems.append(f"{symbol} is not defined in {link}")
    return problems


@cache
def words_of_the_product() -> frozenset[str]:
    """Every word in the code, the contract and the names of modules."""
    words: set[str] = set()
    for path in tracked_files():
        name = relative(path)
        if name.startswith(("libs/", "services/", "protos/", "deploy/", "tests/support/")) and not is_generated(path):
            words |= {path.stem, *path.parent.parts}
            words |= set(re.findall(r"\w+", text_of(path) or ""))
    return frozenset(words)


def word_problems(text: str, known: frozenset[str]) -> list[str]:
    """Names of code, in spans and in pictures, that stand nowhere in the product."""
    names = list(_SPAN.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)))
    for block in pictures(text):
        names += re.findall(r"\w+", block)
    parts = [part for name in names if _NAME.fullmatch(name) for part in name.split(".")]
    return sorted({part for part in parts if _TELLING.search(part) and part not in known | _OWN_WORDS})


# --- walks ------------------------------------------------------------------------------------------------------------


def walk_problems(text: str, stops: int) -> list[str]:
    """What is wrong with the stops of a walk: their numbers, and that each leads into the code."""
    problems = []
    if (numbers := [int(number) for number in _NUMBERED.findall(text)]) != list(range(1, stops + 1)):
        problems.append(f"the stops are numbered {numbers}")
    named = {int(number): rest for number, rest in _STOP.findall(text)}
    for number in numbers:
        if number not in named:
            problems.append(f"stop {number} has no name")
        elif not _SYMBOL.search(named[number]):
            problems.append(f"stop {number} names no symbol")
    return problems


# --- pictures ---------------------------------------------------------------------------------------------------------

_PICTURE = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PARTICIPANT = re.compile(r"(?:participant|actor) (\w+) as .+")
_ARROW = re.compile(r"(\w+)(-?->>)(\w+): .+")
_OPENS = re.compile(r"(?:alt|loop|opt) .+")


def pictures(text: str) -> list[str]:
    return _PICTURE.findall(text)


def picture_problems(picture: str) -> list[str]:
    """Arrows between participants who are not declared, participants without arrows, blocks that do not end."""
    declared: set[str] = set()
    used: set[str] = set()
    depth = 0
    problems = []
    first, *lines = [line.strip() for line in picture.strip().splitlines()]
    if first != "sequenceDiagram":
        problems.append(f"{first!r} begins no sequence")
    for line in lines:
        if found := _PARTICIPANT.fullmatch(line):
            declared.add(found[1])
        elif found := _ARROW.fullmatch(line):
            used |= {found[1], found[3]}
        elif _OPENS.fullmatch(line):
            depth += 1
        elif line == "end":
            depth -= 1
        elif not (line == "autonumber" or (depth and line.startswith("else "))):
            problems.append(f"{line!r} is nothing that a picture may say")
        if depth < 0:
            problems.append("an end without a beginning")
    problems += [f"{name} is not declared" for name in sorted(used - declared)]
    problems += [f"{name} takes no part" for name in sorted(declared - used)]
    return problems + (["a block does not end"] if depth > 0 else [])


def arrows(picture: str) -> int:
    return sum(_ARROW.fullmatch(line.strip()) is not None for line in picture.splitlines())


def crash_problems(text: str) -> list[str]:
    """Arrows of each saga of which the table below the picture does not say what a crash there leaves."""
    problems = []
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        name = part.splitlines()[0]
        for picture in pictures(part):
            told = [
                int(number)
                for cell in re.findall(r"^\| ([\d, ]+) \| [^|]+ \| [^|]+ \|$", part, re.MULTILINE)
                for number in cell.split(",")
            ]
            if sorted(told) != list(range(1, arrows(picture) + 1)):
                problems.append(f"{name}: {arrows(picture)} arrows, the table has {sorted(told)}")
    return problems


# --- keys -------------------------------------------------------------------------------------------------------------


def keys_in_the_map(text: str) -> set[str]:
    return {key for key in re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE) if ":" in key}


def keys_in_the_code(docstring: str) -> set[str]:
    """The keys that the module which makes them lists, as the map writes them."""
    listed = re.findall(r"^ +(\S+:\S+)  ", docstring, re.MULTILINE) + re.findall(
        r"^ +(stud:\w+)", docstring, re.MULTILINE
    )
    return {
        key.replace("{s07}", "{sNN}").replace("to:s07", "to:sNN").replace("ledger:EUR", "ledger:CUR") for key in listed
    }


def stream_problems(text: str, services: Sequence[Service] = SERVICES) -> list[str]:
    """Logs and feeds of which the map names other writers, readers or trimmers than the table of services."""
    names = {service.name for service in services}
    problems = []
    for key, _what, *cells in re.findall(
        r"^\| `(\{[^`]+)` \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$", text, re.MULTILINE
    ):
        stream = keys.parse_stream(key.replace("sNN", "s07").replace("CUR", "EUR").replace("<id>", "first"))
        if stream is None:
            continue
        (owner,) = [service for service in services if stream.kind in {service.log, service.feed}]
        readers = set(readers_of(stream.kind, services))
        others = {service.name for service in services if stream.kind in service.looks_up}
        # What a log says its own service needs at each start; its feed it only writes, and trims.
        wanted = [{owner.name}, readers | others | {owner.name}, set()]
        if not stream.is_log:
            wanted[1:] = [readers, readers | {owner.name}]
        # "table, in the append to …": what follows a comma is no writer.
        told = [names & set(re.findall(r"\w+", cell)) for cell in (cells[0].split(",")[0], *cells[1:])]
        problems += [f"{key}: {set_} is not {want}" for set_, want in zip(told, wanted, strict=True) if set_ != want]
    return problems

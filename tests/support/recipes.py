"""The recipes of docs/extending.md: read from the page, carried out in a copy of the repository.

A section of the page is a recipe; below each `###` heading stands one place, a file: why it is touched, what says so
when it is left out, and the change, as a diff or as the whole of a new file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.arch.repository import ROOT, relative, tracked_files
from tests.support.deep import DEEP

PAGE = ROOT / "docs/extending.md"
GENERATE = "make proto"
FITS = "tests/arch/test_extending.py"
"""Says whether recipes fit what has not followed them yet: not for a copy that has."""


_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_PLACE = re.compile(r"^### `([^`]+)`( \(new\))?$", re.MULTILINE)
_LEFT_OUT = re.compile(r"^Left out: `([^`]+)` says `([^`]+)`", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Place(NamedTuple):
    """One file of a recipe."""

    path: str
    new: bool
    change: str
    """A diff that `git apply` takes; of a new file its text."""

    check: str
    """A command that fails when the place is left out."""

    says: str
    """What it then says, spaces and line breaks apart."""

    @property
    def named(self) -> bool:
        """Whether who reads what the check says knows where to go: to the file, its module or its folder."""
        parts = self.path.split("/")
        folders = ["/".join(parts[:depth]) for depth in range(2, len(parts))]
        module = ".".join(parts[-2:]).removesuffix(".py")
        return any(name in self.says for name in (parts[-1], module, *folders))


class Recipe(NamedTuple):
    """A section of the page."""

    title: str
    text: str
    places: tuple[Place, ...]

    @property
    def slug(self) -> str:
        return self.title.lower().replace(" ", "-")


def recipes(page: str) -> list[Recipe]:
    """Return the sections that have places. Raises ValueError where a place is not told completely."""
    parts = _SECTION.split(page)
    found = [
        Recipe(title, text, tuple(_places(title, text))) for title, text in zip(parts[1::2], parts[2::2], strict=True)
    ]
    return [recipe for recipe in found if recipe.places]


def _places(title: str, text: str) -> Iterator[Place]:
    parts = _PLACE.split(text)
    for path, new, told in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        notice, block = _LEFT_OUT.search(told), _BLOCK.search(told)
        if notice is None or block is None:
            raise ValueError(f"{title}, {path}: want a line `Left out: ... says ...` and a block")
        if (block[1] == "diff") == bool(new):
            raise ValueError(f"{title}, {path}: a new file is given whole, another by a diff")
        yield Place(path, bool(new), block[2], *notice.groups())


class Copy:
    """The repository as it lies here, committed or not, in another folder, with this environment's tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for path in tracked_files():
            if relative(path) == FITS:
                continue
            target = folder / relative(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
        (folder / ".venv").symlink_to(Path(sys.prefix))
        if DEEP and (ROOT / ".mypy_cache").is_dir():  # for `make check`
            shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
        self.run("git init -q")

    def run(self, command: str) -> tuple[int, str]:
        """Return the exit code and everything that was printed."""
        words = shlex.split(command)
        if words[0] == "make":  # the environment is ours, and as old as it is
            words[1:1] = ["-o", ".venv/.stamp"]
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self._env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def _env(self) -> dict[str, str]:
        """What a developer's shell has; of the test run that this is part of nothing."""
        apart = ("COV", "PYTEST", "STUD_", "HYPOTHESIS")
        env = {name: value for name, value in os.environ.items() if not name.startswith(apart)}
        return env | {"PYTHONPATH": f"{self.folder}/libs:{self.folder}/services", "COLUMNS": "200"}

    def apply(self, places: Iterable[Place]) -> None:
        for place in places:
            self._change(place, back=False)

    def generate(self) -> None:
        """Raises AssertionError when generated files cannot be made."""
        code, said = self.run(GENERATE)
        assert code == 0, said

    def without(self, place: Place) -> tuple[int, str]:
        """Take one place back, ask its check, and put the place in again."""
        self._change(place, back=True)
        if place.path.startswith("protos/"):
            self.run(".venv/bin/python tools/generate_proto.py")
        try:
            return self.run(place.check)
        finally:
            self._change(place, back=False)
            if place.path.startswith("protos/"):
                self.run(".venv/bin/python tools/generate_proto.py")

    def _change(self, place: Place, *, back: bool) -> None:
        target = self.folder / place.path
        if place.new and back:
            target.unlink()
        elif place.new:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(place.change)
        else:
            git_apply(self.folder, place.change, *["--reverse"] * back)


def git_apply(folder: Path, change: str, *options: str) -> None:
    """Raises AssertionError with git's words when a change does not fit any more."""
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options],
        cwd=folder, input=change, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{PAGE.name}: {done.stderr}{change}"


def flat(text: str) -> str:
    """A text in one line, so that it is found wherever its lines are broken."""
    return " ".join(re.sub(r"^E  ", "", text, flags=re.MULTILINE).split())

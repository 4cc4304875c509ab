"""What the tests about the repository look at: its tracked files, its Makefile, its documents."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def tracked_files() -> list[Path]:
    """Files git knows or would add: what is ignored is nobody's business here."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return sorted(p for p in paths if p.is_file())


@cache
def text_of(path: Path) -> str | None:
    """The text of a file, or None when it is binary."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_generated(path: Path) -> bool:
    return relative(path).startswith("libs/stud/") or path.suffix == ".lock"


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def documents() -> list[Path]:
    return [p for p in tracked_files() if p.suffix == ".md" and (p.parent == ROOT or relative(p).startswith("docs/"))]


_FENCE = re.compile(r"^```(?:sh|bash|shell|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shell_lines(document: Path) -> list[str]:
    """Commands in a document's shell blocks: continued lines joined, prompts and comments taken away."""
    lines: list[str] = []
    for block in _FENCE.findall(document.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"(^|\s)#.*", "", line.strip().removeprefix("$ "))
            if command:
                lines.append(command)
    return lines

"""How commands speak: tables and text for people, one JSON object on the last line for scripts."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text


class _Console(Console):
    """rich ends the process with 1, "found something", when nobody reads on."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


console = _Console(stderr=False, highlight=False)
notes = _Console(stderr=True, highlight=False)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object on the last line, for scripts.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data", help="Directory of a stopped system (as `stud demo` prints it).", show_default=False),
]


def last_line(value: dict[str, Any]) -> None:
    """Print the one JSON object that scripts read. At once: a command that goes on may be read through a pipe."""
    print(json.dumps(value, separators=(",", ":")), flush=True)


def command() -> str:
    """How to call ``stud`` from the shell this was started in."""
    beside = Path(sys.executable).parent / "stud"
    if shutil.which("stud") or not beside.exists():
        return "stud"
    here = Path.cwd()
    return str(beside.relative_to(here) if beside.is_relative_to(here) else beside)


def table_of(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> Table:
    """Return a rich table; columns named in ``right`` are numbers. Where it is too wide, words are folded and nothing
    is cut: half an id, an amount or a state is another one. Numbers, and columns in ``whole``, are folded last.
    """
    out = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        number = column in right
        out.add_column(
            column, justify="right" if number else "left", no_wrap=number or column in whole, overflow="fold"
        )
    for row in rows:
        out.add_row(*[Text(str(cell)) for cell in row])
    return out

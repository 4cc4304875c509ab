"""``stud adjudicate``: recorded hands played through the rules alone, no service, no log, no clock."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import MofNCompleteColumn, Progress

from stud_cli.exit_codes import CarefulCommand, told_when_interrupted
from stud_cli.hands.report import Report, judge_seeded, show, so_far
from stud_cli.output import console, notes
from stud_hands.record import BadLine, count_hands, read_places

PATIENCE_S: Final = 2.0  # a progress bar appears when it takes longer


def judge_files(files: Iterable[Path], seed: int, report: Report) -> Iterator[None]:
    """Judge hand after hand into ``report``, one at each step; nothing that cannot be read stops the others."""
    place = 0
    for file in files:
        for where, line in read_places(file):
            place += 1
            if isinstance(line, BadLine):
                report.add_line(place, line)
            else:
                report.add(place, judge_seeded(line, seed), where)
            yield


def with_progress(steps: Iterator[None], files: list[Path]) -> None:
    """Take every step, with a bar on standard error once it takes longer than people like to wait."""
    started = time.monotonic()
    done = 0
    for _ in steps:
        done += 1
        if time.monotonic() - started > PATIENCE_S:
            break
    else:
        return
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=notes) as progress:
        bar = progress.add_task("adjudicating", total=count_hands(files), completed=done)
        for _ in steps:
            progress.advance(bar)


def adjudicate(
    files: Annotated[
        list[Path],
        typer.Argument(help="Recorded hands, one JSON object per line; - is standard input.", show_default=False),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="End with one line of JSON on standard output.")] = False,
    seed: Annotated[int, typer.Option(help="Draws hidden cards; the same seed draws the same ones.")] = 0,
) -> None:
    """Play recorded hands through the rules and compare who acts, what it costs and who is paid.

    Exit code 0 = every hand matches, 1 = some do not, 2 = a file cannot be read, or holds none.

    Example: stud adjudicate tests/golden/hands/*.jsonl --json
    """
    report = Report()
    with told_when_interrupted(lambda: so_far(report)):
        with_progress(judge_files(files, seed, report), files)
    show(report, notes if as_json else console)
    if as_json:
        print(report.to_json())
    raise typer.Exit(report.exit_code)


def main() -> None:
    """Run as ``python -m stud_cli.hands.adjudicate``."""
    app = typer.Typer(add_completion=False)
    app.command(cls=CarefulCommand)(adjudicate)
    app()


if __name__ == "__main__":
    main()

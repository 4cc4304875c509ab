"""``stud rehearse``: recorded hands through the running services, over gRPC, with stacked decks."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import MofNCompleteColumn, Progress

from stud.dealer.v1 import dealer_service_pb2 as dealer
from stud_cli.exit_codes import said_as, told_when_interrupted
from stud_cli.hands.rehearsal import Rehearsal, fund
from stud_cli.hands.report import Report, judge_seeded, show, so_far
from stud_cli.local.callers import Callers
from stud_cli.local.keys import keys_dir
from stud_cli.local.stopping import OneStop
from stud_cli.local.system import LocalSystem
from stud_cli.output import JsonFlag, console, notes
from stud_client import StudError, load_endpoints
from stud_hands.adjudication import Verdict
from stud_hands.record import STDIN, BadLine, RecordedHand, count_hands, read_places

AT_ONCE = 4


def rehearse(
    files: Annotated[list[Path], typer.Argument(help="Recorded hands, one JSON object per line; - is standard input.")],
    endpoints: Annotated[
        bool,
        typer.Option("--endpoints", help="Use the running system (XTS, stacked decks on) instead of a new one."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed for cards that the recording hides.")] = 1,
    json_output: JsonFlag = False,
) -> None:
    """Play recorded hands through table, dealer, referee and wallet, and compare what comes out.

    Exit code 0 = every hand matches, 1 = some do not, 2 = it could not run, or a file cannot be read or holds none.

    Example: stud rehearse tests/golden/hands/stars.jsonl --json
    """
    report = Report()
    with (
        said_as("{}", StudError),
        told_when_interrupted(lambda: so_far(report)),
        OneStop() as stop,
        tempfile.TemporaryDirectory(prefix="stud-rehearse-") as directory,
    ):
        run = _Run(_sources(files, Path(directory)), seed, report)
        stop.run(run.play(None if endpoints else Path(directory), quiet=json_output))
    show(report, notes if json_output else console)
    if json_output:
        print(report.to_json())
    raise typer.Exit(report.exit_code)


def _running_callers() -> Callers:
    with said_as("no running system can be asked ({}): start one with `stud up --allow-stacked-decks`", ValueError):
        return Callers(load_endpoints(), keys_dir())


def _sources(files: list[Path], directory: Path) -> list[tuple[Path, str]]:
    """Where to read, and what to call it: standard input is written to a file first, since nothing may block later."""
    sources: list[tuple[Path, str]] = []
    for file in files:
        path = file
        if file == STDIN:
            path = directory / "stdin.jsonl"
            with path.open("ab") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
        sources.append((path, str(file)))
    return sources


class _Run:
    """All hands, a few at once."""

    def __init__(self, sources: list[tuple[Path, str]], seed: int, report: Report) -> None:
        self._sources, self._seed, self._report = sources, seed, report
        self._lines = enumerate(self._read(), 1)
        self._name = os.urandom(3).hex()

    async def play(self, directory: Path | None, *, quiet: bool) -> None:
        """Use the running system, or one of its own in ``directory``."""
        async with AsyncExitStack() as stack:
            if directory is None:
                callers = _running_callers()
            else:
                system = await stack.enter_async_context(
                    LocalSystem(directory, allow_stacked_decks=True, console=None if quiet else notes)
                )
                callers = Callers(system.addressed(), system.keys_dir)
            stack.push_async_callback(callers.close)
            await decks_can_be_stacked(callers)
            with Progress(
                *Progress.get_default_columns(), MofNCompleteColumn(), console=notes, disable=quiet, transient=True
            ) as progress:
                bar = progress.add_task("rehearsing", total=count_hands(path for path, _ in self._sources))
                async with asyncio.TaskGroup() as hands:
                    for _ in range(AT_ONCE):
                        hands.create_task(self._work(callers, lambda: progress.advance(bar)))

    def _read(self) -> Iterator[tuple[str, RecordedHand | BadLine]]:
        for path, name in self._sources:
            yield from read_places(path, name)

    async def _work(self, callers: Callers, done: Callable[[], None]) -> None:
        for place, (where, line) in self._lines:
            if isinstance(line, BadLine):
                self._report.add_line(place, line)
            else:
                table = f"rehearse-{self._name}-{place}"
                self._report.add(place, await rehearse_one(callers, line, table, self._seed), where)
            done()


async def decks_can_be_stacked(callers: Callers) -> None:
    """Raise StudError where the system does not let operators stack decks: no hand could be played.

    A deck of no cards is sent, which is refused either way; what for is the answer.
    """
    try:
        await callers.operator.dealer.StackDeck(dealer.StackDeckRequest(table="rehearse", hand_no=1))
    except StudError as error:
        if error.reason != "INVALID_DECK":
            raise


async def rehearse_one(callers: Callers, hand: RecordedHand, table_id: str, seed: int) -> Verdict:
    """Play one hand; ``why: hidden`` where no hidden cards make it come out as recorded, and the note says more."""
    found = judge_seeded(hand, seed)
    if found.script is None or found.note:
        return Verdict(hand.id, found.why or "hidden", found.note)
    try:
        await fund(callers, found.script.course.stacks)
    except StudError as error:
        return Verdict(hand.id, f"no chips: {error.reason}: {error.text}")
    # What the record states and no play shows (a wrong pot_total) is told as adjudicate tells it.
    problems = await Rehearsal(callers, found.script, table_id).play()
    return Verdict(hand.id, "; ".join(problems) or found.why)

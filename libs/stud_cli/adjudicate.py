"""``stud adjudicate``: recorded hands through the core alone; do the same players act, pay and win?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer
from rich.progress import Progress

from stud_cli.core_play import CorePlay, NotAsRecordedError
from stud_cli.handfile import BadHandError, RecordedHand, read_hands
from stud_cli.handscript import Script, compare, course_of, table_config
from stud_cli.hidden_cards import deck_of, draw, explainable
from stud_cli.output import FINE, FOUND, JsonFlag, console, could_not_run, last_line, notes, table_of
from stud_core.ruleset import OddUnits
from stud_core.validate import validate_config

MAX_AMBIGUOUS = 4
"""All-in wagers of one hand that could have been declared low or high; more are tried in one way only."""


class Result(msgspec.Struct, frozen=True):
    """What became of one hand; no reasons = a match."""

    hand_id: str
    why: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """A script that came closest to the recording, and what still differs. ``fits`` is False where no hidden
    cards make the recorded players act and win.
    """

    script: Script | None
    why: tuple[str, ...]
    fits: bool = True


def adjudicate(
    files: Annotated[list[Path], typer.Argument(help="Recorded hands, one JSON object a line.")],
    seed: Annotated[int, typer.Option(help="Seed for cards that the recording hides.")] = 1,
    json_output: JsonFlag = False,
) -> None:
    """Replay recorded hands with the rules engine and compare actors, amounts, returns and awards.

    Example: stud adjudicate tests/golden/hands/stars.jsonl --json
    """
    hands, results = read_all(files)
    with Progress(console=notes, disable=json_output, transient=True) as progress:
        for hand in progress.track(hands, description="hands"):
            results.append(Result(hand.id, judge(hand, seed).why))
    raise typer.Exit(report(results, json_output=json_output))


def read_all(files: Sequence[Path]) -> tuple[list[RecordedHand], list[Result]]:
    """Read every file; a line that is no hand is a result by itself. Exits with 2 when a file cannot be read."""
    hands: list[RecordedHand] = []
    bad: list[Result] = []
    for path in files:
        for found in read_hands(path):
            if isinstance(found, RecordedHand):
                hands.append(found)
            elif found.line == 0:
                could_not_run(str(found))
            else:
                bad.append(Result(f"{path.name}:{found.line}", (found.why,)))
    return hands, bad


def judge(hand: RecordedHand, seed: int) -> Finding:
    """Find cards, odd-unit rule and declared sizes that reproduce a hand, or say what differs."""
    try:
        course = course_of(hand)
    except BadHandError as error:
        return Finding(None, (str(error),))
    first: Finding | None = None
    for odd_units in OddUnits:
        config = table_config(hand, odd_units)
        problems = validate_config(config)
        if problems:
            return Finding(None, tuple(str(problem) for problem in problems))
        rng = Random(f"{seed} {hand.id}")  # noqa: S311 - finds cards that fit, deals nothing
        cards = draw(course, config.ruleset, rng)
        script = Script(course, config, deck_of(course, cards, rng), course.expected.moves)
        fits = cards.fits_actors and cards.fits_awards
        if not cards.fits_actors:
            why = () if explainable(course, config.ruleset) else ("no result pays what was paid",)
            return Finding(script, why, fits=False)
        found = _try(script, awards=cards.fits_awards, fits=fits)
        if not cards.fits_awards and not explainable(course, config.ruleset):
            found = Finding(script, (*found.why, "no result pays what was paid"), fits=False)
        if not found.why:
            return found
        first = first or found
    return first or Finding(None, ("nothing was tried",))


def _try(script: Script, *, awards: bool, fits: bool) -> Finding:
    """Play a script, with every way to declare its ambiguous wagers; return the match, else the first attempt."""
    first: Finding | None = None
    for declared in _declarations():
        play = CorePlay(script, declared)
        try:
            outcome = play.play()
            why = tuple(compare(script.course.expected, outcome, script.course.names, awards=awards))
        except NotAsRecordedError as error:
            why = (str(error),)
        if not why:
            return Finding(msgspec.structs.replace(script, moves=tuple(play.sized)), (), fits=fits)
        first = first or Finding(script, why, fits=fits)
        if play.ambiguous == 0:
            break
    return first or Finding(script, ("nothing was tried",))


def _declarations() -> Iterator[tuple[int, ...]]:
    yield from product((0, 1), repeat=MAX_AMBIGUOUS)


def report(results: Sequence[Result], *, json_output: bool) -> int:
    """Print the result and return the exit code: 1 if anything differs."""
    bad = [result for result in results if result.why]
    if json_output:
        mismatched = [{"id": result.hand_id, "why": "; ".join(result.why)} for result in bad]
        last_line({"hands": len(results), "matched": len(results) - len(bad), "mismatched": mismatched})
    else:
        if bad:
            rows = [(result.hand_id, "; ".join(result.why)) for result in bad]
            console.print(table_of("Hands that differ", ("hand", "why"), rows))
        console.print(f"{len(results)} hands, {len(results) - len(bad)} matched")
    return FOUND if bad else FINE

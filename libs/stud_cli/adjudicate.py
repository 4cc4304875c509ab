"""``stud adjudicate``: recorded hands played through the rules alone, no service, no log, no clock.

``judge`` is the library part: one recorded hand in, a verdict and the script that led to it out. A hand matches when
every recorded action was the turn of the recorded player and legal for the recorded amount, and when uncalled
returns and awards come out as recorded.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table

from stud_cli.handfile import BadHandError, BadLine, RecordedHand, read_hands
from stud_cli.handpots import arithmetic, unpaid
from stud_cli.handscript import (
    Course,
    Move,
    Outcome,
    Script,
    compare,
    course_of,
    describe,
    literal_verb,
    matching_options,
    table_config,
)
from stud_cli.hidden_cards import EVALUATIONS, Cards, deck_of, draw
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.conservation import check
from stud_core.decide import step
from stud_core.rejection import Rejection
from stud_core.ruleset import OddUnits
from stud_core.state import Phase
from stud_core.state import Table as TableState

MAX_READINGS: Final = 16  # ways to read wagers whose declared size is not recorded
HOPELESS_EVALUATIONS: Final = 10_000  # hands ranked for a record that cannot match
DRAWS: Final = 3  # where boards are hidden, since only play shows whether they serve
PATIENCE_S: Final = 2.0  # a progress bar appears when it takes longer


class Verdict(msgspec.Struct, frozen=True):
    """``why`` is empty for a match, ``note`` says what could not be checked, ``script`` is what was played."""

    hand_id: str
    why: str
    note: str = ""
    script: Script | None = None

    @property
    def matched(self) -> bool:
        return not self.why


class RefusedError(Exception):
    """The rules do not allow what was recorded."""


# --- one hand -----------------------------------------------------------------


def judge(hand: RecordedHand, rng: Random) -> Verdict:
    """Play a recorded hand through the core and compare; raises :class:`BadHandError` for one that makes no sense.

    Who gets the odd units of a split is not recorded; the first published reading that pays what was paid is taken.
    """
    course = course_of(hand)
    # Where the money alone does not add up no cards can help, and one play will say what is wrong.
    hopeless = bool(arithmetic(course, table_config(hand)))
    split = len(course.expected.awards) > 1 and not hopeless
    draws = DRAWS if _boards_hidden(course) and not hopeless else 1
    tries = HOPELESS_EVALUATIONS if hopeless else EVALUATIONS // draws
    found: list[Verdict] = []
    for odd_units in OddUnits if split else [OddUnits.ONE_EACH_FROM_LEFT]:
        config = table_config(hand, odd_units)
        for _ in range(draws):
            cards = draw(course, config.ruleset, rng, tries)
            script = Script(course, config, deck_of(course, cards, rng), course.expected.moves)
            verdict = _judge_script(script, cards)
            if verdict.matched and not verdict.note:
                return verdict
            found.append(verdict)
    # A match that leaves something unchecked is better than a mismatch; among equals the first reading counts.
    return min(found, key=lambda verdict: not verdict.matched)


def _boards_hidden(course: Course) -> bool:
    """Whether a door or up card is hidden, so that a draw may miss what the betting needs (an open pair)."""
    return any(None in cards for cards in course.up.values()) or (course.common and course.community is None)


def _judge_script(script: Script, cards: Cards) -> Verdict:
    """Play every reading of the undeclared sizes until one matches; report the first one otherwise."""
    course = script.course
    faults = "; ".join(arithmetic(course, script.config))
    if not cards.fits_actors:
        note = "no draw of the hidden cards brings out the recorded actors: only amounts and awards were checked"
        return Verdict(course.hand_id, faults, note)
    note = ""
    if not cards.fits_awards and not cards.contradicted:
        note = "no draw of the hidden cards pays the recorded winners: awards were checked as sums only"
    readings: list[tuple[int, ...]] = [()]
    found: list[Verdict] = []
    while readings and len(found) < MAX_READINGS:
        run = _Run(script, readings.pop())
        why = run.play(awards=cards.fits_awards) or faults
        if not why and cards.contradicted:
            why = unpaid(course)
            why += ": hands that are known are better"
        played = msgspec.structs.replace(script, moves=(*run.moves, *script.moves[len(run.moves) :]))
        verdict = Verdict(course.hand_id, why, note, played)
        if verdict.matched:
            return verdict
        found.append(verdict)
        readings += run.other_readings()
    return found[0]


class _Run:
    """One play of a script at a table of its own. ``reading`` says which size to take at each ambiguous wager."""

    def __init__(self, script: Script, reading: tuple[int, ...]) -> None:
        self.script = script
        self.reading = reading
        self.choices: list[int] = []  # number of readings at each ambiguous wager met
        self.state = TableState()
        self.deck = iter(enumerate(script.deck))
        self.card_in: dict[bytes, int] = {}
        self.moves: list[Move] = []
        self.antes: dict[int, int] = {}
        self.uncalled: dict[int, int] = {}
        self.awards: dict[int, int] = {}

    def play(self, *, awards: bool) -> str:
        """Return what is wrong, nothing if the hand comes out."""
        try:
            self._sit_down()
            while self.state.hand is not None:
                self._go_on()
        except RefusedError as refusal:
            return str(refusal)
        names = self.script.course.names
        outcome = Outcome(self.antes, tuple(self.moves), self.uncalled, self.awards)
        return "; ".join(compare(self.script.course.expected, outcome, names, awards=awards))

    def other_readings(self) -> Iterator[tuple[int, ...]]:
        """Readings that differ from this one at a later ambiguous wager."""
        taken = (*self.reading, *([0] * (len(self.choices) - len(self.reading))))
        for position in range(len(self.reading), len(self.choices)):
            for other in range(1, self.choices[position]):
                yield (*taken[:position], other)

    def _sit_down(self) -> None:
        self._send(cmd.OpenTable(self.script.config))
        for seat, stack in self.script.course.stacks.items():
            self._send(cmd.TakeSeat(_account(seat), seat, stack, auto_post=True, muck_losing=False))
            self._send(cmd.RecordFunding(self.state.next_sitting_no - 1, stack))
        self._send(cmd.RecordDeck(1, bytes(32)))
        self._send(cmd.StartHand())

    def _go_on(self) -> None:
        """Do the one thing that the hand waits for."""
        hand = self.state.running
        if hand.deal is not None:
            self._send(self._deal(hand.deal))
        elif hand.phase is Phase.SHOW_PROMPTS:
            prompt = hand.prompts[0]
            show = prompt.seat in self.script.shows
            cards = tuple(self.card_in[box.sealed] for box in hand.down[prompt.seat]) if show else ()
            self._send(cmd.ChooseShow(_account(prompt.seat), prompt.prompt_id, show, cards))
        else:
            self._move()

    def _deal(self, request: ev.DealRequested) -> cmd.RecordCards:
        down: list[ev.DownCard] = []
        up: list[ev.UpCard] = []
        community = None
        if request.mode is ev.DealMode.COMMUNITY:
            community = next(self.deck)[1]
        for _ in range({3: 2, 7: 1}.get(request.street, 0)):
            down += [self._box(seat) for seat in request.targets]
        if request.street < 7:
            up = [ev.UpCard(seat, next(self.deck)[1]) for seat in request.targets]
        root = bytes(32) if request.deal_no == 1 else None
        return cmd.RecordCards(request.hand_no, request.deal_no, tuple(up), tuple(down), community, root)

    def _box(self, seat: int) -> ev.DownCard:
        position, card = next(self.deck)
        sealed = position.to_bytes(1, "big")
        self.card_in[sealed] = card
        return ev.DownCard(seat, position, sealed)

    def _move(self) -> None:
        hand, names = self.state.running, self.script.course.names
        legal = ", ".join(describe(option) for option in hand.options)
        if len(self.moves) == len(self.script.moves):
            raise RefusedError(
                f"the record ends where {names[hand.turn_seat]} has to act on street {hand.street}: {legal}"
            )
        move = self.script.moves[len(self.moves)]
        where = f"action {len(self.moves) + 1}, street {hand.street}"
        if move.seat != hand.turn_seat or move.street != hand.street:
            raise RefusedError(
                f"{where}: {names[hand.turn_seat]} has to act ({legal}), "
                f"recorded {names[move.seat]} {move} on street {move.street}"
            )
        options = matching_options(move, hand.options)
        if len(options) > 1:
            self.choices.append(len(options))
            position = len(self.choices) - 1
            options = [options[self.reading[position] if position < len(self.reading) else 0]]
        verb, size = (options[0].verb, options[0].size) if options else (literal_verb(move, hand.options), move.size)
        act = cmd.Act(_account(move.seat), hand.turn_id, verb, move.to, size)
        self._send(act, f"{where}: {names[move.seat]} {move}: ")

    def _send(self, command: cmd.Command, what: str = "") -> list[ev.Event]:
        """Decide, fold, check the chips, note what is compared; raises RefusedError."""
        context = cmd.Context(now_ms=0, version=self.state.version + 1)
        answer = step(self.state, command, context)
        if isinstance(answer, Rejection):
            legal = ", ".join(describe(option) for option in answer.legal)
            text, _, _ = answer.text.partition("; legal:")
            raise RefusedError(f"{what}{answer.reason}: {text}" + (f"; legal: {legal}" if legal else ""))
        events, self.state = answer
        if self.state.wants_showdown:
            hand = self.state.running
            live = [seat for seat in hand.order if hand.live[seat]]
            clear = {seat: tuple(self.card_in[box.sealed] for box in hand.down[seat]) for seat in live}
            shown = step(self.state, cmd.Showdown(clear), context)
            if isinstance(shown, Rejection):
                raise RefusedError(f"showdown: {shown.reason}: {shown.text}")
            events, self.state = [*events, *shown[0]], shown[1]
        fault = check(self.state)
        if fault:
            raise RefusedError(f"chips were made or lost: {fault}")
        for event in events:
            self._note(event)
        return events

    def _note(self, event: ev.Event) -> None:
        match event:
            case ev.AntePosted():
                self.antes[event.seat] = event.amount
            case ev.ActionTaken():
                # Street and name stay those of the record: the name is what a script is matched by.
                recorded = self.script.moves[len(self.moves)]
                self.moves.append(
                    msgspec.structs.replace(
                        recorded,
                        seat=event.seat,
                        amount=event.amount,
                        to=event.to,
                        all_in=event.all_in,
                        size=event.size,
                    )
                )
            case ev.UncalledReturned():
                self.uncalled[event.seat] = self.uncalled.get(event.seat, 0) + event.amount
            case ev.PotAwarded():
                for share in event.shares:
                    self.awards[share.seat] = self.awards.get(share.seat, 0) + share.amount


def _account(seat: int) -> str:
    return f"player-{seat}"


# --- many hands ---------------------------------------------------------------


class Report(msgspec.Struct):
    """What a run found: a verdict for each line, and the files that could not be read. A line that is no hand does not
    match; its ``hand_id`` says where it stands.
    """

    verdicts: list[Verdict] = msgspec.field(default_factory=list)
    unreadable: list[BadLine] = msgspec.field(default_factory=list)

    @property
    def mismatched(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if not verdict.matched]

    @property
    def exit_code(self) -> int:
        """0 = all matched, 1 = some did not, 2 = a file could not be read, or there was no hand at all."""
        if self.unreadable or not self.verdicts:
            return 2
        return 1 if self.mismatched else 0

    def add_line(self, bad: BadLine) -> None:
        """Note what stands where a hand should."""
        if bad.line:
            self.verdicts.append(Verdict(f"{bad.file}:{bad.line}", f"malformed: {bad.why}"))
        else:
            self.unreadable.append(bad)

    def to_json(self) -> str:
        """The last line of ``--json``."""
        found: dict[str, object] = {
            "hands": len(self.verdicts),
            "matched": len(self.verdicts) - len(self.mismatched),
            "mismatched": [{"id": verdict.hand_id, "why": verdict.why} for verdict in self.mismatched],
        }
        return msgspec.json.encode(found).decode()


def judge_files(files: Iterable[Path], seed: int, report: Report) -> Iterator[str]:
    """Judge hand after hand into ``report`` and yield each one's id; nothing that cannot be read stops the others.

    The same seed draws the same hidden cards for a hand, wherever it stands.
    """
    for file in files:
        for _, line in read_hands(file):
            if isinstance(line, BadLine):
                report.add_line(line)
                continue
            try:
                report.verdicts.append(judge(line, Random(f"{seed}:{line.id}")))  # noqa: S311 cards of a record
            except BadHandError as error:
                report.verdicts.append(Verdict(line.id, f"malformed: {error}"))
            yield line.id


def with_progress(ids: Iterator[str]) -> None:
    """Exhaust ``ids``, with a bar on standard error once it takes longer than people like to wait."""
    started = time.monotonic()
    for _ in ids:
        if time.monotonic() - started > PATIENCE_S:
            break
    else:
        return
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("adjudicating", total=None)
        for hand_id in ids:
            progress.update(task, advance=1, description=f"adjudicating {hand_id}")


def show(report: Report, console: Console) -> None:
    """Print the mismatches as a table, then what could only be checked in part, then one line of sums."""
    if report.mismatched:
        table = Table(title="Hands that did not come out", title_justify="left")
        table.add_column("hand", no_wrap=True)
        table.add_column("why", overflow="fold")
        for verdict in report.mismatched:
            table.add_row(verdict.hand_id, verdict.why)
        console.print(table)
    for verdict in report.verdicts:
        if verdict.note:
            console.print(f"{verdict.hand_id}: {verdict.note}", markup=False)
    for bad in report.unreadable:
        console.print(f"cannot read {bad}", markup=False, style="red")
    matched = len(report.verdicts) - len(report.mismatched)
    console.print(f"{matched} of {len(report.verdicts)} hands match", style="bold")


def adjudicate(
    files: Annotated[list[Path], typer.Argument(help="Recorded hands, one JSON object a line.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="End with one line of JSON on standard output.")] = False,
    seed: Annotated[int, typer.Option(help="Draws hidden cards; the same seed draws the same ones.")] = 0,
) -> None:
    """Play recorded hands through the rules and compare who acts, what it costs and who is paid.

    Exit code 0 = every hand matches, 1 = some do not, 2 = a file cannot be read, or holds none.

    Example: stud adjudicate tests/golden/hands/*.jsonl --json
    """
    report = Report()
    with_progress(judge_files(files, seed, report))
    show(report, Console(stderr=as_json))
    if as_json:
        print(report.to_json())
    raise typer.Exit(report.exit_code)


def main() -> None:
    """Run as ``python -m stud_cli.adjudicate``."""
    typer.run(adjudicate)


if __name__ == "__main__":
    main()

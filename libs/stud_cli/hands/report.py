"""What a run over recorded hands found, for people and for scripts. Keeps only what did not come out."""

from __future__ import annotations

from random import Random

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stud_cli.output import notes
from stud_hands.adjudication import Verdict, judge
from stud_hands.record import BadLine, RecordedHand

MOST_PLACES = 5


def judge_seeded(hand: RecordedHand, seed: int) -> Verdict:
    """Judge a hand; the same seed draws the same hidden cards for it, wherever it stands. A fault of ours is
    reported.
    """
    verdict = judge(hand, Random(f"{seed}:{hand.id}"))  # noqa: S311 - finds cards that fit, deals nothing
    if verdict.trace:
        notes.print(f"judging {hand.id} failed\n{verdict.trace}", markup=False, soft_wrap=True)
    return verdict


class Report(msgspec.Struct):
    """Counts, the verdicts that are worth telling by the hand's place in the run, and files that cannot be read.

    ``noted`` are hands, matched or not, of which not everything could be checked.

    A line that is not a hand does not match; where its id cannot be read, ``hand_id`` says where it stands.
    """

    hands: int = 0
    matched: int = 0
    wrong: dict[int, Verdict] = msgspec.field(default_factory=dict)
    noted: dict[int, Verdict] = msgspec.field(default_factory=dict)
    unreadable: list[BadLine] = msgspec.field(default_factory=list)
    stands: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Where each id stands: one that is there twice names no hand."""
    where: dict[int, str] = msgspec.field(default_factory=dict)

    @property
    def mismatched(self) -> list[Verdict]:
        """In the order of the files, whichever finished first; where the id does not tell which hand, ``why`` does."""
        return [self._told(place) for place in sorted(self.wrong)]

    @property
    def doubled(self) -> dict[str, list[str]]:
        """Ids that several hands have, and where these stand."""
        return {hand_id: places for hand_id, places in self.stands.items() if len(places) > 1}

    def _told(self, place: int) -> Verdict:
        verdict, where = self.wrong[place], self.where.get(place, "")
        if len(self.stands.get(verdict.hand_id, ())) < 2 or verdict.why.endswith(f"({where})"):
            return verdict
        return msgspec.structs.replace(verdict, why=f"{verdict.why} ({where})")

    @property
    def exit_code(self) -> int:
        """0 = all matched, 1 = some did not, 2 = a file could not be read, or there was no hand at all."""
        if self.unreadable or not self.hands:
            return 2
        return 1 if self.wrong else 0

    def add(self, place: int, verdict: Verdict, where: str = "") -> None:
        """Count a verdict on what stands ``where``; its script is let go."""
        told = msgspec.structs.replace(verdict, script=None, trace="")
        self.hands += 1
        self.matched += told.matched
        if where:
            self.stands.setdefault(told.hand_id, []).append(where)
        if not told.matched:
            self.wrong[place], self.where[place] = told, where
        if told.note:
            self.noted[place] = told

    def add_line(self, place: int, bad: BadLine) -> None:
        """Note what stands where a hand should."""
        if bad.line:
            where = f"{bad.file}:{bad.line}"
            self.add(place, Verdict(bad.hand_id or where, f"malformed: {bad.why} ({where})"), where)
        else:
            self.unreadable.append(bad)

    def to_json(self) -> str:
        """The last line of ``--json``."""
        found: dict[str, object] = {
            "hands": self.hands,
            "matched": self.matched,
            "mismatched": [{"id": verdict.hand_id, "why": verdict.why} for verdict in self.mismatched],
            "partly": [{"id": verdict.hand_id, "why": verdict.note} for _, verdict in sorted(self.noted.items())],
        }
        return msgspec.json.encode(found).decode()


def show(report: Report, console: Console) -> None:
    """Print the mismatches as a table, then what could only be checked in part, then one line of sums."""
    if report.wrong:
        table = Table(title="Hands that did not come out", title_justify="left")
        table.add_column("hand", overflow="fold")
        table.add_column("why", overflow="fold")
        for verdict in report.mismatched:
            table.add_row(Text(verdict.hand_id), Text(verdict.why))
        console.print(table)
    for place in sorted(report.noted):
        console.print(f"{report.noted[place].hand_id}: {report.noted[place].note}", markup=False, soft_wrap=True)
    for hand_id, places in report.doubled.items():
        told = ", ".join(places[:MOST_PLACES]) + (", …" if len(places) > MOST_PLACES else "")
        console.print(f"{len(places)} hands have the id {hand_id!r}: {told}", markup=False, soft_wrap=True)
    for bad in report.unreadable:
        console.print(str(bad), markup=False, style="red", soft_wrap=True)
    partly = f", {len(report.noted)} were checked only in part" if report.noted else ""
    console.print(f"{report.matched} of {report.hands} hands match{partly}", style="bold")


def so_far(report: Report) -> str:
    """How far an interrupted run came."""
    return f"interrupted after {report.hands} hands: {report.matched} match, {len(report.wrong)} do not"

"""Follows a recorded hand while it is played, by whatever plays it: what comes next, and what came out differently.

It reads the table's events, which the core decides and which services send, and says which legal action a recorded
one means; it sends nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from stud_core import events as ev
from stud_core.events import Option, Verb
from stud_core.wording import phrase
from stud_hands.course import Move, Outcome
from stud_hands.script import Script, compare

WAGERS: Final = frozenset({Verb.OPEN, Verb.COMPLETE, Verb.BET, Verb.RAISE})
_WAGER_NAMES: Final = frozenset({"complete", "bet", "raise"})


class NotAsRecorded(Exception):
    """The play cannot go on as recorded; the text says where and why."""


class Answer(msgspec.Struct, frozen=True):
    """What to send for a recorded move. ``where`` begins every text about it."""

    move: Move
    verb: Verb
    size: ev.Size | None
    where: str


class Follower:
    """One play of a script. ``reading`` says which size to take at each ambiguous wager, the first one by default."""

    def __init__(self, script: Script, reading: tuple[int, ...] = ()) -> None:
        self.script = script
        self.moves: list[Move] = []
        self._names = script.course.names
        self._reading = reading
        self._choices: list[int] = []  # number of readings at each ambiguous wager met
        self._street = 3
        self._antes: dict[int, int] = {}
        self._uncalled: dict[int, int] = defaultdict(int)
        self._awards: dict[int, int] = defaultdict(int)

    def note(self, event: ev.Event) -> None:
        """Fold one event of the table."""
        match event:
            case ev.DealRequested():
                self._street = event.street
            case ev.AntePosted():
                self._antes[event.seat] = event.amount
            case ev.ActionTaken():
                # Street and name stay those of the record: the name is what a script is matched by.
                recorded = self.script.moves[len(self.moves)]
                played = msgspec.structs.replace(
                    recorded, seat=event.seat, amount=event.amount, to=event.to, all_in=event.all_in, size=event.size
                )
                self.moves.append(played)
            case ev.UncalledReturned():
                self._uncalled[event.seat] += event.amount
            case ev.PotAwarded():
                for share in event.shares:
                    self._awards[share.seat] += share.amount

    def answer(self, seat: int, options: Sequence[Option]) -> Answer:
        """Return what was recorded of the seat whose turn it is; raises NotAsRecorded."""
        who, legal = self._names[seat], ", ".join(phrase(option, options) for option in options)
        if len(self.moves) == len(self.script.moves):
            raise NotAsRecorded(f"the record ends where {who} has to act on street {self._street}: {legal}")
        move = self.script.moves[len(self.moves)]
        where = f"action {len(self.moves) + 1}, street {self._street}"
        if move.seat != seat or move.street != self._street:
            recorded = f"{self._names[move.seat]} {move} on street {move.street}"
            raise NotAsRecorded(f"{where}: {who} has to act ({legal}), recorded {recorded}")
        where = f"{where}: {who} {move}"
        found = matching_options(move, options)
        if not found:
            return Answer(move, literal_verb(move, options), move.size, where)
        chosen = found[self._read(len(found))]
        return Answer(move, chosen.verb, chosen.size, where)

    def shows(self, seat: int) -> bool:
        """Whether a seat that is asked shows its hand."""
        return seat in self.script.course.shows

    def differences(self, *, awards: bool = True) -> list[str]:
        """What came out differently, nothing for a match. ``awards`` False leaves those to somebody else."""
        played = Outcome(self._antes, tuple(self.moves), self._uncalled, self._awards)
        return compare(self.script.course.expected, played, self._names, awards=awards)

    def moves_played(self) -> tuple[Move, ...]:
        """The script's moves with what their play has settled, as far as it came."""
        return (*self.moves, *self.script.moves[len(self.moves) :])

    def other_readings(self) -> Iterator[tuple[int, ...]]:
        """Readings that differ from this one at a later ambiguous wager."""
        taken = (*self._reading, *([0] * (len(self._choices) - len(self._reading))))
        for position in range(len(self._reading), len(self._choices)):
            for other in range(1, self._choices[position]):
                yield (*taken[:position], other)

    def _read(self, options: int) -> int:
        if options == 1:
            return 0
        self._choices.append(options)
        position = len(self._choices) - 1
        return self._reading[position] if position < len(self._reading) else 0


def matching_options(move: Move, options: Sequence[Option]) -> list[Option]:
    """The legal actions that a recorded one can mean.

    Sources name wagers differently (opening, completing and raising), so only the kind and the total count. More
    than one is left where an all-in wager could have been declared low or high.
    """
    if move.verb in _WAGER_NAMES:
        wagers = [o for o in options if o.verb in WAGERS and o.to == move.to]
        return [o for o in wagers if move.size in {None, o.size}]
    if move.verb in {"bring_in", "call"}:
        return [o for o in options if o.verb in {Verb.BRING_IN, Verb.CALL} and o.to == move.to]
    return [o for o in options if o.verb.name.lower() == move.verb]


def literal_verb(move: Move, options: Sequence[Option]) -> Verb:
    """The verb to try for an action that matches none: the wager that is possible, so that its amount is judged."""
    possible = {o.verb for o in options}
    if move.verb in _WAGER_NAMES and possible & WAGERS:
        return min(possible & WAGERS)
    if move.verb in {"bring_in", "call"} and possible & {Verb.BRING_IN, Verb.CALL}:
        return min(possible & {Verb.BRING_IN, Verb.CALL})
    return Verb[move.verb.upper()]

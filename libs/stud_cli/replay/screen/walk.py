"""Where somebody is on a table's timeline, and how they get elsewhere: steps, jumps, searches. Knows no terminal."""

from __future__ import annotations

import re
from typing import Final

from stud_cli.index.asking import minor_units, moment_ms
from stud_replay import navigation
from stud_replay.marks import Mark
from stud_replay.navigation import NOT_IN_THE_LOG, Wanted
from stud_replay.timeline import Timeline

SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
LEAST_S, MOST_S = 0.05, 3.0
"""Bounds of the pause between two steps that are played, whatever lay between them."""

_HAND: Final = re.compile(r"(?:hand|h)\s*([0-9]+)")
_VERSION: Final = re.compile(r"(?:version|v)?\s*([0-9]{1,12})")

GO_TO: Final = "want a hand (hand 7), a version (120) or a moment (2026-03-31T21:05)"
FIND: Final = "want any of: player NAME, pot AMOUNT (more than that), showdown, disputed, voided; or refusal"


class Walk:
    """A place on a timeline. What leads nowhere raises ValueError, which says what would have been right."""

    def __init__(self, timeline: Timeline, version: int) -> None:
        self._timeline = timeline
        self.at = version
        self.matches: list[int] = []
        self._speed = SPEEDS.index(1.0)

    @property
    def speed(self) -> float:
        """How many times faster than it was played."""
        return SPEEDS[self._speed]

    def faster(self, by: int) -> None:
        """Play faster, or slower with a number below 0."""
        self._speed = min(max(self._speed + by, 0), len(SPEEDS) - 1)

    def pause_s(self) -> float:
        """How long the present version is shown while it plays: as long as it lasted, within bounds."""
        times = self._timeline.times
        if self.at >= len(times):
            return MOST_S
        lasted_s = (times[self.at] - times[self.at - 1]) / 1000
        return min(max(lasted_s / self.speed, LEAST_S), MOST_S / max(self.speed, 1.0))

    def step(self, kind: Mark = Mark.ANY, *, back: bool = False) -> bool:
        """Go to the next version of a kind; False where there is none."""
        return self._to(navigation.step(self._timeline, self.at, kind, back=back))

    def match(self, *, back: bool = False) -> bool:
        """Go to the next thing that was found."""
        there = [version for version in self.matches if (version < self.at if back else version > self.at)]
        return self._to((max(there) if back else min(there)) if there else None)

    def first(self) -> None:
        """Go to the first version."""
        self.at = 1

    def last(self) -> None:
        """Go to the last version."""
        self.at = self._timeline.version

    def _to(self, version: int | None) -> bool:
        if version is None:
            return False
        self.at = version
        return True

    def go_to(self, text: str) -> None:
        """Go to a hand, a version or a moment. Raises ValueError."""
        asked = text.strip().lower()
        if found := _HAND.fullmatch(asked):
            self.at = navigation.of_hand(self._timeline, int(found[1])).first
        elif found := _VERSION.fullmatch(asked):
            self.at = navigation.of_version(self._timeline, int(found[1]))
        elif "-" in asked:
            self.at = navigation.at_time(self._timeline, moment_ms(text))
        else:
            raise ValueError(f"{text!r} is no place: {GO_TO}")

    def find(self, text: str) -> str:
        """Look for hands, or for what was refused, and go to the next one; return what was found. Raises ValueError."""
        words = text.split()
        if words == ["refusal"]:
            self.matches = list(navigation.versions_with(self._timeline, Mark.REFUSAL))
            said = f"{len(self.matches)} refusals of money; {NOT_IN_THE_LOG}"
        else:
            hands = list(navigation.search(self._timeline, _wanted(words)))
            self.matches = [hand.first for hand in hands]
            said = f"{len(hands)} hands"
        if self.matches and self.at not in self.matches and not self.match():
            self.at = self.matches[0]
        return said


def _wanted(words: list[str]) -> Wanted:
    """Read what is looked for. Raises ValueError."""
    asked: dict[str, str | int | bool] = {}
    rest = iter(words)
    for word in rest:
        if word in {"showdown", "disputed", "voided"}:
            asked[word] = True
        elif word in {"player", "pot"}:
            value = next(rest, "")
            if not value:
                raise ValueError(f"{word} of what? {FIND}")
            asked["player" if word == "player" else "pot_above"] = value if word == "player" else minor_units(value)
        else:
            raise ValueError(f"{word!r} cannot be looked for: {FIND}")
    if not asked:
        raise ValueError(FIND)
    return Wanted(**asked)  # type: ignore[arg-type]


def place(timeline: Timeline, version: int) -> str:
    """Say where a version is: its hand, and how far that is."""
    hand = navigation.hand_at(timeline, version)
    of = timeline.hands.all[-1].hand_no if timeline.hands.all else 0
    where = f"hand {hand.hand_no} of {of}" if hand is not None else "before the first hand"
    if hand is not None and version > hand.last:
        where = f"after {where}"
    return f"{where} · version {version} of {timeline.version}"


def bar(timeline: Timeline, version: int, width: int, matches: list[int]) -> str:
    """Draw the timeline: ``|`` where hands begin (if they are few), ``!`` where one was disputed, ``*`` what was found,
    ``#`` here.
    """
    if width < 1 or not timeline.version:
        return ""
    cells = ["-"] * width

    def put(at: int, sign: str) -> None:
        cells[min((at - 1) * width // timeline.version, width - 1)] = sign

    hands = timeline.hands.all
    if len(hands) <= width // 2:
        for hand in hands:
            put(hand.first, "|")
    for match in matches[:width]:
        put(match, "*")
    for hand in hands:
        if hand.was_disputed:
            put(hand.first, "!")
    put(version, "#")
    return "".join(cells)

"""How a table plays, for whoever chooses one: folded from what happens there, of its last hands.

Sums alone, and nothing that was not public: no card, nobody's name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import CardsDealt, Event, HandEnded, HandStarted, PotAwarded

HANDS = 50
"""Hands that count: about half an hour of them."""

HOUR_MS = 3_600_000
"""How long a hand counts."""

FOURTH = 4


COUNTED = frozenset({HandStarted, CardsDealt, PotAwarded, HandEnded})
"""What changes it."""


class Played(NamedTuple):
    """A hand that ended: when, what its pots paid, how many were dealt in, and how many got a card on fourth street."""

    at_ms: int
    pot: int
    dealt_in: int
    on_fourth: int


class Figures:
    """Of one table. What a rebuild folds counts as if this process had seen it."""

    __slots__ = ("_dealt_in", "_hands", "_on_fourth", "_pot")

    def __init__(self) -> None:
        self._hands: deque[Played] = deque(maxlen=HANDS)
        self._pot = self._dealt_in = self._on_fourth = 0

    def fold(self, events: Sequence[Event], at_ms: int) -> None:
        """Take in a commit. A hand that is voided is not counted: the next one begins afresh."""
        for event in events:
            if isinstance(event, HandStarted):
                self._pot, self._dealt_in, self._on_fourth = 0, len(event.dealt_in), 0
            elif isinstance(event, CardsDealt):
                if event.street == FOURTH:
                    self._on_fourth += len(event.up)
            elif isinstance(event, PotAwarded):
                self._pot += event.amount
            elif isinstance(event, HandEnded):
                self._hands.append(Played(at_ms, self._pot, self._dealt_in, self._on_fourth))

    def are_old(self, now_ms: int) -> bool:
        """Whether there are hands, but none that still counts."""
        return bool(self._hands) and self._hands[-1].at_ms + HOUR_MS < now_ms

    def forget(self) -> None:
        """Count no hand that has ended."""
        self._hands.clear()

    def told(self) -> pb.TableFigures | None:
        """Return them for the wire; None where no hand counts."""
        if not self._hands:
            return None
        last = self._hands[-1]
        counted = [hand for hand in self._hands if hand.at_ms + HOUR_MS >= last.at_ms]
        dealt_in = sum(hand.dealt_in for hand in counted)
        took_ms = last.at_ms - counted[0].at_ms
        return pb.TableFigures(
            hands=len(counted),
            average_pot=sum(hand.pot for hand in counted) // len(counted),
            hands_per_hour=round((len(counted) - 1) * HOUR_MS / took_ms) if took_ms > 0 else 0,
            fourth_street_percent=round(100 * sum(hand.on_fourth for hand in counted) / dealt_in) if dealt_in else 0,
            last_hand_at_ms=last.at_ms,
        )

"""Which hands a table has seen, whose they were, and where in its log they stand: folded with the table.

Numbers alone, some 170 bytes a hand with six players: a hundred thousand hands are 17 MB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stud_core.events import BuyInRequested, Event, HandEnded, HandStarted, HandVoided, PotAwarded, Profile

COUNTED = frozenset({BuyInRequested, HandStarted, PotAwarded, HandEnded, HandVoided})
"""What changes it."""


class Place(NamedTuple):
    """By these hands of several tables have an order."""

    ended_at_ms: int
    table: str
    hand_no: int


class Ended(NamedTuple):
    """A hand that is over: where its range begins and ends in the log, when it began and ended, what its pots paid."""

    from_version: int
    version: int
    started_at_ms: int
    ended_at_ms: int
    pot: int
    voided: bool


class _Of:
    """An account's hands: their numbers, ascending, and what it won or lost in each."""

    __slots__ = ("hands", "nets")

    def __init__(self) -> None:
        self.hands = array("q")
        self.nets = array("q")


class HandIndex:
    """Of one table. Hands are numbered from 1 without a gap."""

    __slots__ = ("_dealt_in", "_numbers", "_of", "_pot", "_profiles", "_started_at_ms")

    WIDTH = len(Ended._fields)

    def __init__(self) -> None:
        self._numbers = array("q")
        self._of: dict[str, _Of] = {}
        self._profiles: dict[int, Profile] = {}
        self._dealt_in: tuple[str, ...] = ()
        self._pot = self._started_at_ms = 0

    def __len__(self) -> int:
        return len(self._numbers) // self.WIDTH

    def fold(self, events: Sequence[Event], version: int, at_ms: int) -> None:
        """Take in a commit."""
        for event in events:
            if isinstance(event, BuyInRequested):
                if event.profile is not None:
                    self._profiles[event.sitting_no] = event.profile
            elif isinstance(event, HandStarted):
                self._dealt_in = tuple([player.account for player in event.dealt_in])
                self._started_at_ms, self._pot = at_ms, 0
            elif isinstance(event, PotAwarded):
                self._pot += event.amount
            elif isinstance(event, (HandEnded, HandVoided)):
                self._end(event, version, at_ms)

    def _end(self, event: HandEnded | HandVoided, version: int, at_ms: int) -> None:
        voided = isinstance(event, HandVoided)
        nets = {} if isinstance(event, HandVoided) else {delta.account: delta.delta for delta in event.deltas}
        ended = Ended(event.from_version, version, self._started_at_ms, at_ms, 0 if voided else self._pot, voided)
        self._numbers.extend(ended)
        for account in self._dealt_in:
            of = self._of.setdefault(account, _Of())
            of.hands.append(event.hand_no)
            of.nets.append(nets.get(account, 0))

    def hand(self, hand_no: int) -> Ended | None:
        """Return a hand that is over; None where there is none of that number."""
        if not 1 <= hand_no <= len(self):
            return None
        end = hand_no * self.WIDTH
        begins, ends, started, ended, pot, voided = self._numbers[end - self.WIDTH : end]
        return Ended(begins, ends, started, ended, pot, bool(voided))

    def profile(self, sitting_no: int) -> Profile | None:
        """Return how the player of a sitting is called, who may have left since."""
        return self._profiles.get(sitting_no)

    def was_in(self, account: str, hand_no: int) -> bool:
        """Whether an account was dealt into a hand that is over."""
        of = self._of.get(account)
        if of is None:
            return False
        at = bisect_left(of.hands, hand_no)
        return at < len(of.hands) and of.hands[at] == hand_no

    def before(self, account: str, table_id: str, place: Place | None) -> Iterator[tuple[Place, int]]:
        """Yield where an account's hands before a place stand, and what it won or lost in each, the latest first."""
        of = self._of.get(account)
        if of is None:
            return
        end = len(of.hands)
        if place is not None:
            end = bisect_left(of.hands, place, key=lambda hand_no: self._place(table_id, hand_no))
        for at in range(end - 1, -1, -1):
            yield self._place(table_id, of.hands[at]), of.nets[at]

    def _place(self, table_id: str, hand_no: int) -> Place:
        ended = self.hand(hand_no)
        return Place(0 if ended is None else ended.ended_at_ms, table_id, hand_no)

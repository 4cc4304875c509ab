"""What `stud verify` looks at and what it finds: a hand as its table's log tells it, and the problems of all logs."""

from __future__ import annotations

import msgspec

from stud_cli.inspect.lost_ends import Causes
from stud_core import events as ev


class Hand(msgspec.Struct):
    """What the table's log says of one hand, for comparison with deck and verdict."""

    hand_no: int
    ready: list[ev.DeckReady] = msgspec.field(default_factory=list)
    deals: list[ev.CardsDealt] = msgspec.field(default_factory=list)
    from_version: int = 0
    version: int = 0
    head_hash: bytes = b""
    ended: ev.HandEnded | ev.HandVoided | None = None
    taken: ev.TableHandVerified | ev.TableHandResolved | None = None
    """The verdict on it as the table took it."""
    taken_at: int = 0
    resolved_at: int = 0
    """Where the table took two operators' decision on it: they knew what was wrong with it before."""


class Problem(msgspec.Struct, frozen=True):
    """Something wrong: in which table, at which version of the log it concerns, what."""

    table: str
    version: int
    what: str


class Verification(msgspec.Struct):
    """What was looked at and what was found."""

    tables: int = 0
    hands: int = 0
    decks_closed: int = 0
    """Those of finished hands, where there is a key to open them."""
    decks_opened: int = 0
    decks_of_another_key: int = 0
    problems: list[Problem] = msgspec.field(default_factory=list)
    causes: Causes = msgspec.field(default_factory=Causes)

    def add(self, table: str, version: int, what: str) -> None:
        """Note a problem, once."""
        problem = Problem(table, version, what)
        if problem not in self.problems:
            self.problems.append(problem)

    @property
    def has_another_key(self) -> bool:
        """Whether no deck at all was sealed under the key at hand: then it is not this log's key."""
        return 0 < self.decks_closed == self.decks_of_another_key

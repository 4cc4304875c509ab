"""What the referee has said and no ledger has booked yet: final verdicts that wait, and hands in dispute.

A view of the verdict logs, made again at every start. The feed keeps it up, and a cash-out reads on to the end of the
log first (architecture 5, Leave), so that no verdict is overtaken. Costs one pass over the verdict logs at start, and
in memory the verdicts that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import structlog

from stud_core import verdict_events as ve
from stud_core.ledger.commands import SettleHand
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_wire.codec import UnknownEventError
from stud_wire.commits import decode_commit

Final = ve.HandVerified | ve.HandResolved
log = structlog.get_logger()


class Verdict(msgspec.Struct, frozen=True):
    """A final verdict and its version in the verdict log."""

    event: Final
    version: int

    @property
    def command(self) -> SettleHand:
        """What it asks of the ledger."""
        event = self.event
        return SettleHand(event.table, event.hand_no, self.version, event.postings, event.rake)


class Verdicts:
    """The verdict logs of all shards, as far as read."""

    def __init__(self, eventlog: EventLog) -> None:
        self._log = eventlog
        self._read_to = dict.fromkeys(range(keys.SHARDS), 0)
        self._final: dict[str, int] = {}  # table -> last hand with a final verdict
        self._waiting: dict[str, list[Verdict]] = {}
        self._disputes: dict[str, dict[int, frozenset[int]]] = {}  # table -> hand -> sittings dealt in

    async def load(self, settled: Callable[[str, str], int]) -> None:
        """Read everything; of each table what is above ``settled(currency, table)``, its last hand that is booked."""
        for shard in range(keys.SHARDS):  # one by one: side by side they would wait for connections
            try:
                await self.advance(shard, settled)
            except UnknownEventError as why:  # the reader will stand still there, and say so
                log.critical("verdicts_unknown", shard=shard, version=self._read_to[shard] + 1, why=str(why))

    async def advance(self, shard: int, settled: Callable[[str, str], int] | None = None) -> None:
        """Read a shard's log on to its end. Raises EventLogError, WireError."""
        async for stored in self._log.read_all(keys.verdicts(shard), after=self._read_to[shard]):
            self.note(shard, stored.version, decode_commit(stored.body).events, settled)

    def note(
        self, shard: int, version: int, events: Iterable[Any], settled: Callable[[str, str], int] | None = None
    ) -> None:
        """Fold one commit; one that was read before changes nothing."""
        if version != self._read_to[shard] + 1:
            return
        self._read_to[shard] = version
        for event in events:
            if isinstance(event, ve.HandDisputed):
                if event.hand_no > self._final.get(event.table, 0):
                    self._disputes.setdefault(event.table, {})[event.hand_no] = frozenset(_dealt_in(event))
            elif isinstance(event, Final) and event.hand_no > self._final.get(event.table, 0):
                self._final[event.table] = event.hand_no
                if isinstance(event, ve.HandResolved):
                    self._drop_disputes(event.table, event.hand_no)
                if settled is None or event.hand_no > settled(event.currency, event.table):
                    self._waiting.setdefault(event.table, []).append(Verdict(event, version))

    def _drop_disputes(self, table: str, up_to: int) -> None:
        disputes = self._disputes.get(table, {})
        for hand_no in [hand_no for hand_no in disputes if hand_no <= up_to]:
            del disputes[hand_no]
        if not disputes:
            self._disputes.pop(table, None)

    def booked(self, table: str, up_to: int) -> None:
        """Forget the verdicts up to a hand that is durably settled."""
        left = [verdict for verdict in self._waiting.get(table, ()) if verdict.event.hand_no > up_to]
        if left:
            self._waiting[table] = left
        else:
            self._waiting.pop(table, None)

    def waiting(self, table: str) -> list[Verdict]:
        """Return a table's final verdicts that are not known to be booked, in hand order."""
        return list(self._waiting.get(table, ()))

    def tables(self) -> list[str]:
        """Return the tables of which a verdict waits."""
        return list(self._waiting)

    def contradicted(self, verdict: Verdict) -> bool:
        """Whether a hand in dispute is called verified all the same: only operators end a dispute."""
        return isinstance(verdict.event, ve.HandVerified) and verdict.event.hand_no in self._disputes.get(
            verdict.event.table, {}
        )

    def in_dispute(self, table: str, sitting_no: int) -> bool:
        """Whether a sitting was dealt into a hand in dispute."""
        return any(sitting_no in sittings for sittings in self._disputes.get(table, {}).values())

    def last_hand(self, table: str, sitting_no: int) -> int:
        """Return the last hand, in dispute or not yet booked, into which the referee saw a sitting dealt; 0 if none."""
        hands = [hand_no for hand_no, dealt_in in self._disputes.get(table, {}).items() if sitting_no in dealt_in]
        for verdict in self._waiting.get(table, ()):
            hands += [verdict.event.hand_no for posting in verdict.event.postings if posting.sitting_no == sitting_no]
        return max(hands, default=0)


def _dealt_in(event: ve.HandDisputed) -> list[int]:
    return [posting.sitting_no for posting in (*event.table_postings, *event.referee_postings)]

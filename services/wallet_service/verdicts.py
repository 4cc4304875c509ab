"""What the referee has said and no ledger has booked yet: final verdicts that wait, and hands in dispute.

A view of the verdict logs, read in the order of each log and never entry by entry as they are handed over: lines of
tables are handled side by side, and some are parked, so that what one table's line shows says nothing of the others.
Made again at every start; costs one pass over the verdict logs then, and in memory the verdicts that wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from stud_core import verdict_events as ve
from stud_core.ledger.commands import SettleHand
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.types import ChainBroken
from stud_wire.codec import UnknownEventError, WireError
from stud_wire.commits import decode_commit

Final = ve.HandVerified | ve.HandResolved
DISPUTED = "HAND_DISPUTED"
log = structlog.get_logger()


class Verdict(msgspec.Struct, frozen=True):
    """A final verdict and its version in the verdict log; ``refusal`` says why it must not be booked."""

    event: Final
    version: int
    refusal: str = ""

    @property
    def command(self) -> SettleHand:
        """What it asks of the ledger."""
        event = self.event
        return SettleHand(event.table, event.hand_no, self.version, event.postings, event.rake, self.refusal)


class Verdicts:
    """The verdict logs of all shards, as far as read. ``settled(currency, table)``: the last hand that is booked."""

    def __init__(
        self,
        eventlog: CommitLog,
        settled: Callable[[str, str], int],
        on_dispute: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_dispute`` is told when a dispute has begun or is over."""
        self._log = eventlog
        self._settled = settled
        self._on_dispute = on_dispute
        self._read_to = dict.fromkeys(range(keys.SHARDS), 0)
        self._reading = {shard: asyncio.Lock() for shard in range(keys.SHARDS)}
        self._unread: dict[int, str] = {}
        self._waiting: dict[str, dict[int, Verdict]] = {}  # table -> hand
        self._disputes: dict[str, dict[int, frozenset[int]]] = {}  # table -> hand -> sittings dealt in

    async def load(self) -> None:
        """Read everything there is. A shard whose log is broken, or newer than this build, waits for operators (its
        feed stands still, nothing of it is paid out) and the others do not. Raises EventLogError.
        """
        for shard in range(keys.SHARDS):  # one by one: side by side they would wait for connections
            try:
                await self.advance(shard)
            except (ChainBroken, UnknownEventError) as why:
                if self._unread.get(shard) != str(why):
                    log.critical("verdicts_broken", shard=shard, version=self._read_to[shard] + 1, why=str(why))
                self._unread[shard] = str(why)
            else:
                self._unread.pop(shard, None)

    async def advance(self, shard: int, up_to: int | None = None) -> None:
        """Read a shard's log on to its end; if a version is named, only where that is not known yet.

        Raises EventLogError, UnknownEventError; not for what comes after that version.
        """
        async with self._reading[shard]:
            if up_to is not None and up_to <= self._read_to[shard]:
                return
            try:
                async for stored in self._log.read_all(keys.verdicts(shard), after=self._read_to[shard]):
                    for event in decode_commit(stored.body).events:
                        self._fold(event, stored.version)
                    self._read_to[shard] = stored.version
            except WireError as why:
                if up_to is not None and up_to <= self._read_to[shard]:
                    return
                if isinstance(why, UnknownEventError):  # a newer build will read it
                    raise
                raise ChainBroken(keys.verdicts(shard), self._read_to[shard] + 1, f"it cannot be read: {why}") from why

    def _fold(self, event: Any, version: int) -> None:
        if not isinstance(event, ve.HandDisputed | Final):
            return
        table, hand_no = event.table, event.hand_no
        known = self._waiting.get(table, {}).get(hand_no)
        if hand_no <= self._settled(event.currency, table) or (known is not None and not known.refusal):
            return  # it has its final verdict
        if isinstance(event, ve.HandDisputed):
            self._disputes.setdefault(table, {})[hand_no] = frozenset(_dealt_in(event))
            self._on_dispute()
            return
        if isinstance(event, ve.HandResolved):
            self._drop_disputes(table, hand_no)
        refusal = DISPUTED if hand_no in self._disputes.get(table, {}) else ""  # only operators end a dispute
        self._waiting.setdefault(table, {})[hand_no] = Verdict(event, version, refusal)

    def _drop_disputes(self, table: str, up_to: int) -> None:
        disputes = self._disputes.get(table, {})
        for hand_no in [hand_no for hand_no in disputes if hand_no <= up_to]:
            del disputes[hand_no]
        if not disputes and self._disputes.pop(table, None) is not None:
            self._on_dispute()

    def booked(self, table: str, up_to: int) -> None:
        """Forget the verdicts up to a hand that is durably settled."""
        waiting = self._waiting.get(table, {})
        left = {hand_no: verdict for hand_no, verdict in waiting.items() if hand_no > up_to}
        if left:
            self._waiting[table] = left
        else:
            self._waiting.pop(table, None)

    def waiting(self, table: str) -> list[Verdict]:
        """Return a table's final verdicts that are not known to be booked, in hand order."""
        return [verdict for _, verdict in sorted(self._waiting.get(table, {}).items())]

    def tables(self) -> list[str]:
        """Return the tables with a verdict that waits."""
        return list(self._waiting)

    def in_dispute(self, table: str, sitting_no: int) -> bool:
        """Whether a sitting was dealt into a hand in dispute."""
        return any(sitting_no in sittings for sittings in self._disputes.get(table, {}).values())

    def last_hand(self, table: str, sitting_no: int) -> int:
        """Return the last hand, in dispute or not yet booked, into which the referee saw a sitting dealt; 0 if none."""
        hands = [hand_no for hand_no, dealt_in in self._disputes.get(table, {}).items() if sitting_no in dealt_in]
        for hand_no, verdict in self._waiting.get(table, {}).items():
            hands += [hand_no for posting in verdict.event.postings if posting.sitting_no == sitting_no]
        return max(hands, default=0)


def _dealt_in(event: ve.HandDisputed) -> list[int]:
    return [posting.sitting_no for posting in (*event.table_postings, *event.referee_postings)]

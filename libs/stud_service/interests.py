"""Who has an interest in what is decided about a table, for services that keep no table: read from the table's log.

A log is folded once, and from there on each time somebody asks (ADR 0009). What cannot be read is skipped: operators
must be able to decide about a hand whose log was damaged, and whoever is found has an interest all the same.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

import msgspec
from google.protobuf.message import DecodeError

from stud.events.v1 import commit_pb2
from stud_core.deck_events import LogRef
from stud_core.interest import dealt_in_text, seated_text
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import commit_at, read_forwards
from stud_eventlog.types import StoredCommit
from stud_service.refusals import Refused

CAPACITY = 1024
"""Tables kept in memory: those about which somebody decided lately."""


class _Known(msgspec.Struct):
    """What a table's log says up to ``version``, whose hash is ``hash``."""

    version: int = 0
    hash: bytes = b""
    sitting: dict[int, str] = msgspec.field(default_factory=dict)  # sittings that are not final, and their accounts
    hand_no: int = 0
    dealt_in: frozenset[str] = frozenset()  # of the last hand that was begun


class Interests:
    """Answers for any table. Every call may raise EventLogError."""

    def __init__(self, log: CommitLog, capacity: int = CAPACITY) -> None:
        self._log = log
        self._capacity = capacity
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._turn = asyncio.Lock()
        """One log is read at a time: whoever asks about many long ones waits, and nobody else does."""

    async def refuse_seated(self, account: str, table: str, role: str = "operator") -> None:
        """Raise Refused(OWN_INTEREST) where somebody has a sitting at the table that is not final; ``role`` is whose
        decision it is.
        """
        if account in (await self._read(table)).sitting.values():
            raise Refused("OWN_INTEREST", seated_text(role))

    async def of_hand(self, table: str, hand_no: int) -> frozenset[str]:
        """Return who has a sitting at the table that is not final, or was dealt into the hand if it is the last one."""
        known = await self._read(table)
        return frozenset(known.sitting.values()) | (known.dealt_in if known.hand_no == hand_no else frozenset())

    async def _read(self, table: str) -> _Known:
        stream = keys.table_log(keys.shard_of(table), table)
        async with self._turn:
            known = self._known.get(table)
            if known is None or not await self._still_so(stream, known):
                known = self._known[table] = _Known()  # kept from here on: a caller who gives up may ask again
            self._known.move_to_end(table)
            async for commit in read_forwards(self._log, stream, known.version):
                _fold(known, commit)
            if not known.version:
                del self._known[table]
            while len(self._known) > self._capacity:
                self._known.popitem(last=False)
            return known

    async def _still_so(self, stream: str, known: _Known) -> bool:
        """Whether the log still has what was read: it may have been cut, or put back from a copy."""
        last = await commit_at(self._log, stream, known.version)
        return last is not None and last.hash == known.hash


async def dealt_into(log: CommitLog, hand: LogRef, hand_no: int) -> frozenset[str] | None:
    """Return who was dealt into a hand, by its range of the table's log; None where that does not say. Raises
    EventLogError.
    """
    async for commit in read_forwards(log, hand.stream, hand.from_version - 1, up_to=hand.to_version):
        for event in _events(commit):
            if event.WhichOneof("body") == "hand_started" and event.hand_started.hand_no == hand_no:
                return _players(event)
    return None


def refuse_dealt_in(account: str, players: Iterable[str], hand_no: int, role: str) -> None:
    """Raise Refused(OWN_INTEREST) where somebody was dealt into the hand that ``role`` is to decide about."""
    if account in players:
        raise Refused("OWN_INTEREST", dealt_in_text(hand_no, role))


def _events(commit: StoredCommit) -> Iterable[commit_pb2.Event]:
    try:
        return commit_pb2.Commit.FromString(commit.body).events  # decoding everything would take ten times as long
    except DecodeError:
        return ()


def _fold(known: _Known, commit: StoredCommit) -> None:
    """As the core folds sittings: a reservation that ends may still be owed what its escrow holds."""
    known.version, known.hash = commit.version, commit.hash
    for event in _events(commit):
        match event.WhichOneof("body"):
            case "buy_in_requested":
                known.sitting[event.buy_in_requested.sitting_no] = event.buy_in_requested.account
            case "cash_out_requested":
                known.sitting[event.cash_out_requested.sitting_no] = event.cash_out_requested.account
            case "seat_released":
                known.sitting.pop(event.seat_released.sitting_no, None)
            case "player_left":
                known.sitting.pop(event.player_left.sitting_no, None)
            case "hand_started":
                known.hand_no, known.dealt_in = event.hand_started.hand_no, _players(event)


def _players(event: commit_pb2.Event) -> frozenset[str]:
    return frozenset([player.account for player in event.hand_started.dealt_in])

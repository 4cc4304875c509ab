"""Finds in the logs what a finished hand left behind. Reads leniently: operators must be able to decide about a hand
whose log was damaged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from time import perf_counter
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from stud.events.v1 import commit_pb2
from stud_core import events as ev
from stud_core.deck_events import DeckClosed
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import commit_at, read_forwards
from stud_eventlog.types import StoredCommit
from stud_service.limits import Share
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit, read_event

End = ev.HandEnded | ev.HandVoided


class Streams(msgspec.Struct, frozen=True):
    """The logs of one table."""

    table_id: str
    shard: int
    table: str
    deck: str

    @classmethod
    def of(cls, table_id: str) -> Streams:
        """Name the logs of a table; raises ValueError for an id that cannot be one."""
        shard = keys.shard_of(table_id)
        return cls(table_id, shard, keys.table_log(shard, table_id), keys.deck_log(shard, table_id))


class Trace(msgspec.Struct, frozen=True):
    """What is known of a hand: whether the table has begun it, how it ended there, the dealer's notice of its end."""

    begun: bool = False
    end: End | None = None
    closed: DeckClosed | None = None

    @property
    def is_over(self) -> bool:
        return self.end is not None or self.closed is not None


async def trace(
    log: CommitLog, streams: Streams, hand_no: int, hint: DeckClosed | None = None, share: Share | None = None
) -> Trace:
    """Look a hand up in the logs; ``hint`` is the dealer's notice where it is at hand. For mere questions, in a
    ``share`` of the loop's time.
    """
    closed = hint or await find_closed(log, streams.deck, hand_no, share)
    if closed is not None:
        end = await _end_at(log, streams.table, closed.table.to_version, hand_no)
        if end is not None:
            return Trace(begun=True, end=end, closed=closed)
    begun = False
    async for commit in _commits(log, streams.table, share):
        for event in _events(commit):
            if isinstance(event, End) and event.hand_no == hand_no:
                return Trace(begun=True, end=event, closed=closed)
            if isinstance(event, ev.DeckReady | ev.HandStarted) and event.hand_no == hand_no:
                begun = True
    return Trace(begun=begun, end=None, closed=closed)


async def find_closed(log: CommitLog, stream: str, hand_no: int, share: Share | None = None) -> DeckClosed | None:
    """Return the dealer's notice that a hand is over; None if there is none in the deck's log."""
    async for commit in _commits(log, stream, share):
        try:
            message = commit_pb2.Commit.FromString(commit.body)
        except DecodeError:
            continue
        for event in message.events:  # decoding everything would take ten times as long
            if event.WhichOneof("body") == "deck_closed" and event.deck_closed.hand_no == hand_no:
                return _read_closed(event)
    return None


def _read_closed(event: commit_pb2.Event) -> DeckClosed | None:
    try:
        closed = read_event(event)
    except WireError:
        return None
    return closed if isinstance(closed, DeckClosed) else None


async def currency_of(log: CommitLog, stream: str) -> str:
    """Return a table's currency from the first event that names it; empty when none does."""
    async for commit in read_forwards(log, stream):
        for event in _events(commit):
            if isinstance(event, ev.TableOpened):
                return event.config.currency
            if isinstance(event, ev.BuyInRequested | ev.TopUpRequested | ev.CashOutRequested):
                return event.currency
    return ""


async def exists(log: CommitLog, stream: str) -> bool:
    """Whether a log holds anything."""
    return (await log.head(stream)).version > 0


async def _end_at(log: CommitLog, stream: str, version: int, hand_no: int) -> End | None:
    commit = await commit_at(log, stream, version)
    for event in _events(commit) if commit is not None else ():
        if isinstance(event, End) and event.hand_no == hand_no:
            return event
    return None


def _events(commit: StoredCommit) -> Sequence[Any]:
    try:
        return decode_commit(commit.body).events
    except WireError:
        return ()


async def _commits(log: CommitLog, stream: str, share: Share | None) -> AsyncIterator[StoredCommit]:
    async for commit in read_forwards(log, stream):
        began = perf_counter()
        yield commit
        if share is not None:  # the time until the next one is asked for is what this one took
            share.worked(perf_counter() - began)
            await share.rest()

"""A table from nothing but its log."""

from __future__ import annotations

from stud_core.evolve import fold_into
from stud_core.state import Table
from stud_eventlog.log import CommitLog
from stud_eventlog.types import Head, StoredCommit
from stud_service.limits import Share
from stud_wire.commits import decode_commit
from table_service import figures, hand_index
from table_service.figures import Figures
from table_service.hand_index import HandIndex
from table_service.requests import RequestMemory

_COUNTED = figures.COUNTED | hand_index.COUNTED
"""Asked of every event there ever was; most are turns and actions."""


class Rebuilt:
    """What a fold of the whole log leaves: the table, its head, and what the shell must remember."""

    __slots__ = ("at_ms", "ended_at_ms", "figures", "hands", "head", "requests", "table")

    def __init__(self) -> None:
        self.table = Table()
        self.head = Head(0, bytes(32))
        self.requests = RequestMemory()
        self.figures = Figures()
        self.hands = HandIndex()
        self.at_ms = 0
        self.ended_at_ms = 0


async def rebuild(log: CommitLog, stream: str) -> Rebuilt:
    """Fold a table's log. Raises ChainBroken (a changed byte), WireError (a log newer than this build)."""
    out, stored = Rebuilt(), None
    async for stored in log.read_all(stream):
        _fold(out, stored)
    return _ended(out, stored)


async def rebuild_beside(log: CommitLog, stream: str, share: Share) -> Rebuilt:
    """Fold a table's log while others play: one table at a time, in a part of the loop's time. Raises as above."""
    out, stored = Rebuilt(), None
    async with share.alone:
        async for stored in log.read_all(stream):
            with share.work():
                _fold(out, stored)
            await share.rest()
    return _ended(out, stored)


def _fold(out: Rebuilt, stored: StoredCommit) -> None:
    """Nobody else holds the table yet, so it is changed in place."""
    commit = decode_commit(stored.body)
    table, ended = out.table, out.table.ended_at_version
    fold_into(table, commit.events, stored.version)
    out.at_ms = commit.meta.at_ms
    out.requests.fold(stored.version, commit.meta, commit.events)
    if not _COUNTED.isdisjoint(map(type, commit.events)):
        out.figures.fold(commit.events, out.at_ms)
        out.hands.fold(commit.events, stored.version, out.at_ms)
    if table.ended_at_version != ended:
        out.ended_at_ms = commit.meta.at_ms


def _ended(out: Rebuilt, last: StoredCommit | None) -> Rebuilt:
    """Note where the log ends: reading it has checked every hash, and only the last one is needed."""
    if last is not None:
        out.head = last.head
    return out

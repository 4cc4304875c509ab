"""A table from nothing but its log."""

from __future__ import annotations

from stud_core import events as ev
from stud_core.evolve import evolve
from stud_core.state import Table
from stud_eventlog.log import CommitLog
from stud_eventlog.types import Head, StoredCommit
from stud_service.limits import Share
from stud_wire.commits import decode_commit
from table_service.requests import RequestMemory


class Rebuilt:
    """What a fold of the whole log leaves: the table, its head, and what the shell must remember."""

    __slots__ = ("at_ms", "ended_at_ms", "head", "requests", "table")

    def __init__(self) -> None:
        self.table = Table()
        self.head = Head(0, bytes(32))
        self.requests = RequestMemory()
        self.at_ms = 0
        self.ended_at_ms = 0


async def rebuild(log: CommitLog, stream: str) -> Rebuilt:
    """Fold a table's log. Raises ChainBroken (a changed byte), WireError (a log newer than this build)."""
    out = Rebuilt()
    async for stored in log.read_all(stream):
        _fold(out, stored)
    return out


async def rebuild_beside(log: CommitLog, stream: str, share: Share) -> Rebuilt:
    """Fold a table's log while others play: one table at a time, in a part of the loop's time. Raises as above."""
    out = Rebuilt()
    async with share.alone:
        async for stored in log.read_all(stream):
            with share.work():
                _fold(out, stored)
            await share.rest()
    return out


def _fold(out: Rebuilt, stored: StoredCommit) -> None:
    commit = decode_commit(stored.body)
    out.table = evolve(out.table, commit.events, stored.version)
    out.head = Head(stored.version, stored.hash)
    out.at_ms = commit.meta.at_ms
    out.requests.fold(stored.version, commit.meta, commit.events)
    for event in commit.events:
        if isinstance(event, ev.HandEnded | ev.HandVoided):
            out.ended_at_ms = commit.meta.at_ms

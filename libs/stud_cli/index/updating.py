"""Brings the index up to date with the log: each table from its cursor on, from its start where that does not fit.

A cursor fits where the log still has the commit that was read last, with its hash. Everything else (a log put back from
a copy, another log in its place) is read anew. What is read is chained, so an index never says more than a sound log
does; a table whose log is broken is indexed as far as it is sound, and named.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from stud_cli.index.gathering import KINDS, Gathered, Notes, gather
from stud_cli.index.store import Cursor, Moved, Store
from stud_eventlog import keys
from stud_eventlog.log import CommitLog, EventLog
from stud_eventlog.reading import read_pages
from stud_eventlog.types import ChainBroken, StoredCommit
from stud_wire.codec import WireError
from stud_wire.commits import DecodedCommit, decode_commit

TOGETHER = 100
"""Tables whose cursors are looked at together."""

PAGE = 500
"""Commits that are read, and indexed in one change: about fifteen hands."""

FEW = 16
"""Commits that are read with the look at a cursor: reads of so few share a pipeline."""


class Unread(msgspec.Struct, frozen=True):
    """A table whose log cannot be read on behind a version."""

    table: str
    version: int
    why: str


class Progress(msgspec.Struct):
    """How far it is: commits and hands that were read, of how many commits."""

    commits: int = 0
    of: int = 0
    hands: int = 0


class Update(msgspec.Struct):
    """What was done."""

    tables: int = 0
    anew: int = 0
    progress: Progress = msgspec.field(default_factory=Progress)
    unread: list[Unread] = msgspec.field(default_factory=list)


class _Behind(msgspec.Struct):
    """A table to read on: the commits that are at hand already, and its last version."""

    table: str
    cursor: Cursor
    first: list[StoredCommit]
    end: int


Show = Callable[[Progress], None]


async def bring_up_to_date(log: EventLog, store: Store, show: Show) -> Update:
    """Read what is new in all tables' logs. ``show`` is told how far it is. Raises EventLogError, sqlite3.Error."""
    tables = await log.scan_streams("table")
    known = store.cursors()
    done = Update(tables=len(tables))
    gone = known.keys() - set(tables)
    if gone:
        store.forget(gone)
    behind: list[_Behind] = []
    for start in range(0, len(tables), TOGETHER):
        some = tables[start : start + TOGETHER]
        looked = await asyncio.gather(*[_look(log, name, known.get(name, Cursor())) for name in some])
        behind += [found for found in looked if found is not None]
    done.progress.of = sum([table.end - table.cursor.version for table in behind])
    for table in behind:
        if table.cursor.version == 0 and table.table in known:
            store.forget([table.table])
            done.anew += 1
        await _read_on(log, store, table, done, show)
    return done


async def _look(log: CommitLog, table: str, cursor: Cursor) -> _Behind | None:
    """Return how a table is to be read on; None where there is nothing new."""
    stream = _stream(table)
    try:
        commits = await log.read(stream, max(cursor.version - 1, 0), FEW)
    except ChainBroken as broken:  # said when it is read
        return _Behind(table, cursor, [], broken.version)
    fits = cursor.version == 0 or (bool(commits) and (commits[0].version, commits[0].hash) == cursor)
    if not fits:
        return _Behind(table, Cursor(), [], await _end(log, stream))
    news = commits if cursor.version == 0 else commits[1:]
    if not news:
        return None
    if len(commits) < FEW:
        return _Behind(table, cursor, news, news[-1].version)
    return _Behind(table, cursor, [], await _end(log, stream))


async def _end(log: CommitLog, stream: str) -> int:
    try:
        return (await log.head(stream)).version
    except ChainBroken as broken:  # said when it is read
        return broken.version


async def _read_on(log: EventLog, store: Store, table: _Behind, done: Update, show: Show) -> None:
    """Read one table to its end. Where another process was faster, from where that one is."""
    cursor, first = table.cursor, table.first
    while True:
        try:
            async for page in _pages(log, table.table, cursor, first):
                cursor = _take(store, table.table, cursor, page, done)
                show(done.progress)
        except Moved:
            cursor, first = store.at(table.table)[0], []
        except (ChainBroken, WireError) as why:
            done.unread.append(Unread(table.table, getattr(why, "version", 0) or cursor.version + 1, _why(why)))
            return
        else:
            return


def _why(error: Exception) -> str:
    return error.why if isinstance(error, ChainBroken) else str(error)


async def _pages(
    log: CommitLog, table: str, cursor: Cursor, first: Sequence[StoredCommit]
) -> AsyncIterator[Sequence[StoredCommit]]:
    if first:
        yield first
        return
    async for page in read_pages(log, _stream(table), cursor.version, page=PAGE):
        yield page


def _take(store: Store, table: str, cursor: Cursor, page: Sequence[StoredCommit], done: Update) -> Cursor:
    """Index some commits; what comes before a broken one is kept. Raises ChainBroken, WireError, Moved."""
    at, notes = store.at(table) if cursor.version else (cursor, Notes())
    if at != cursor:
        raise Moved(table)
    found = Gathered()
    after, problem = cursor, None
    for stored in page:
        try:
            commit = _sound(stored, after)
        except (ChainBroken, WireError) as why:
            problem = why
            break
        gather(notes, commit.events, stored.version, commit.meta.at_ms, found)
        after = Cursor(stored.version, stored.hash)
    if after != cursor:
        store.put(table, cursor, after, notes, found)
    done.progress.commits += after.version - cursor.version
    done.progress.hands += len(found.hands)
    if problem is not None:
        raise problem
    return after


def _sound(stored: StoredCommit, after: Cursor) -> DecodedCommit:
    if stored.version != after.version + 1:
        raise ChainBroken(stored.stream, after.version + 1, "it is missing")
    if stored.prev_hash != after.hash:
        raise ChainBroken(stored.stream, stored.version)
    return decode_commit(stored.body, KINDS)


def _stream(table: str) -> str:
    return keys.table_log(keys.shard_of(table), table)

"""The port, in tiers: what every event log can do. Ask for the tier you need; all of it is for those who open and close
a log, or hand it on.

    Reachable             is it there?
    ├── CommitLog         streams of commits with optimistic concurrency, and an outbox per append
    ├── Feeds             messages in order, read by cursor
    └── DeadLetters       messages that could not be handled, in a line per table
        └── EventLog      all three, and what there is to know about the server

Adapters: `memory.MemoryEventLog` and `redis_streams.RedisEventLog`. Both pass one contract suite
(`tests/contract/test_eventlog_*.py`). No method knows what a body or an event means.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from stud_eventlog.keys import ScanKind
from stud_eventlog.trouble import Memory, Trouble
from stud_eventlog.types import Append, DeadLetter, FeedEntry, Head, StoredCommit, VersionConflict

PAGE = 500
"""Commits per read: about a megabyte, far below what a socket timeout allows."""

OnLogBehind = Callable[[str, Head, Head], None]
"""(stream, acknowledged, found): the log lacks what it had acknowledged and the bytes are not held here."""

OnBatch = Callable[[int, float], None]
"""(commits, seconds): so many were sent together, and this long after that their last answer came, or none."""

OnCursorAhead = Callable[[str, str, str], None]
"""(feed, cursor, last): the cursor is above the feed's last id, or its entry is gone; the feed is read from its start
again.
"""


class Reachable(Protocol):
    @property
    def available(self) -> bool:
        """False from the first failure to reach the log until it answers again and the acknowledged heads were found
        in it.
        """

    async def wait_available(self) -> None: ...


class CommitLog(Reachable, Protocol):
    on_log_behind: OnLogBehind | None
    on_batch: OnBatch | None

    async def append(self, append: Append) -> Head:
        """Writes one commit with its outbox and returns the new head once it is durable.

        Appends that arrive in the same tick share one pipeline. While the outcome is unknown the same append is
        repeated, without end; cancelling the caller does not cancel the write. The same commit id already at
        `expected_version` + 1 is a success and returns the stored head. Raises VersionConflict, LogBehind,
        NotInitialised; LogUnavailable when the log surely did not write.
        """

    async def append_many(self, appends: Sequence[Append]) -> list[Head | VersionConflict]:
        """Writes all in one pipeline, in order; each stands alone, so one may conflict and the next succeed.

        Several for one stream may follow each other (each expecting the head before it). Other errors than a conflict
        are raised after all have been settled.
        """

    async def try_append(self, append: Append) -> None:
        """Writes nothing. Raises LogRefuses where one of its keys is something else or not permitted, LogUnavailable
        where the log does not answer.
        """

    async def head(self, stream: str) -> Head: ...

    async def read(self, stream: str, after: int = 0, limit: int = PAGE) -> list[StoredCommit]:
        """Returns the commits with versions above `after`, in order, unchecked."""

    def read_all(self, stream: str, after: int = 0) -> AsyncIterator[StoredCommit]:
        """Yields every commit above `after`; raises ChainBroken for a log that was emptied, and at the first commit
        that is not the successor of the one before.
        """


class Feeds(Reachable, Protocol):
    on_cursor_ahead: OnCursorAhead | None

    async def read_feeds(self, positions: Mapping[str, str], limit: int = 256, block_ms: int = 1000) -> list[FeedEntry]:
        """Returns at most `limit` entries after the given positions ("0-0" = from the start), in order within each
        feed.

        Waits up to `block_ms` for the first one. A log that is read as a feed (verdicts) may be among them. Meant for
        one reader per process: calls wait for each other.
        """

    async def last_id(self, feed: str) -> str: ...

    async def load_cursors(self, service: str, feeds: Sequence[str]) -> dict[str, str]:
        """Returns the stored position of each feed, "0-0" where there is none."""

    async def store_cursors(self, service: str, cursors: Mapping[str, str]) -> None:
        """Stores positions. A cursor only moves forward, except one that points at nothing its feed still has (a log
        that went back).
        """

    async def trim_feed(self, feed: str, readers: Sequence[str]) -> int:
        """Drops entries below the least cursor of the named services; returns how many. A missing cursor counts as
        zero.
        """


class DeadLetters(Reachable, Protocol):
    """The messages of a table that one of them poisoned, in order."""

    async def park(self, service: str, shard: int, table_id: str, entry: FeedEntry, reason: str) -> bool:
        """Puts a message at the end of the table's parked line; False when it is in the line already."""

    async def parked_tables(self, service: str, shard: int) -> set[str]: ...

    async def dead_list(self, service: str | None = None) -> list[DeadLetter]:
        """Returns all parked messages (of one service), by shard and in order."""

    async def dead_take(self, service: str, shard: int, table_id: str) -> list[DeadLetter]:
        """Returns a table's parked line in order. It stays parked until `dead_discard`, so that a crash in between
        loses nothing.
        """

    async def dead_discard(self, service: str, shard: int, table_id: str, up_to: int | None = None) -> int:
        """Removes a table's parked line, or its messages with numbers up to `up_to`; returns how many. An empty line
        is not parked.
        """

    async def request_retry(self, service: str, shard: int, table_id: str) -> None:
        """Asks the service's reader (any process may ask) to replay a table's parked line."""

    async def retry_requests(self, service: str, shard: int) -> set[str]: ...

    async def clear_retry(self, service: str, shard: int, table_id: str) -> None: ...


class EventLog(CommitLog, Feeds, DeadLetters, Protocol):
    memory: Memory | None
    """What `trouble` saw of the server's memory when it last looked; None before, and where there is no server."""

    async def lobby(self, shard: int) -> dict[str, bytes]:
        """Returns the rows that commits of the shard's tables have set (`LobbyRow`)."""

    async def scan_streams(self, kind: ScanKind) -> list[str]:
        """Returns, sorted, the table ids that have a log ("table") or a deck log ("deck"), the currencies ("ledger")
        or the shard names like "s07" that have verdicts. Walks all keys: for offline tools.
        """

    async def trouble(self, service: str) -> Trouble | None:
        """Returns why a log that answers cannot be written by this service, may lose what is written, or is nearly
        full; None = nothing is wrong. Writes something harmless to find out. Raises LogUnavailable when it does not
        answer.
        """

    async def initialise(self) -> bool:
        """Marks an empty log as initialised, once; False when it was already. An explicit act, never part of starting
        a service.
        """

    async def require_initialised(self) -> None:
        """Raises NotInitialised when the mark is missing; from then on its loss is watched for, and appends refused
        after it.
        """

    async def ping(self) -> None:
        """Raises LogUnavailable when the log does not answer, NotInitialised when the watched mark is gone."""

    async def verify_next(self, most: int) -> bool:
        """Compares the heads of the next so many streams that were acknowledged to this process with the log, each in
        its turn. What is missing and held here is written again, else the stream is behind. Returns whether all had
        their turn. Raises LogUnavailable, NotInitialised.
        """

    async def close(self) -> None: ...

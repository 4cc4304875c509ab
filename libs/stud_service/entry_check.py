"""What a feed's entry says by the log that it names.

Entries are copies, and nothing chains them: a changed byte, or an entry that somebody put there, would move chips that
no log knows of. So where money depends on it the log is asked (ADR 0005).
"""

from __future__ import annotations

from typing import Any

import structlog

from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import commit_at, read_forwards
from stud_eventlog.types import FeedEntry
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit, encoded_events

logger = structlog.get_logger(__name__)

LATELY = 10_000
"""Commits at the end of a log that are read again where a copy differs; more than a feed is ever behind."""


async def is_original(log: CommitLog, entry: FeedEntry) -> bool:
    """Whether the log has exactly this event at the version that the entry names. Raises EventLogError."""
    if keys.may_speak_in(entry.feed, entry.stream):
        commit = await commit_at(log, entry.stream, entry.version)
        if commit is not None and commit.hash == entry.head_hash and entry.event in _events(commit.body):
            return True
    logger.critical(
        "feed_differs_from_log", feed=entry.feed, entry=entry.entry_id, stream=entry.stream, version=entry.version
    )
    return False


def _events(body: bytes) -> list[bytes]:
    try:
        return encoded_events(body)
    except WireError:
        return []


async def lately(log: CommitLog, stream: str, kinds: tuple[type, ...]) -> list[tuple[int, Any]]:
    """Return (version, event) of all events of these kinds at a log's end, in order: what the entry of a feed should
    have told is among them, and what was handled before is recognised by its numbers. Raises EventLogError, WireError.
    """
    end = (await log.head(stream)).version
    return [
        (commit.version, event)
        async for commit in read_forwards(log, stream, max(0, end - LATELY))
        for event in decode_commit(commit.body).events
        if isinstance(event, kinds)
    ]

"""What a feed's entry says by the log that it names.

Entries are copies, and nothing chains them: a changed byte, or an entry that somebody put there, would move chips that
no log speaks of. So where money depends on it the copy is only a pointer, and the log is asked (ADR 0005).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import structlog

from stud_eventlog.log import EventLog
from stud_eventlog.types import FeedEntry
from stud_service.patience import Poison
from stud_wire.commits import decode_commit, decode_event, encoded_events

logger = structlog.get_logger(__name__)

NOT_IN_ITS_LOG = "NOT_IN_ITS_LOG"
WHOLE = -1
"""Index of an entry whose event is a commit's whole body, as verdict logs have it."""


async def whole_commit(log: EventLog, entry: FeedEntry) -> FeedEntry | None:
    """Return an entry with the whole commit that it names instead of its copy, None where there is no such commit."""
    commits = await log.read(entry.stream, after=entry.version - 1, limit=1)
    if not commits or (commits[0].version, commits[0].hash) != (entry.version, entry.head_hash):
        return None
    return replace(entry, event=commits[0].body, index=WHOLE)


async def originals(log: EventLog, entry: FeedEntry) -> list[Any]:
    """Return the event of an entry as its log has it: where the copy differs all events of that commit, since whatever
    was handled before is recognised by its numbers. Nothing for an ignorable event of a newer build.

    Raises Poison where the log has no such commit, WireError, EventLogError.
    """
    commit = await whole_commit(log, entry)
    if commit is None:
        raise Poison(
            f"{NOT_IN_ITS_LOG}: {entry.stream} has no version {entry.version} with the hash that the entry names"
        )
    if entry.event in encoded_events(commit.event):
        event = decode_event(entry.event)
        return [] if event is None else [event]
    logger.critical(
        "feed_differs_from_log", feed=entry.feed, entry=entry.entry_id, stream=entry.stream, version=entry.version
    )
    return list(decode_commit(commit.event).events)

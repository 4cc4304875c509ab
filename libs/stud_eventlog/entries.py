"""How commits, feed entries and dead letters look inside a store: field names, entry ids, packing; and what a position
in a feed may be. Pure functions that all adapters share.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence
from functools import lru_cache

from stud_eventlog import keys
from stud_eventlog.types import HASH_BYTES, START, ChainBroken, DeadLetter, EventLogError, FeedEntry, StoredCommit

logger = logging.getLogger(__name__)

# A log's entry: head hash after it, previous head's hash, commit id, body. The script relies on this order.
LOG_HASH, LOG_PREV, LOG_ID, LOG_BODY = LOG_FIELDS = [b"h", b"p", b"c", b"b"]
# A feed's entry: stream, version, index in the outbox, head hash, event.
FEED_STREAM, FEED_VERSION, FEED_INDEX, FEED_HASH, FEED_EVENT = b"s", b"v", b"i", b"h", b"e"

_TOO_MANY_VERSIONS, _TOO_MANY_LINES, _TOO_MANY_ENTRIES = 2**63, 2**32, 2**64

Row = tuple[StoredCommit, bytes]
"""A commit and the head hash that was stored beside it."""


def id_parts(entry_id: str) -> tuple[int, int]:
    """Returns an entry id as a pair of numbers that compare in feed order."""
    left, dash, right = entry_id.partition("-")
    if not (dash and left.isascii() and left.isdecimal() and right.isascii() and right.isdecimal()):
        raise ValueError(f"entry id {entry_id!r}: expected two numbers such as '1700000000000-0'")
    return int(left), int(right)


def log_id(version: int) -> str:
    return f"{version}-0"


def log_row(stream: str, entry_id: bytes, fields: Sequence[bytes]) -> Row:
    """Decodes a log's entry; raises ChainBroken when it is not one of ours."""
    if fields[::2] == LOG_FIELDS and entry_id[-2:] == b"-0":  # as the script writes it
        return StoredCommit(stream, int(entry_id[:-2]), fields[3], fields[5], fields[7]), fields[1]
    version, _ = id_parts(entry_id.decode("ascii"))
    values = dict(zip(fields[::2], fields[1::2], strict=False))
    try:
        commit = StoredCommit(stream, version, values[LOG_PREV], values[LOG_ID], values[LOG_BODY])
        return commit, values[LOG_HASH]
    except KeyError as missing:
        raise ChainBroken(stream, version, f"the entry should have a field {missing}") from None


def as_feed_entry(row: Row) -> FeedEntry:
    commit, stored_hash = row
    return FeedEntry(commit.stream, log_id(commit.version), commit.stream, commit.version, 0, stored_hash, commit.body)


def feed_entry(feed: str, entry_id: bytes, fields: Sequence[bytes]) -> FeedEntry:
    """Decodes an entry of a feed, or of a log read as one. What is not an entry of a feed comes without a stream, at
    version 0: the reader must be able to pass it. Raises ChainBroken for a log's.
    """
    kind = keys.parse_stream(feed)
    if kind is not None and kind.kind in keys.LOG_KINDS:
        return as_feed_entry(log_row(feed, entry_id, fields))
    name = entry_id.decode("ascii")
    values = dict(zip(fields[::2], fields[1::2], strict=False))
    nothing = FeedEntry(feed, name, "", 0, 0, b"", b"")
    try:
        version, index = int(values[FEED_VERSION]), int(values[FEED_INDEX])
        stream, head_hash, event = values[FEED_STREAM].decode("ascii"), values[FEED_HASH], values[FEED_EVENT]
    except (KeyError, ValueError):
        return nothing
    if not event:
        return nothing
    if not (0 < version < _TOO_MANY_VERSIONS and 0 <= index < _TOO_MANY_LINES):
        version = index = 0
    return FeedEntry(feed, name, stream, version, index, head_hash, event)


def letter_field(table_id: str, entry: FeedEntry) -> bytes:
    """The identity of a parked message: parking it again changes nothing."""
    return f"{table_id} {entry.feed} {entry.entry_id}".encode("ascii")


def pack_letter(reason: str, entry: FeedEntry) -> bytes:
    parts = (reason.encode(), entry.stream.encode("ascii"), entry.head_hash, entry.event)
    return struct.pack(">QI", entry.version, entry.index) + b"".join(struct.pack(">I", len(p)) + p for p in parts)


def unpack_letter(service: str, shard: int, field: bytes, value: bytes) -> DeadLetter:
    """Decodes `<number, 16 digits><packed letter>` stored under `letter_field`."""
    try:
        table_id, feed, entry_id = field.decode("ascii").split(" ")
        number, packed = int(value[:16]), value[16:]
        version, index = struct.unpack_from(">QI", packed)
        parts, at = [], 12
        while at < len(packed):
            (size,) = struct.unpack_from(">I", packed, at)
            parts.append(packed[at + 4 : at + 4 + size])
            at += 4 + size
        reason, stream, head, event = parts
    except (ValueError, struct.error) as why:
        raise EventLogError(f"dead letter {field!r} of {service} is malformed: {why}") from None
    entry = FeedEntry(feed, entry_id, stream.decode("ascii"), version, index, head, event)
    return DeadLetter(service, shard, table_id, number, reason.decode(errors="replace"), entry)


def checked_hash(value: bytes | None) -> bytes | None:
    return value if value is not None and len(value) == HASH_BYTES else None


# Positions


@lru_cache(maxsize=4096)
def is_log(feed: str) -> bool:
    """Asked again and again of the few hundred feeds that a service reads."""
    name = keys.parse_stream(feed)
    return name is not None and name.is_log


def stored_position(cursor: str, stored: object) -> str:
    """Returns what a stored cursor says. One that is not a position counts as missing: its reader starts over, which
    does no harm, and nobody else has to stand still for it.
    """
    if stored is None:
        return START
    try:
        text = stored.decode("ascii") if isinstance(stored, bytes) else str(stored)
        if max(id_parts(text)) < _TOO_MANY_ENTRIES:
            return text
    except ValueError:
        pass
    logger.critical("%s is no position: its reader starts from the beginning", cursor)
    return START


def check_trimmable(feed: str, readers: Sequence[str]) -> None:
    if is_log(feed):
        raise ValueError(f"{feed} is a log: only feeds are trimmed")
    if not readers:
        raise ValueError(f"{feed}: the readers whose cursors count must be named")


def is_relic(position: str, last: str, is_there: bool, of_a_log: bool) -> bool:
    """Returns whether a position points at nothing its feed still has: it comes from a past that the feed has lost.

    Trimming keeps the entry at every cursor, so in a feed a position that is not there is wrong even below the last id.
    """
    if position == START:
        return False
    return id_parts(position) > id_parts(last) or not (is_there or of_a_log)

"""The values that cross the event log's boundary. Bytes stay opaque: nothing here knows what a body or an event
means.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

from stud_eventlog import keys
from stud_eventlog.errors import (
    AnotherLog,
    ChainBroken,
    EventLogError,
    LogBehind,
    LogUnavailable,
    NotInitialised,
    UnsafeServer,
    UnusableUrl,
    VersionConflict,
)

__all__ = [
    "COMMIT_ID_BYTES",
    "HASH_BYTES",
    "MAX_APPEND_BYTES",
    "NO_HASH",
    "START",
    "AnotherLog",
    "Append",
    "ChainBroken",
    "DeadLetter",
    "EventLogError",
    "FeedEntry",
    "FeedItem",
    "Head",
    "LobbyRow",
    "LogBehind",
    "LogUnavailable",
    "NotInitialised",
    "StoredCommit",
    "UnsafeServer",
    "UnusableUrl",
    "VersionConflict",
    "head_hash",
]

HASH_BYTES = 32
COMMIT_ID_BYTES = 16
NO_HASH = bytes(HASH_BYTES)
START = "0-0"
"""The position before the first entry of any feed."""

MAX_APPEND_BYTES = 8 * 1024 * 1024
"""Body, outbox and lobby row of one append together. Far above any commit of a card table; a bigger one is a mistake.
"""


_LENGTHS = struct.Struct(">I")
_VERSION = struct.Struct(">IQ")


def head_hash(prev_hash: bytes, version: int, commit_id: bytes, body: bytes) -> bytes:
    """Returns SHA-256 over the four parts, each preceded by its length as four bytes big-endian; the version is eight
    bytes.
    """
    lengths = _LENGTHS.pack(len(prev_hash)), _VERSION.pack(8, version), _LENGTHS.pack(len(commit_id))
    size = _LENGTHS.pack(len(body))
    return hashlib.sha256(b"".join((lengths[0], prev_hash, lengths[1], lengths[2], commit_id, size, body))).digest()


@dataclass(frozen=True, slots=True)
class FeedItem:
    """One line of a commit's outbox. The feed must lie in the stream's slot."""

    feed: str
    event: bytes


@dataclass(frozen=True, slots=True)
class LobbyRow:
    """A field of a hash in the stream's slot, set together with the commit."""

    key: str
    field: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """Where a stream ends. An empty stream has version 0 and 32 zero bytes."""

    version: int = 0
    hash: bytes = NO_HASH


@dataclass(frozen=True, slots=True)
class Append:
    """A commit to be written as version `expected_version` + 1. `body` is the encoded commit, `prev_hash` the hash of
    the head it follows.
    """

    stream: str
    expected_version: int
    prev_hash: bytes
    commit_id: bytes
    body: bytes
    outbox: tuple[FeedItem, ...] = ()
    lobby: LobbyRow | None = None
    size: int = field(init=False, repr=False, compare=False)
    """Bytes of payload that travel to the log."""

    def __post_init__(self) -> None:
        if self.expected_version < 0:
            raise ValueError(f"{self.stream}: expected_version {self.expected_version}: must be 0 or more")
        if len(self.prev_hash) != HASH_BYTES:
            raise ValueError(f"{self.stream}: prev_hash has {len(self.prev_hash)} bytes, must have {HASH_BYTES}")
        if len(self.commit_id) != COMMIT_ID_BYTES:
            raise ValueError(f"{self.stream}: commit_id has {len(self.commit_id)} bytes, must have {COMMIT_ID_BYTES}")
        size = len(self.body)
        tag = keys.slot_tag(self.stream) + ":"
        for item in self.outbox:
            self._check_key(item.feed, tag)
            size += len(item.event)
        if self.lobby is not None:
            self._check_key(self.lobby.key, tag)
            size += len(self.lobby.value)
        if size > MAX_APPEND_BYTES:
            raise ValueError(f"{self.stream}: an append of {size} bytes, must be at most {MAX_APPEND_BYTES}")
        object.__setattr__(self, "size", size)

    def _check_key(self, key: str, tag: str) -> None:
        if not key.startswith(tag) or key == self.stream:
            raise ValueError(f"{key!r}: must be another key in the slot of {self.stream!r}, beginning with {tag!r}")

    @property
    def head(self) -> Head:
        """The stream's head once this append is written."""
        version = self.expected_version + 1
        return Head(version, head_hash(self.prev_hash, version, self.commit_id, self.body))


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """A commit as read back from a log."""

    stream: str
    version: int
    prev_hash: bytes
    commit_id: bytes
    body: bytes

    @property
    def hash(self) -> bytes:
        """The stream's head hash after this commit, computed from the bytes that were read."""
        return head_hash(self.prev_hash, self.version, self.commit_id, self.body)

    @property
    def head(self) -> Head:
        return Head(self.version, self.hash)


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One message of a feed. `index` is its place in the outbox of the commit (stream, version) whose head hash is
    `head_hash`.

    A log that is read as a feed (verdicts) gives one entry per commit: entry_id "<version>-0", index 0, event = the
    commit's body.
    """

    feed: str
    entry_id: str
    stream: str
    version: int
    index: int
    head_hash: bytes
    event: bytes


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A parked message. `number` counts up per service and shard: the order in which a table's line is replayed."""

    service: str
    shard: int
    table_id: str
    number: int
    reason: str
    entry: FeedEntry

"""The values that cross the event log's boundary, and what it may refuse. Bytes stay opaque: nothing here knows what a
body or an event means.

EventLogError
├── VersionConflict   somebody else wrote first; nothing of this append was written
├── LogUnavailable    no answer, or the server refuses work for now; nothing of this call was written
│   └── LogRefuses    it answers with an error: for everything, or for one key
├── LogBehind         the log lacks commits it had acknowledged to this process
├── ChainBroken       a stored commit does not follow from the one before it
├── NotInitialised    the mark of an initialised log is missing
│   └── AnotherLog    it is there, but is that of another log than the one that was met before
├── UnusableUrl       the address of the server cannot be one
└── UnsafeServer      the server's settings may lose acknowledged commits
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from stud_eventlog import keys

HASH_BYTES = 32
COMMIT_ID_BYTES = 16
NO_HASH = bytes(HASH_BYTES)
START = "0-0"
"""The position before the first entry of any feed."""

MAX_APPEND_BYTES = 8 * 1024 * 1024
"""Body, outbox and lobby row of one append together. Far above any commit of a card table; a bigger one is a mistake.
"""


_LENGTH = struct.Struct(">I")
_PARTS = struct.Struct(f">I{HASH_BYTES}sIQI{COMMIT_ID_BYTES}sI")


def head_hash(prev_hash: bytes, version: int, commit_id: bytes, body: bytes) -> bytes:
    """Returns SHA-256 over the four parts, each preceded by its length as four bytes big-endian; the version is eight
    bytes.
    """
    if len(prev_hash) == HASH_BYTES and len(commit_id) == COMMIT_ID_BYTES:  # as in every log that is not broken
        head = _PARTS.pack(HASH_BYTES, prev_hash, 8, version, COMMIT_ID_BYTES, commit_id, len(body))
        return sha256(head + body).digest()
    parts = (prev_hash, version.to_bytes(8, "big"), commit_id, body)
    return sha256(b"".join([_LENGTH.pack(len(part)) + part for part in parts])).digest()


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


class StoredCommit(msgspec.Struct, frozen=True, gc=False):
    """A commit as read back from a log. A struct, since whole logs are read: a dataclass takes ten times as long to
    make.
    """

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


class EventLogError(Exception):
    """The base of everything that this package raises on purpose (besides ValueError for impossible arguments)."""


class VersionConflict(EventLogError):
    """The stream is not where the writer believed. `actual` may equal `expected`: then its head is another commit."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        self.stream, self.expected, self.actual = stream, expected, actual
        if actual == expected:
            text = f"version {actual} is there with another hash than prev_hash; read the stream again and decide anew"
        else:
            text = f"expected version {expected}, but it is at {actual}; an append would have to expect {actual}"
        super().__init__(f"{stream}: {text}")


class LogUnavailable(EventLogError):
    """The log cannot serve this call now.

    An append that raises it has surely not been written, unless the log was closed under it (the message says so).
    """


class LogRefuses(LogUnavailable):
    """The server answered with an error, and will go on so: perhaps for everything, perhaps for one key. `code` is the
    error's first word, e.g. OOM or WRONGTYPE.
    """

    def __init__(self, code: str, text: str, stream: str = "") -> None:
        self.code, self.text = code, text
        super().__init__(f"{stream}: {code} {text}" if stream else f"the log refuses: {code} {text}")


class LogBehind(EventLogError):
    """The log lost commits that it had acknowledged, and their bytes are no longer held here.

    Nothing may be appended to the stream until somebody has looked.
    """

    def __init__(self, stream: str, acknowledged: Head, found: Head) -> None:
        self.stream, self.acknowledged, self.found = stream, acknowledged, found
        super().__init__(
            f"{stream}: version {acknowledged.version} ({acknowledged.hash.hex()[:12]}…) was acknowledged, but the "
            f"log holds {found.version} ({found.hash.hex()[:12]}…); it should hold at least the acknowledged one"
        )


class ChainBroken(EventLogError):
    """The stored bytes at `version` are not the successor of what is before them: edited, missing or malformed."""

    def __init__(self, stream: str, version: int, why: str = "its hash should follow from the commit before") -> None:
        self.stream, self.version, self.why = stream, version, why
        super().__init__(f"{stream}: broken at version {version}: {why}")


class NotInitialised(EventLogError):
    """The log was never initialised, or lost everything. Starting over silently would hide a loss of data."""

    def __init__(self) -> None:
        super().__init__(
            "the log has no mark of initialisation (stud:initialised): either it is new and must be initialised once, "
            "explicitly, or it lost its data and must be restored"
        )


class AnotherLog(NotInitialised):
    """The log was initialised again under this process: what it had acknowledged is not in it."""

    def __init__(self) -> None:
        EventLogError.__init__(
            self,
            "the log has another mark of initialisation (stud:initialised) than before: it was emptied and initialised "
            "again, or is another one; what was acknowledged must be restored",
        )


class UnusableUrl(EventLogError, ValueError):
    """The address that was given cannot be one. The text does not quote it: it may hold a password."""

    def __init__(self, why: str = "") -> None:
        """`why` says what is wanted of the part that is wrong."""
        super().__init__(
            f"the address of the log cannot be used{f' ({why})' if why else ''}: "
            "want redis://[user:password@]host:port[/db], rediss:// or unix://, "
            "for instance redis://127.0.0.1:7100/0"
        )


class UnsafeServer(EventLogError):
    """The server could lose acknowledged commits. `problems` has a line per setting, with the right value."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = list(problems)
        super().__init__("the server may lose acknowledged commits: " + "; ".join(self.problems))

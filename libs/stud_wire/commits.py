"""The body of a log entry: events of one command, and who, when and why.

Upcasting happens here: ``write_version`` says which build's format a commit has, and a reader turns older
ones into today's events. An event that this build does not know stops the reader unless it is marked
ignorable (then it is skipped).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from google.protobuf.message import DecodeError

from stud.events.v1 import commit_pb2
from stud_core import deck_events, verdict_events
from stud_core import events as table_events
from stud_core.ledger import events as ledger_events
from stud_wire import shallow
from stud_wire.codec import Decoder, UnknownEventError, WireError, decoder, encoder, shallow_decoder

WRITE_VERSION = 1

_ONEOF: Any = commit_pb2.Event.DESCRIPTOR.oneofs_by_name["body"]
_FIELDS: dict[str, str] = {field.message_type.name: field.name for field in _ONEOF.fields}
_CLASSES: dict[str, type[msgspec.Struct]] = {}

_Commit: Final = shallow.message_class(commit_pb2.Commit.DESCRIPTOR.full_name)
_Event: Final = shallow.message_class(commit_pb2.Event.DESCRIPTOR.full_name)


def register(*classes: type[msgspec.Struct]) -> None:
    """Make event classes known to the codec; the class's name is the message's name."""
    for cls in classes:
        _CLASSES[_FIELDS[cls.__name__]] = cls


for _module in (table_events, deck_events, verdict_events, ledger_events):
    register(*(cls for cls in vars(_module).values() if isinstance(cls, type) and cls.__name__ in _FIELDS))


class _Readers(dict[str, Decoder]):
    """Decoders by the name of an event's field, compiled when the first of its kind is read."""

    def __init__(self, decoder_of: Callable[[type], Decoder]) -> None:
        super().__init__()
        self._decoder_of = decoder_of

    def __missing__(self, field: str) -> Decoder:
        self[field] = found = self._decoder_of(_CLASSES[field])
        return found


_OF_SHALLOW: Final = _Readers(shallow_decoder)
_OF_WHOLE: Final = _Readers(decoder)


class Meta(msgspec.Struct, frozen=True, gc=False):
    """Who, when and why. ``cause`` = (stream, version) of the message that triggered the commit."""

    at_ms: int
    actor: str = ""
    request_id: str = ""
    request_digest: bytes = b""
    cause: tuple[str, int] | None = None
    build: str = "dev"


class DecodedCommit(msgspec.Struct, frozen=True, gc=False):
    """A commit as it was written."""

    events: tuple[Any, ...]
    meta: Meta
    write_version: int = WRITE_VERSION


def put_event(event: msgspec.Struct, into: commit_pb2.Event) -> None:
    """Encode a core event into an Event message."""
    cls = type(event)
    body = getattr(into, _FIELDS[cls.__name__])
    body.SetInParent()
    encoder(cls)(event, body)


def encode_event(event: msgspec.Struct) -> bytes:
    """Encode one event for a feed."""
    message = commit_pb2.Event()
    put_event(event, message)
    return message.SerializeToString()


def decode_event(data: bytes) -> Any | None:
    """Decode one event of a feed; None = an ignorable event this build does not know. Raises WireError."""
    try:
        message = _Event.FromString(data)
    except DecodeError as error:
        raise WireError("no event") from error
    return _read(message, _OF_SHALLOW)


def read_event(message: commit_pb2.Event) -> Any | None:
    """As :func:`decode_event`, from a message."""
    return _read(message, _OF_WHOLE)


def _read(message: Any, readers: _Readers) -> Any | None:
    which = message.WhichOneof("body")
    if which is None:
        if message.ignorable:
            return None
        raise UnknownEventError("unknown event, not marked ignorable: this build is too old for the log")
    try:
        return readers[which](getattr(message, which))
    except (ValueError, IndexError, DecodeError) as error:
        raise WireError(f"{which}: {error}") from error


def encode_commit(events: Sequence[msgspec.Struct], meta: Meta) -> bytes:
    """Encode the body of a log entry."""
    return commit_message(events, meta).SerializeToString()


def commit_message(events: Sequence[msgspec.Struct], meta: Meta) -> commit_pb2.Commit:
    """Build the body of a log entry before it is serialised: its events may be reused for feeds and viewers."""
    commit = commit_pb2.Commit(
        at_ms=meta.at_ms,
        actor=meta.actor,
        request_id=meta.request_id,
        request_digest=meta.request_digest,
        write_version=WRITE_VERSION,
        build=meta.build,
    )
    if meta.cause is not None:
        commit.cause.stream, commit.cause.version = meta.cause
    add = commit.events.add
    for event in events:
        put_event(event, add())
    return commit


def encoded_events(body: bytes) -> list[bytes]:
    """Return the events of a log entry's body as they were written; raises WireError."""
    try:
        return [event.SerializeToString() for event in _Commit.FromString(body).events]
    except DecodeError as error:
        raise WireError("no commit") from error


def decode_commit(body: bytes, only: frozenset[type] | None = None) -> DecodedCommit:
    """Decode the body of a log entry; raises WireError when it cannot be read. With ``only`` events of other classes
    are left out, undecoded, for readers of long logs whom few events concern; unknown ones raise all the same.
    """
    try:
        commit = _Commit.FromString(body)
    except DecodeError as error:
        raise WireError("no commit") from error
    if not 1 <= commit.write_version <= WRITE_VERSION:
        raise UnknownEventError(f"commit of format {commit.write_version}: this build reads 1 to {WRITE_VERSION}")
    messages = commit.events[:]
    if only is not None:
        messages = [message for message in messages if _is_of(message, only)]
    events = [event for message in messages if (event := _read(message, _OF_SHALLOW)) is not None]
    cause = (commit.cause.stream, commit.cause.version) if commit.HasField("cause") else None
    meta = Meta(commit.at_ms, commit.actor, commit.request_id, commit.request_digest, cause, commit.build)
    return DecodedCommit(tuple(events), meta, commit.write_version)


def _is_of(message: Any, only: frozenset[type]) -> bool:
    """Whether an event is of one of these classes, or unknown."""
    which = message.WhichOneof("body")
    return which is None or _CLASSES[which] in only


def digest(parts: Iterable[bytes]) -> bytes:
    """SHA-256 over length-prefixed parts: the content of a request, for REQUEST_ID_REUSED."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    return hasher.digest()

"""Appends and reads of logs as commands of the server. Builds commands and understands replies; the client library
stays outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stud_eventlog import keys
from stud_eventlog.entries import Row, checked_hash, log_id, log_row
from stud_eventlog.group_commit import Again
from stud_eventlog.lua import APPEND
from stud_eventlog.redis_wire import (
    Arg,
    Command,
    Lost,
    Refusal,
    Wire,
    answered,
    call,
    call_all,
    is_missing_key,
    text_map,
)
from stud_eventlog.types import Append, ChainBroken, Head
from stud_eventlog.writing import Elsewhere, WriteAnswer

# Refusals that pass by themselves and say nothing about the append: it is repeated. Any other error reply is a "no"
# for now.
PASSING = frozenset({"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "NOSCRIPT"})


class RedisBackend:
    """`writing.Backend` over a server: one script call per append."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def write(self, appends: Sequence[Append]) -> list[WriteAnswer]:
        heads = [append.head for append in appends]
        commands = [append_command(append, head) for append, head in zip(appends, heads, strict=True)]
        replies = await APPEND.run_all(self._wire, commands)
        return [append_answer(head, reply) for head, reply in zip(heads, replies, strict=True)]

    async def where(self, stream: str) -> Elsewhere:
        reply = (await self._wire.pipeline([("XINFO", "STREAM", stream)]))[0]
        return stream_end(reply)

    async def hashes_at(self, places: Sequence[tuple[str, int]]) -> list[bytes | None]:
        replies = await call_all(
            self._wire, [("XRANGE", stream, log_id(version), log_id(version)) for stream, version in places]
        )
        return [_hash_of(reply[0][1]) if reply else None for reply in replies]

    async def mark(self) -> bytes | None:
        found: bytes | None = await call(self._wire, "GET", keys.INITIALISED)
        return found

    async def head(self, stream: str) -> Head:
        end = await self.where(stream)
        if end.hash is None:
            raise ChainBroken(stream, end.version, "the last commit of a log must stay in it, for its hash")
        return Head(end.version, end.hash)

    async def rows(self, stream: str, after: int, limit: int) -> list[Row]:
        reply = await call(self._wire, "XRANGE", stream, log_id(after + 1), "+", "COUNT", limit)
        return [log_row(stream, entry_id, fields) for entry_id, fields in reply]


def append_command(append: Append, head: Head) -> Command:
    feeds: dict[str, int] = {}
    outbox: list[Arg] = []
    for item in append.outbox:
        outbox += (feeds.setdefault(item.feed, len(feeds) + 2), item.event)  # KEYS[1] is the log
    hashes = append.prev_hash + append.commit_id + head.hash
    row = append.lobby
    if row is None:
        return APPEND.command((append.stream, *feeds), (append.expected_version, hashes, append.body, "", *outbox))
    args = (append.expected_version, hashes, append.body, row.field, *outbox, row.value)
    return APPEND.command((append.stream, *feeds, row.key), args)


def append_answer(head: Head, reply: Any) -> WriteAnswer:
    if isinstance(reply, Lost):
        return Again(reply.why, doubtful=reply.sent)
    if isinstance(reply, Refusal):
        passing = reply.code in PASSING
        return Again(f"{reply.code} {reply.text}", doubtful=False, refused=not passing)
    if isinstance(reply, int):
        return head
    if reply[0] == 1:
        return Head(head.version, reply[1])
    return Elsewhere(reply[1], checked_hash(reply[2]))


def stream_end(reply: Any) -> Elsewhere:
    """Returns where a stream ends from the reply to XINFO STREAM; the id survives trimming, the hash is in the last
    entry.
    """
    if is_missing_key(reply):
        return Elsewhere(0, Head().hash)
    info = text_map(answered(reply))
    end: Any = info["last-generated-id"]
    last: Any = info["last-entry"]
    # An entry that was deleted leaves its id as the last one generated, and the one before it as the last entry.
    return Elsewhere(int(end.split(b"-")[0]), _hash_of(last[1]) if last and last[0] == end else None)


def _hash_of(fields: Sequence[bytes]) -> bytes | None:
    return checked_hash(dict(zip(fields[::2], fields[1::2], strict=False)).get(b"h"))

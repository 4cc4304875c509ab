"""The writing half that all adapters share: refusals before sending, what an answer means, and a log that went back
in time.

A process remembers what it was told is durable: the last acknowledged head of every stream it wrote, and the last few
commits' bytes. A log that comes back older than that has lost data; with the bytes at hand the very same commits are
written again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from stud_eventlog.group_commit import MAX_IN_FLIGHT, Again, GroupCommit, Outcome
from stud_eventlog.log import OnLogBehind
from stud_eventlog.trouble import of_a_key
from stud_eventlog.types import (
    NO_HASH,
    AnotherLog,
    Append,
    EventLogError,
    Head,
    LogBehind,
    LogRefuses,
    LogUnavailable,
    NotInitialised,
    VersionConflict,
)

logger = logging.getLogger(__name__)

VERIFY_CHUNK = 500
HELD_PER_STREAM = 4
HELD_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The stream's head is another one, nothing was written. `hash` is None when the last entry has been trimmed
    away.
    """

    version: int
    hash: bytes | None


WriteAnswer = Head | Elsewhere | Again


class Backend(Protocol):
    """What a store must do for the writer. Only `write` may leave things open (Again); the others raise
    LogUnavailable. `hashes_at` has None for a key that is refused: `where` says why.
    """

    async def write(self, appends: Sequence[Append]) -> list[WriteAnswer]: ...

    async def try_append(self, append: Append) -> None: ...

    async def where(self, stream: str) -> Elsewhere: ...

    async def hashes_at(self, places: Sequence[tuple[str, int]]) -> list[bytes | None]: ...

    async def mark(self) -> bytes | None: ...

    async def ping(self) -> None: ...


class Acknowledged:
    """Heads are kept for every stream, bytes only for the most recent commits: at most `held_bytes` in all."""

    def __init__(self, held_per_stream: int = HELD_PER_STREAM, held_bytes: int = HELD_BYTES) -> None:
        self._heads: dict[str, Head] = {}
        self._held: OrderedDict[str, deque[Append]] = OrderedDict()
        self._held_per_stream = held_per_stream
        self._bytes_max = held_bytes
        self.bytes_held = 0
        self._behind: dict[str, LogBehind] = {}

    def streams(self) -> list[str]:
        return list(self._heads)

    def head(self, stream: str) -> Head | None:
        return self._heads.get(stream)

    def record(self, append: Append, head: Head) -> None:
        """Notes that `append` became `head`. An old append that is acknowledged again changes nothing."""
        stream = append.stream
        last = self._heads.get(stream)
        if last is not None and head.version <= last.version:
            return
        self._heads[stream] = head
        held = self._held.get(stream)
        if held is None:
            held = self._held[stream] = deque()
        else:
            self._held.move_to_end(stream)
        if held and held[-1].expected_version + 1 != append.expected_version:
            self._drop(stream, len(held))  # somebody else's commits are in between: what is held would not connect
        held.append(append)
        self.bytes_held += append.size
        self._drop(stream, len(held) - self._held_per_stream)
        while self.bytes_held > self._bytes_max:
            oldest = next(iter(self._held))
            self._drop(oldest, len(self._held[oldest]))
            del self._held[oldest]

    def _drop(self, stream: str, count: int) -> None:
        held = self._held[stream]
        for _ in range(count):
            self.bytes_held -= held.popleft().size

    def lost(self, stream: str, version: int, found_hash: bytes | None) -> bool:
        """Returns whether a log that ends at this head has lost what was acknowledged. None = the head's hash is not
        known.
        """
        acked = self._heads.get(stream)
        if acked is None or version > acked.version:
            return False
        if version < acked.version:
            return True
        return found_hash is not None and found_hash != acked.hash

    def tail(self, stream: str, found: Head) -> Sequence[Append] | None:
        """Returns the held commits that lead from `found` to the acknowledged head, or None when they do not."""
        tail = [append for append in self._held.get(stream, ()) if append.expected_version >= found.version]
        if not tail or tail[0].expected_version != found.version or tail[0].prev_hash != found.hash:
            return None
        return tail if tail[-1].head == self._heads[stream] else None

    def declare_behind(self, error: LogBehind) -> None:
        self._behind[error.stream] = error

    @property
    def any_behind(self) -> bool:
        return bool(self._behind)

    def behind(self, stream: str) -> LogBehind | None:
        return self._behind.get(stream)


class Writer:
    """Appends through group commit; remembers what was acknowledged and holds the log to it."""

    def __init__(self, backend: Backend, *, max_in_flight: int = MAX_IN_FLIGHT) -> None:
        self.on_log_behind: OnLogBehind | None = None
        self.acknowledged = Acknowledged()
        self._backend = backend
        self.group = GroupCommit(self._send, max_in_flight=max_in_flight)
        self._watch_mark = False
        self._mark: bytes | None = None
        self._mark_is_gone = False
        self._in_turn: deque[str] = deque()

    # Appending

    async def append(self, append: Append) -> Head:
        """See EventLog.append. A cancelled caller cancels only its own future, never the write."""
        return await self._submit([append])[0]

    async def append_many(self, appends: Sequence[Append]) -> list[Head | VersionConflict]:
        futures = self._submit(appends)
        settled = await asyncio.gather(*futures, return_exceptions=True)
        results: list[Head | VersionConflict] = []
        for result in settled:
            if not isinstance(result, (Head, VersionConflict)):
                raise result
            results.append(result)
        return results

    def _submit(self, appends: Sequence[Append]) -> list[asyncio.Future[Head]]:
        if self._mark_is_gone:
            raise NotInitialised
        if not self.acknowledged.any_behind:
            return self.group.submit(appends)
        fit = [append for append in appends if self.acknowledged.behind(append.stream) is None]
        futures = iter(self.group.submit(fit))
        return [
            next(futures) if (behind := self.acknowledged.behind(append.stream)) is None else _failed(behind)
            for append in appends
        ]

    async def _send(self, appends: Sequence[Append]) -> list[Outcome]:
        answers = await self._backend.write(appends)
        outcomes: list[Outcome] = []
        for append, answer in zip(appends, answers, strict=True):
            if isinstance(answer, Head):
                self.acknowledged.record(append, answer)
                outcomes.append(answer)
            elif isinstance(answer, Again):
                outcomes.append(answer)
            elif self.acknowledged.lost(append.stream, answer.version, answer.hash):
                outcomes.append(await self._restore_for(append.stream, answer))
            else:
                outcomes.append(VersionConflict(append.stream, append.expected_version, answer.version))
        return outcomes

    async def _restore_for(self, stream: str, found: Elsewhere) -> Outcome:
        try:
            await self._restore(stream, found, self.acknowledged.head(stream))
        except LogUnavailable as why:
            return Again(str(why), doubtful=False)
        except EventLogError as behind:
            return behind
        return Again(f"{stream} lost acknowledged commits, which have been written again", doubtful=False)

    # Holding the log to what it acknowledged

    async def verify(self) -> None:
        """Compares every acknowledged head with the log; writes lost commits again or declares the stream behind.

        For use after a reconnect: the server may be another one, or the same one with an older file.
        """
        await self.check_mark()
        streams = self._not_behind()
        for first in range(0, len(streams), VERIFY_CHUNK):
            await self._verify_some(streams[first : first + VERIFY_CHUNK])

    async def verify_next(self, most: int) -> bool:
        """Compares the next so many heads, each in its turn; returns whether it has been everybody's by now.

        For use all the time: a log can be put back under a connection that stays.
        """
        self._in_turn = self._in_turn or deque(self._not_behind())
        await self._verify_some([self._in_turn.popleft() for _ in range(min(most, len(self._in_turn)))])
        return not self._in_turn

    def _not_behind(self) -> list[str]:
        return [stream for stream in self.acknowledged.streams() if self.acknowledged.behind(stream) is None]

    async def _verify_some(self, streams: Sequence[str]) -> None:
        heads = {stream: head for stream in streams if (head := self.acknowledged.head(stream)) is not None}
        hashes = await self._backend.hashes_at([(stream, head.version) for stream, head in heads.items()])
        for (stream, head), found_hash in zip(heads.items(), hashes, strict=True):
            if found_hash == head.hash:
                continue
            try:
                await self._hold_to(stream, head, found_hash)
            except LogBehind:
                continue  # reported through the callback; appends to the stream are refused from now on
            except LogRefuses as why:
                if not of_a_key(why.code):
                    raise
                logger.debug("%s cannot be compared now, its next append will say why: %s", stream, why)

    async def _hold_to(self, stream: str, head: Head, found_hash: bytes | None) -> None:
        """Looks closer at a stream that does not have its acknowledged head; raises what `_restore` does."""
        try:
            found = await self._backend.where(stream)
        except LogRefuses as why:
            if why.code != "WRONGTYPE":
                raise
            found = Elsewhere(0, NO_HASH)  # whatever is there, it is no log
        # Beyond the acknowledged version a missing entry has been archived; another one in its place is another
        # history.
        diverged = found.version > head.version and found_hash is not None
        if diverged or self.acknowledged.lost(stream, found.version, found.hash):
            await self._restore(stream, found, head)

    async def _restore(self, stream: str, found: Elsewhere, acked: Head | None) -> None:
        """Writes the lost commits of a stream again, the very same bytes, or raises LogBehind."""
        await self.check_mark()
        behind = self.acknowledged.behind(stream)
        if behind is not None:
            raise behind
        if acked is None or acked != self.acknowledged.head(stream):
            return  # an append has restored it meanwhile and gone on: what was found is no longer there
        head = Head(found.version, NO_HASH if found.hash is None else found.hash)
        tail = self.acknowledged.tail(stream, head) if found.version < acked.version else None
        answers = await self._backend.write(tail) if tail else []
        for answer in answers:
            if isinstance(answer, Again):
                raise LogRefuses(answer.refused, answer.why) if answer.refused else LogUnavailable(answer.why)
        if answers and isinstance(answers[-1], Head):
            logger.error("%s: the log lost versions %d to %d, written again", stream, found.version + 1, acked.version)
            return
        error = LogBehind(stream, acked, head)
        self.acknowledged.declare_behind(error)
        logger.error("%s", error)
        if self.on_log_behind is not None:
            self.on_log_behind(stream, acked, head)
        raise error

    # The mark of initialisation

    async def require_mark(self) -> None:
        self._watch_mark = True
        await self.check_mark()

    async def check_mark(self) -> None:
        """Raises NotInitialised when the mark was required once and is not there (any more), AnotherLog when it is not
        the one that was met first.
        """
        if self._watch_mark:
            found = await self._backend.mark()
            self._mark = self._mark or found
            self._mark_is_gone = found is None or found != self._mark
            if self._mark_is_gone:
                raise NotInitialised if found is None else AnotherLog

    async def close(self, grace_s: float) -> None:
        await self.group.close(grace_s)


def new_mark() -> str:
    """Returns what tells one log from every other: the value of `stud:initialised`. Logs of older builds have "1"."""
    return secrets.token_hex(16)


def _failed(error: EventLogError) -> asyncio.Future[Head]:
    future: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
    future.set_exception(error)
    future.exception()  # seen, even if the caller goes away
    return future

"""The referee's own log: one stream per shard, one commit per verdict, written by this process alone.

Verdicts of many tables of a shard that are ready at the same time share one pipeline. What is to be written is asked
for at the last moment, against the state it will stand on, so that a verdict that has become superfluous is not
written; when somebody else wrote (another instance that was thought dead), the log is read again and everything is
asked anew.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import structlog

from rules_service.book import ShardBook, TableBook
from stud_core.verdict_events import VerdictEvent
from stud_eventlog import keys
from stud_eventlog.errors import ChainBroken
from stud_eventlog.log import EventLog
from stud_eventlog.types import Append, Head, StoredCommit, VersionConflict
from stud_service.refusals import Refused
from stud_wire.codec import UnknownEventError, WireError
from stud_wire.commits import Meta, decode_commit, encode_commit

Make = Callable[[TableBook], "tuple[VerdictEvent, Meta] | None"]
"""What to write for a table, given its book; None = nothing (any more). May raise, which writes nothing."""

log = structlog.get_logger("rules")


class _Wish:
    __slots__ = ("done", "make", "table_id")

    def __init__(self, table_id: str, make: Make) -> None:
        self.table_id = table_id
        self.make = make
        self.done: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()


class VerdictLog:
    """One shard's verdicts."""

    def __init__(self, shard: int, eventlog: EventLog, new_id: Callable[[], bytes]) -> None:
        self.stream = keys.verdicts(shard)
        self.book = ShardBook()
        self.unread: Exception | None = None
        """Why the book is not what the log says."""
        self._log = eventlog
        self._new_id = new_id
        self._wishes: list[_Wish] = []
        self._writer: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Fold the whole log. Raises ChainBroken when it cannot be trusted, UnknownEventError for a newer build's, and
        EventLogError.
        """
        book = ShardBook()
        async for commit in self._log.read_all(self.stream):
            try:
                _fold(book, commit)
            except UnknownEventError:
                raise
            except WireError as why:
                raise ChainBroken(self.stream, commit.version, f"it cannot be read: {why}") from why
        self.book, self.unread = book, None

    async def load_if_sound(self) -> None:
        """Fold the log at the start. One that cannot be trusted waits for operators, and the others do not: whoever
        needs it finds out by ``sound``. Raises EventLogError.
        """
        try:
            await self.load()
        except (ChainBroken, UnknownEventError) as why:
            self.unread = why
            log.critical("verdicts_broken", stream=self.stream, why=str(why))

    async def sound(self) -> ShardBook:
        """Return the book, read again if it could not be. Raises as ``load``."""
        if self.unread is not None:
            await self.load()
        return self.book

    async def for_callers(self) -> ShardBook:
        """Return the book for who asks about it. Raises Refused(LOG_BROKEN), EventLogError."""
        try:
            return await self.sound()
        except (ChainBroken, UnknownEventError):
            text = "the referee's log of this table's shard cannot be trusted as it stands: operators are needed"
            raise Refused("LOG_BROKEN", text) from None

    async def write(self, table_id: str, make: Make) -> int | None:
        """Write what ``make`` says once it is durable, and return its version; None when there was nothing to write."""
        wish = _Wish(table_id, make)
        self._wishes.append(wish)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._work(), name=f"write {self.stream}", context=contextvars.Context())
        return await asyncio.shield(wish.done)

    async def close(self) -> None:
        """Wait until what was begun is written."""
        if self._writer is not None and not self._writer.done():
            await asyncio.wait([self._writer], timeout=2.0)

    async def _work(self) -> None:
        while self._wishes:
            batch = self._take()
            try:
                await self._write(batch)
            except BaseException as why:
                for wish in batch:
                    if not wish.done.done():
                        wish.done.set_exception(why if isinstance(why, Exception) else asyncio.CancelledError())
                        wish.done.exception() if isinstance(why, Exception) else None
                if not isinstance(why, Exception):
                    raise

    def _take(self) -> list[_Wish]:
        """Take the waiting wishes, one of each table: a second one must see what the first has led to."""
        batch: list[_Wish] = []
        later: list[_Wish] = []
        tables: set[str] = set()
        for wish in self._wishes:
            (later if wish.table_id in tables else batch).append(wish)
            tables.add(wish.table_id)
        self._wishes = later
        return batch

    async def _write(self, batch: list[_Wish]) -> None:
        while batch:
            head = self.book.head
            ready: list[tuple[_Wish, VerdictEvent, Meta, Append]] = []
            for wish in batch:
                made = self._ask(wish)
                if made is not None:
                    event, meta = made
                    append = Append(self.stream, head.version, head.hash, self._new_id(), encode_commit([event], meta))
                    head = append.head
                    ready.append((wish, event, meta, append))
            answers = await self._log.append_many([append for *_, append in ready]) if ready else []
            batch = []
            for (wish, event, meta, _), answer in zip(ready, answers, strict=True):
                if isinstance(answer, VersionConflict):
                    batch.append(wish)
                    continue
                self.book.fold(answer, [event], meta)
                if not wish.done.done():
                    wish.done.set_result(answer.version)
            if batch:
                log.warning("version_conflict", stream=self.stream, version=self.book.head.version)
                await self.load()

    def _ask(self, wish: _Wish) -> tuple[VerdictEvent, Meta] | None:
        try:
            made = wish.make(self.book.table(wish.table_id))
        except Exception as why:  # noqa: BLE001  (a refusal, most likely: it belongs to whoever asked)
            if not wish.done.done():
                wish.done.set_exception(why)
            return None
        if made is None and not wish.done.done():
            wish.done.set_result(None)
        return made


def _fold(book: ShardBook, commit: StoredCommit) -> None:
    decoded: Any = decode_commit(commit.body)
    book.fold(Head(commit.version, commit.hash), decoded.events, decoded.meta)

"""The referee's own log: one stream per shard, one commit per verdict.

Verdicts of many tables of a shard that are ready at the same time share one pipeline. What is to be written is asked
for at the last moment, against the state it will stand on, so that a verdict that has become superfluous is not
written; when somebody else wrote (another instance that was thought dead), the log is read again and everything is
asked anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import structlog

from rules_service.verdicts import ShardVerdicts, TableVerdicts
from stud_core.verdict_events import VerdictEvent
from stud_eventlog import keys
from stud_eventlog.types import Append, ChainBroken, Head, StoredCommit, VersionConflict
from stud_service.log_writer import LogWriter, broken
from stud_service.mailbox import Mail, Mailbox, fail_all
from stud_service.runtime import Runtime
from stud_wire.codec import UnknownEventError, WireError
from stud_wire.commits import Meta, decode_commit, encode_commit

Make = Callable[[TableVerdicts], "tuple[VerdictEvent, Meta] | None"]
"""What to write for a table, given its book; None = nothing (any more). May raise, which writes nothing."""

MAX_BATCH = 256

log = structlog.get_logger("rules")


class _Wish(Mail):
    table_id: str
    make: Make


class VerdictLog:
    """One shard's verdicts."""

    def __init__(self, shard: int, runtime: Runtime) -> None:
        self.stream = keys.verdicts(shard)
        self.book = ShardVerdicts()
        self.unread: Exception | None = None
        """Why the book is not what the log says."""
        self._runtime = runtime
        self._writer = LogWriter(runtime, self.stream, self._read)
        self._mailbox = Mailbox(self._take, most=MAX_BATCH)
        self._is_started = False
        self._reading = asyncio.Lock()

    async def load(self) -> None:
        """Fold the whole log. Raises ChainBroken when it cannot be trusted, UnknownEventError for a newer build's, and
        EventLogError.
        """
        await self._writer.refold()

    async def _read(self) -> Head:
        book = ShardVerdicts()
        async for commit in self._runtime.log.read_all(self.stream):
            try:
                _fold(book, commit)
            except UnknownEventError:
                raise
            except WireError as why:
                raise ChainBroken(self.stream, commit.version, f"it cannot be read: {why}") from why
        self.book, self.unread = book, None
        return book.head

    async def load_if_sound(self) -> None:
        """Fold the log at the start. One that cannot be trusted waits for operators, and the others do not: whoever
        needs it finds out through ``sound``. Raises EventLogError.
        """
        try:
            await self.load()
        except (ChainBroken, UnknownEventError) as why:
            self.unread = why
            log.critical("verdicts_broken", stream=self.stream, why=str(why))

    async def sound(self) -> ShardVerdicts:
        """Return the book, read again if it could not be. Raises as ``load``."""
        async with self._reading:
            if self.unread is not None:
                await self.load()
        return self.book

    async def for_callers(self) -> ShardVerdicts:
        """Return the book for whoever asks about it. Raises Refused(LOG_BROKEN), EventLogError."""
        try:
            return await self.sound()
        except (ChainBroken, UnknownEventError):
            raise broken() from None

    async def write(self, table_id: str, make: Make) -> int | None:
        """Write what ``make`` says and return its version once it is durable; None when there was nothing to write.
        Raises what ``make`` raises, and EventLogError.
        """
        if not self._is_started:
            self._is_started = True
            self._mailbox.start(self._runtime, f"write {self.stream}")
        version: int | None = await self._mailbox.answer(
            self._mailbox.post(_Wish(table_id=table_id, make=make)), within_s=None
        )
        return version

    async def close(self) -> None:
        """Write what was begun, as far as there is time."""
        await self._mailbox.stop()

    async def _take(self, batch: Sequence[_Wish]) -> None:
        while batch:
            now, batch = _one_of_each_table(batch)
            try:
                await self._settle(now)
            except Exception as why:  # noqa: BLE001  (of the log: it belongs to whoever asked)
                fail_all(now, why)

    async def _settle(self, wishes: Sequence[_Wish]) -> None:
        waiting = wishes

        async def ask_and_write() -> None:
            nonlocal waiting
            ready = [(wish, made, self._draft(*made)) for wish in waiting if (made := self._ask(wish)) is not None]
            answers = await self._writer.write_all([append for *_, append in ready]) if ready else []
            conflicts = []
            for (wish, (event, meta), _), answer in zip(ready, answers, strict=True):
                if isinstance(answer, VersionConflict):
                    conflicts.append((wish, answer))
                else:
                    self.book.fold(answer, [event], meta)
                    wish.done(answer.version)
            waiting = [wish for wish, _ in conflicts]
            if conflicts:
                raise conflicts[0][1]

        await self._writer.decided(ask_and_write)

    def _draft(self, event: VerdictEvent, meta: Meta) -> Append:
        return self._writer.draft(encode_commit([event], meta))

    def _ask(self, wish: _Wish) -> tuple[VerdictEvent, Meta] | None:
        try:
            made = wish.make(self.book.table(wish.table_id))
        except Exception as why:  # noqa: BLE001  (a refusal, most likely: it belongs to whoever asked)
            wish.fail(why)
            return None
        if made is None:
            wish.done(None)
        return made


def _one_of_each_table(wishes: Sequence[_Wish]) -> tuple[list[_Wish], list[_Wish]]:
    """Split what waits: a table's second wish must see what the first has led to."""
    now: dict[str, _Wish] = {}
    later = [wish for wish in wishes if now.setdefault(wish.table_id, wish) is not wish]
    return list(now.values()), later


def _fold(book: ShardVerdicts, commit: StoredCommit) -> None:
    decoded: Any = decode_commit(commit.body)
    book.fold(Head(commit.version, commit.hash), decoded.events, decoded.meta)

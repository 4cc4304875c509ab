"""One currency's ledger: the one writer of its log, and its state in memory.

Commands queue up; the worker decides all that have arrived, appends their commits in one pipeline, and only
then answers. If the log says no, or somebody else wrote, memory is thrown away and rebuilt: nothing that is
not in the log was ever answered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog

from stud_core.ledger.commands import Command, Refusal
from stud_core.ledger.decide import decide
from stud_core.ledger.evolve import evolve
from stud_core.ledger.names import player
from stud_core.ledger.postings import unsound
from stud_core.ledger.state import Ledger
from stud_eventlog import keys
from stud_eventlog.errors import EventLogError, LogBehind, VersionConflict
from stud_eventlog.types import Append, FeedItem, Head
from stud_service.kit import Kit
from stud_service.refusals import Refused
from stud_wire.commits import Meta, decode_commit, encode_commit, encode_event
from wallet_service.answers import is_answer

ANSWER_WITHIN_S = 8.0
MAX_BATCH = 256
MAX_CONFLICTS = 5
log = structlog.get_logger()


class Done(msgspec.Struct, frozen=True):
    """An accepted command: its events (none when it was answered before), the ledger's version, the balance."""

    events: tuple[Any, ...]
    version: int
    balance: int = 0


class Accepted(msgspec.Struct, frozen=True):
    """What a request id was first used for, and what came of it. Kept for good: forgetting could book twice."""

    digest: bytes
    events: tuple[Any, ...]
    version: int


class Mail(msgspec.Struct):
    """A command on its way; ``account`` names whose balance the answer wants."""

    command: Command
    future: asyncio.Future[Done]
    actor: str = ""
    account: str = ""
    request_id: str = ""
    digest: bytes = b""
    cause: tuple[str, int] | None = None


class Book:
    """The ledger of one currency."""

    def __init__(self, kit: Kit, currency: str) -> None:
        self.currency = currency
        self.stream = keys.ledger_log(currency)
        self.state = Ledger()
        self.head = Head(0, bytes(32))
        self._kit = kit
        self._queue: asyncio.Queue[Mail] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None
        self._stale = True
        self._requests: dict[tuple[str, str], Accepted] = {}

    async def start(self) -> None:
        """Fold the log, then take commands."""
        await self._rebuild()
        self._worker = self._kit.spawn(self._work(), f"ledger {self.currency}")

    async def stop(self) -> None:
        """Finish what is queued, take nothing new."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._queue.join(), 2.0)
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    async def submit(
        self,
        command: Command,
        *,
        actor: str = "",
        account: str = "",
        request_id: str = "",
        digest: bytes = b"",
        cause: tuple[str, int] | None = None,
        within_s: float | None = ANSWER_WITHIN_S,
    ) -> Done:
        """Return once the command is durable. Raises Refused; OUTCOME_UNKNOWN when it takes too long."""
        future: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda f: f.cancelled() or f.exception())
        self._queue.put_nowait(Mail(command, future, actor, account, request_id, digest, cause))
        try:
            return await asyncio.wait_for(asyncio.shield(future), within_s)
        except TimeoutError:
            raise Refused(
                "OUTCOME_UNKNOWN", "the log has not answered yet: repeat the call with the same request_id"
            ) from None

    async def _rebuild(self) -> None:
        state, head = Ledger(), Head(0, bytes(32))
        requests: dict[tuple[str, str], Accepted] = {}
        async for stored in self._kit.log.read_all(self.stream):
            commit = decode_commit(stored.body)
            evolve(state, commit.events, stored.version)
            if commit.meta.request_id:
                key = (commit.meta.actor, commit.meta.request_id)
                requests[key] = Accepted(commit.meta.request_digest, commit.events, stored.version)
            head = Head(stored.version, stored.hash)
        self.state, self.head, self._requests, self._stale = state, head, requests, False
        log.info("ledger_loaded", currency=self.currency, version=head.version)

    # ---------------------------------------------------------------- worker

    async def _work(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < MAX_BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._take(batch)
            except LogBehind:
                self._stale = True
                _fail(batch, Refused("LOG_BEHIND", "the ledger is older than what was acknowledged"))
            except EventLogError:
                self._stale = True
                _fail(
                    batch, Refused("LOG_UNAVAILABLE", "the log cannot be written: try again with the same request_id")
                )
            finally:
                _fail(batch, Refused("STOPPING", "the service is stopping: connect again"))
                for _ in batch:
                    self._queue.task_done()

    async def _take(self, batch: Sequence[Mail]) -> None:
        """Decide and append a batch; whatever a conflict left undone is decided again on the rebuilt ledger."""
        waiting = list(batch)
        for _ in range(MAX_CONFLICTS):
            if self._stale:
                await self._rebuild()
            decided = [(mail, *self._decide(mail)) for mail in waiting]
            appends = [append for _, _, append in decided if append is not None]
            results = iter(await self._kit.log.append_many(appends) if appends else [])
            waiting = self._answer(decided, results)
            if not waiting:
                return
            self._stale = True
        raise EventLogError("another writer keeps changing this ledger")

    def _answer(self, decided: Sequence[tuple[Mail, Done | Refused, Append | None]], results: Any) -> list[Mail]:
        """Resolve what is durable; return what was decided on a history that did not happen."""
        failed: list[Mail] = []
        for mail, outcome, append in decided:
            if (append is not None and isinstance(next(results), VersionConflict)) or failed:
                failed.append(mail)
            elif mail.future.done():
                continue
            elif isinstance(outcome, Refused):
                mail.future.set_exception(outcome)
            else:
                mail.future.set_result(outcome)
        return failed

    def _decide(self, mail: Mail) -> tuple[Done | Refused, Append | None]:
        now = self._kit.clock()
        key = (mail.actor, mail.request_id)
        first = self._requests.get(key) if mail.request_id else None
        if first is not None:
            return self._again(first, mail), None
        answer = decide(self.state, mail.command, now)
        if isinstance(answer, Refusal):
            return Refused(answer.reason, answer.text, **answer.details), None
        append = None
        if answer:
            problem = unsound(self.state, answer)
            if problem:
                log.error("not_conserved", currency=self.currency, version=self.head.version, problem=problem)
                return Refused("INTERNAL", "the ledger refused an entry that is not sound"), None
            meta = Meta(now, mail.actor, mail.request_id, mail.digest, mail.cause, self._kit.build)
            append = self._append(answer, meta)
            if mail.request_id:
                self._requests[key] = Accepted(mail.digest, tuple(answer), append.expected_version + 1)
            evolve(self.state, answer, append.expected_version + 1)
            self.head = append.head
        balance = self.state.balance(player(mail.account)) if mail.account else 0
        return Done(tuple(answer), self.head.version, balance), append

    def _again(self, first: Accepted, mail: Mail) -> Done | Refused:
        """Answer a repeated request with its first result."""
        if first.digest != mail.digest:
            return Refused("REQUEST_ID_REUSED", f"request_id {mail.request_id!r} was used for another request")
        balance = self.state.balance(player(mail.account)) if mail.account else 0
        return Done(first.events, first.version, balance)

    def _append(self, events: Sequence[Any], meta: Meta) -> Append:
        outbox = tuple(
            FeedItem(keys.ledger_feed(self.currency, keys.shard_of(event.table)), encode_event(event))
            for event in events
            if is_answer(event)
        )
        return Append(
            self.stream, self.head.version, self.head.hash, self._kit.new_id(), encode_commit(events, meta), outbox
        )


def _fail(batch: Sequence[Mail], refused: Refused) -> None:
    for mail in batch:
        if not mail.future.done():
            mail.future.set_exception(refused)

"""One currency's ledger: the one writer of its log, and its state in memory.

Commands queue up; the worker decides all that have arrived, appends their commits in one pipeline, and only
then answers. Questions queue up with them, so that nobody is shown what is not durable yet. If the log says no, or
somebody else wrote, memory is thrown away and rebuilt: nothing that is not in the log was ever answered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import msgspec
import structlog

from stud_core.ledger.commands import Command, Deposit, OpenAccount, Refusal, SettleHand, Withdraw
from stud_core.ledger.decide import decide, worth_noting
from stud_core.ledger.evolve import evolve
from stud_core.ledger.postings import unsound
from stud_core.ledger.requests import NOWHERE, Origin, key_of, origin_of
from stud_core.ledger.state import Ledger
from stud_eventlog import keys
from stud_eventlog.errors import ChainBroken, EventLogError, LogBehind, VersionConflict
from stud_eventlog.types import Append, FeedItem, Head
from stud_service.kit import Kit
from stud_service.patience import patiently
from stud_service.refusals import Refused
from stud_wire.codec import WireError
from stud_wire.commits import Meta, decode_commit, encode_commit, encode_event
from wallet_service.answers import is_answer
from wallet_service.entries import Entries

ANSWER_WITHIN_S = 8.0
STOP_WITHIN_S = 2.0
MAX_BATCH = 256
MAX_CONFLICTS = 5
PROGRESS_EVERY_S = 2.0
log = structlog.get_logger()

T = TypeVar("T")


class Unsound(Exception):
    """A decision would have made or overdrawn money: a fault of ours. Nothing of it was written."""


class Done(msgspec.Struct, frozen=True):
    """An accepted command: its events (none when it was answered before) and what its first call was answered.

    ``settled`` is the last settled hand of the table whose verdict this was.
    """

    events: tuple[Any, ...]
    version: int
    balance: int = 0
    decided: bool = False
    settled: int = 0


class Mail(msgspec.Struct, eq=False):
    """A command or a question on its way. It fails as the mail does that it comes ``after``: a table's messages keep
    their order, and none is decided on a history in which an earlier one did not happen.
    """

    future: asyncio.Future[Any]
    command: Command | None = None
    question: Callable[[Ledger], Any] | None = None
    cause: tuple[str, int] | None = None
    after: Mail | None = None
    failure: Exception | None = None


Decided = tuple[Mail, Any, Append | None]


class Book:
    """The ledger of one currency."""

    def __init__(self, kit: Kit, currency: str) -> None:
        self.currency = currency
        self.stream = keys.ledger_log(currency)
        self.state = Ledger()
        """As decided so far, the last of it perhaps not durable yet: for deciding, and for where to look next."""
        self.entries = Entries()
        """Of the same commits as the state."""
        self.heavy = kit.heavy
        self.head = Head(0, bytes(32))
        self._kit = kit
        self._queue: asyncio.Queue[Mail] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None
        self._stale = True
        self._stopping = False

    async def start(self) -> None:
        """Fold the log, then take commands. One that cannot be trusted refuses them until operators have put it right;
        other currencies do not wait for it.
        """
        try:
            await patiently(self._rebuild, self._kit.log, what=f"load ledger {self.currency}")
        except (ChainBroken, WireError) as fault:
            self._tell(fault)
        self._worker = self._kit.spawn(self._work(), f"ledger {self.currency}")

    async def stop(self) -> None:
        """Finish what is queued, take nothing new."""
        self._stopping = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_WITHIN_S):
                await self._queue.join()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        while not self._queue.empty():
            _fail([self._queue.get_nowait()], _stopping())

    async def submit(self, command: Command, *, within_s: float | None = ANSWER_WITHIN_S) -> Done:
        """Return once the command is durable. Raises Refused; OUTCOME_UNKNOWN when it takes too long."""
        return cast("Done", await self._within(self.post(command), within_s))

    async def read(self, question: Callable[[Ledger], T], *, within_s: float | None = ANSWER_WITHIN_S) -> T:
        """Ask the state; the answer comes when all it rests on is durable. Raises Refused as ``submit`` does."""
        mail = self._queued(Mail(_future(), question=question))
        return cast("T", await self._within(mail, within_s))

    async def answered(self, command: Command) -> Done | None:
        """Return what the same call was answered first, None if it never was. Raises Refused as ``submit`` does."""
        return await self.read(lambda _: self._answered(command))

    def post(self, command: Command, *, cause: tuple[str, int] | None = None, after: Mail | None = None) -> Mail:
        """Queue a command; its future resolves to Done or fails."""
        return self._queued(Mail(_future(), command, cause=cause, after=after))

    def _queued(self, mail: Mail) -> Mail:
        if self._stopping:
            _fail([mail], _stopping())
        else:
            self._queue.put_nowait(mail)
        return mail

    async def _within(self, mail: Mail, within_s: float | None) -> Any:
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.shield(mail.future)
        except TimeoutError:
            raise Refused(
                "OUTCOME_UNKNOWN", "the log has not answered yet: repeat the call with the same request_id"
            ) from None

    async def _rebuild(self) -> None:
        state, entries, head = Ledger(), Entries(), Head(0, bytes(32))
        now_s = asyncio.get_running_loop().time
        tell_at = now_s() + PROGRESS_EVERY_S
        async for stored in self._kit.log.read_all(self.stream):
            commit = decode_commit(stored.body)
            meta = commit.meta
            evolve(state, commit.events, stored.version, Origin(meta.actor, meta.request_id, meta.request_digest))
            entries.add(commit.events, stored.version)
            head = Head(stored.version, stored.hash)
            if now_s() > tell_at:
                log.info("ledger_loading", currency=self.currency, version=head.version)
                tell_at = now_s() + PROGRESS_EVERY_S
        self.state, self.entries, self.head, self._stale = state, entries, head, False
        log.info("ledger_loaded", currency=self.currency, version=head.version)

    # ---------------------------------------------------------------- worker

    async def _work(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < MAX_BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._take(batch)
            except LogBehind as fault:
                self._stale = True
                self._tell(fault)
                _fail(batch, Refused("LOG_BEHIND", "the ledger is not what was acknowledged: operators are needed"))
            except (ChainBroken, WireError) as fault:
                self._stale = True
                self._tell(fault)
                _fail(batch, Refused("LOG_BROKEN", "the ledger cannot be trusted as it stands: operators are needed"))
            except EventLogError as fault:
                self._stale = True
                log.warning("ledger_not_written", currency=self.currency, why=str(fault))
                _fail(batch, _not_written())
            finally:
                _fail(batch, _stopping())
                for _ in batch:
                    self._queue.task_done()

    def _tell(self, fault: Exception) -> None:
        log.critical("ledger_needs_operators", currency=self.currency, why=str(fault))

    async def _take(self, batch: Sequence[Mail]) -> None:
        """Decide and append a batch; whatever a conflict left undone is decided again on the rebuilt ledger."""
        waiting = list(batch)
        if self._kit.log_refuses:  # deciding would be in vain, and memory be thrown away each time
            _fail([mail for mail in waiting if mail.command is not None], _not_written())
            waiting = [mail for mail in waiting if mail.command is None]
        for _ in range(MAX_CONFLICTS):
            if self._stale:
                await self._rebuild()
            head = self.head
            decided = [self._decide(mail) for mail in waiting]
            if await self._is_stale_for(waiting, head):
                continue
            appends = [append for _, _, append in decided if append is not None]
            results = iter(await self._kit.log.append_many(appends) if appends else [])
            waiting = _answer(decided, results)
            if not waiting:
                return
            self._stale = True
        raise EventLogError("another writer keeps changing this ledger")

    async def _is_stale_for(self, waiting: Sequence[Mail], head: Head) -> bool:
        """Before what a table or the referee sent is called wrong, see whether somebody else wrote to this ledger since
        it was known to end at ``head``: then all is decided again on what the log says. Nothing has been sent yet.
        """
        if any(mail.cause is not None and isinstance(mail.failure, Refused) for mail in waiting):
            self._stale = await self._kit.log.head(self.stream) != head
        return self._stale

    def _decide(self, mail: Mail) -> Decided:
        mail.failure = mail.after.failure if mail.after is not None else None
        if mail.failure is not None:
            return mail, None, None
        now = self._kit.clock()
        try:
            if mail.command is None:
                return mail, mail.question(self.state) if mail.question is not None else None, None
            events = self._events(mail.command, now)
            append = self._append(mail, events, now) if events or worth_noting(self.state, mail.command) else None
        except Refused as refused:
            mail.failure = refused
            return mail, None, None
        except Exception as fault:  # of one message, or ours: it must not stop the whole ledger
            log.exception("decision_failed", currency=self.currency, command=type(mail.command).__name__)
            mail.failure = fault
            return mail, None, None
        if append is not None:
            evolve(self.state, events, append.expected_version + 1, origin_of(mail.command))
            self.entries.add(events, append.expected_version + 1)
            self.head = append.head
        return mail, self._done(mail.command, events), append

    def _events(self, command: Command, now: int) -> list[Any]:
        answer = decide(self.state, command, now)
        if isinstance(answer, Refusal):
            raise Refused(answer.reason, answer.text, **answer.details)
        problem = unsound(self.state, answer)
        if problem:
            log.critical("unsound", currency=self.currency, command=type(command).__name__, problem=problem)
            raise Unsound(problem)
        return answer

    def _answered(self, command: Command) -> Done | None:
        key = key_of(command)
        if key is None or self.state.requests.get(key) is None:
            return None
        return self._done(command, self._events(command, self._kit.clock()))

    def _done(self, command: Command, events: Sequence[Any]) -> Done:
        settled = self.state.settled.get(command.table, 0) if isinstance(command, SettleHand) else 0
        key = key_of(command)
        first = self.state.requests.get(key) if key is not None else None
        if first is not None and isinstance(command, Deposit | Withdraw):
            return Done(tuple(events), first.version, balance=first.number)
        if first is not None:
            return Done(tuple(events), first.version, decided=bool(first.number))
        if isinstance(command, OpenAccount):  # his own, which was open: the answer is what it was when he opened it
            return Done(tuple(events), self.state.accounts[command.account])
        return Done(tuple(events), self.head.version, settled=settled)

    def _append(self, mail: Mail, events: Sequence[Any], now: int) -> Append:
        origin = origin_of(mail.command) if mail.command is not None else NOWHERE
        meta = Meta(now, origin.actor, origin.request_id, origin.content, mail.cause, self._kit.build)
        outbox = tuple(
            FeedItem(keys.ledger_feed(self.currency, keys.shard_of(event.table)), encode_event(event))
            for event in events
            if is_answer(event, self.state)
        )
        return Append(
            self.stream, self.head.version, self.head.hash, self._kit.new_id(), encode_commit(events, meta), outbox
        )


def _answer(decided: Sequence[Decided], results: Iterator[Head | VersionConflict]) -> list[Mail]:
    """Resolve what is durable; return what was decided on a history that did not happen."""
    undone: list[Mail] = []
    for mail, outcome, append in decided:
        if (append is not None and isinstance(next(results), VersionConflict)) or undone:
            undone.append(mail)
        elif mail.failure is not None:
            _fail([mail], mail.failure)
        elif not mail.future.done():
            mail.future.set_result(outcome)
    return undone


def _fail(batch: Sequence[Mail], why: Exception) -> None:
    for mail in batch:
        if not mail.future.done():
            mail.failure = why
            mail.future.set_exception(why)


def _not_written() -> Refused:
    return Refused("LOG_UNAVAILABLE", "the log cannot be written: try again with the same request_id")


def _stopping() -> Refused:
    return Refused("STOPPING", "the service is stopping: connect again")


def _future() -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda f: f.cancelled() or f.exception())  # seen, even if the caller has gone away
    return future

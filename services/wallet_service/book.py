"""One currency's ledger: the decisions on all that has arrived, and its state in memory.

Commands queue up; all that have arrived are decided, their commits written in one pipeline, and only then answered.
Questions queue up with them, so that nobody is shown what is not durable yet. If the log says no, or somebody else
wrote, memory is thrown away and rebuilt: nothing that is not in the log was ever answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import msgspec
import structlog

from stud_core.ledger.commands import Command, Deposit, OpenAccount, SettleHand, Withdraw
from stud_core.ledger.decide import decide, worth_noting
from stud_core.ledger.evolve import evolve
from stud_core.ledger.postings import unsound
from stud_core.ledger.requests import NOWHERE, Origin, key_of, origin_of
from stud_core.ledger.state import Ledger
from stud_core.rejection import Rejection
from stud_eventlog import keys
from stud_eventlog.trouble import of_a_key
from stud_eventlog.types import (
    Append,
    ChainBroken,
    EventLogError,
    FeedItem,
    Head,
    LogBehind,
    LogRefuses,
    VersionConflict,
)
from stud_service.log_writer import LogWriter, behind, not_written, refusal_of
from stud_service.mailbox import ANSWER_WITHIN_S, Mail, Mailbox, fail_all, stopping
from stud_service.refusals import Refused
from stud_service.retrying import patiently
from stud_service.runtime import Runtime
from stud_wire.codec import WireError
from stud_wire.commits import Meta, decode_commit, encode_commit, encode_event
from wallet_service.account_index import AccountIndex
from wallet_service.answers import is_answer
from wallet_service.bell import Bell

MAX_BATCH = 256
PROGRESS_EVERY_S = 2.0
log = structlog.get_logger()

T = TypeVar("T")


class Unsound(Exception):
    """A decision would have made or overdrawn money: a fault of ours. Nothing of it was written."""


class Done(msgspec.Struct, frozen=True):
    """An accepted command: its events (none when it was answered before) and the answer to its first call.

    ``settled`` is the last settled hand of the table whose verdict this was.
    """

    events: tuple[Any, ...]
    version: int
    balance: int = 0
    decided: bool = False
    settled: int = 0


class Asked(Mail):
    """A command or a question on its way. It fails with what it comes ``after``: a table's messages keep their order,
    and none is decided on a history in which an earlier one did not happen.
    """

    command: Command | None = None
    question: Callable[[Ledger], Any] | None = None
    cause: tuple[str, int] | None = None
    after: Asked | None = None
    failure: Exception | None = None

    def fail(self, why: Exception) -> None:
        """Remember why, for what comes after."""
        if not self.future.done():
            self.failure = why
        super().fail(why)


Decided = tuple[Asked, Any, Append | None]


class Book:
    """The ledger of one currency."""

    def __init__(self, runtime: Runtime, currency: str) -> None:
        self.currency = currency
        self.stream = keys.ledger_log(currency)
        self.state = Ledger()
        """As decided so far, the last of it perhaps not durable yet: for deciding, and for where to look next."""
        self.entries = AccountIndex()
        """Of the same commits as the state."""
        self.heavy = runtime.heavy
        self.clock = runtime.clock
        self.bell = Bell()
        """Rung when the state has changed."""
        self._runtime = runtime
        self._writer = LogWriter(runtime, self.stream, self._rebuild)
        self._mailbox = Mailbox(self._take, most=MAX_BATCH)
        self._behind = False

    @property
    def head(self) -> Head:
        """Of all that was decided so far, as ``state`` is."""
        return self._writer.tip

    async def start(self) -> None:
        """Fold the log, then take commands. One that cannot be trusted refuses them until operators have put it right;
        other currencies do not wait for it.
        """
        try:
            await patiently(self._writer.refold, self._runtime.log, what=f"load ledger {self.currency}")
        except (ChainBroken, WireError) as fault:
            self._tell(fault)
        self._mailbox.start(self._runtime, f"ledger {self.currency}")

    async def stop(self) -> None:
        """Finish what is queued, take nothing new."""
        self.bell.ring_all(stopping())
        await self._mailbox.stop()

    def log_behind(self) -> None:
        """The log has lost what it had acknowledged: nothing is decided or told of it until operators have looked."""
        self._behind = True
        self.bell.ring_all()

    def check_not_behind(self) -> None:
        """Raises Refused(LOG_BEHIND)."""
        if self._behind:
            raise behind(self.stream)

    async def submit(self, command: Command, *, within_s: float | None = ANSWER_WITHIN_S) -> Done:
        """Return once the command is durable. Raises Refused; OUTCOME_UNKNOWN when it takes too long."""
        return cast("Done", await self._mailbox.answer(self.post(command), within_s))

    async def read(self, question: Callable[[Ledger], T], *, within_s: float | None = ANSWER_WITHIN_S) -> T:
        """Ask the state; the answer comes when all it rests on is durable. Raises Refused as ``submit`` does."""
        mail = self._mailbox.post(Asked(question=question))
        return cast("T", await self._mailbox.answer(mail, within_s))

    async def answered(self, command: Command) -> Done | None:
        """Return the first answer to the same call, None if there never was one. Raises Refused as ``submit`` does."""
        return await self.read(lambda _: self._answered(command))

    def post(self, command: Command, *, cause: tuple[str, int] | None = None, after: Asked | None = None) -> Asked:
        """Queue a command; its future resolves to Done or fails."""
        return self._mailbox.post(Asked(command=command, cause=cause, after=after))

    async def _rebuild(self) -> Head:
        state, entries, head = Ledger(), AccountIndex(), Head(0, bytes(32))
        now_s = asyncio.get_running_loop().time
        tell_at = now_s() + PROGRESS_EVERY_S
        async for stored in self._runtime.log.read_all(self.stream):
            commit = decode_commit(stored.body)
            meta = commit.meta
            evolve(state, commit.events, stored.version, Origin(meta.actor, meta.request_id, meta.request_digest))
            entries.add(commit.events, stored.version)
            head = Head(stored.version, stored.hash)
            if now_s() > tell_at:
                log.info("ledger_loading", currency=self.currency, version=head.version)
                tell_at = now_s() + PROGRESS_EVERY_S
        self.state, self.entries = state, entries
        self.bell.ring_all()
        log.info("ledger_loaded", currency=self.currency, version=head.version)
        return head

    # -------------------------------------------------------------- deciding

    async def _take(self, batch: Sequence[Asked]) -> None:
        try:
            await self._settle(batch)
        except (EventLogError, WireError) as fault:
            self._writer.in_doubt = True
            if isinstance(fault, LogRefuses) and of_a_key(fault.code) and len(batch) > 1:
                for mail in batch:  # one of them needs a key that is refused, the others do not
                    await self._take([mail])
            else:
                self._give_up(batch, fault)

    def _give_up(self, batch: Sequence[Asked], fault: Exception) -> None:
        """What was decided is not in the log, as far as anybody knows: memory is folded again before it is used."""
        if isinstance(fault, (LogBehind, ChainBroken, WireError)):
            self._tell(fault)
        else:
            log.warning("ledger_not_written", currency=self.currency, why=str(fault))
        fail_all(batch, refusal_of(fault) or fault)

    def _tell(self, fault: Exception) -> None:
        log.critical("ledger_needs_operators", currency=self.currency, why=str(fault))

    async def _settle(self, batch: Sequence[Asked]) -> None:
        """Decide and write a batch; whatever a conflict left undone is decided again on the rebuilt ledger."""
        waiting = list(batch)
        if self._behind:
            fail_all(waiting, behind(self.stream))
            return
        if self._runtime.log_refuses:  # deciding would be in vain, and memory be thrown away each time
            fail_all([mail for mail in waiting if mail.command is not None], not_written())
            waiting = [mail for mail in waiting if mail.command is None]

        async def decide_and_write() -> None:
            nonlocal waiting
            head = self._writer.head
            decided = [self._decide(mail) for mail in waiting]
            await self._look_again(waiting, head)
            appends = [append for _, _, append in decided if append is not None]
            results = iter(await self._writer.write_all(appends) if appends else [])
            waiting = _answer(decided, results)
            if waiting:
                raise VersionConflict(self.stream, head.version, head.version)

        await self._writer.decided(decide_and_write)

    async def _look_again(self, waiting: Sequence[Asked], head: Head) -> None:
        """Before what a table or the referee sent is called wrong, see whether somebody else wrote to this ledger since
        it was known to end at ``head``: then all is decided again on what the log says. Nothing has been sent yet.
        Raises VersionConflict.
        """
        if any(mail.cause is not None and isinstance(mail.failure, Refused) for mail in waiting):
            found = await self._runtime.log.head(self.stream)
            if found != head:
                raise VersionConflict(self.stream, head.version, found.version)

    def _decide(self, mail: Asked) -> Decided:
        mail.failure = mail.after.failure if mail.after is not None else None
        if mail.failure is not None:
            return mail, None, None
        now = self._runtime.clock()
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
            self.bell.ring(events)
        return mail, self._done(mail.command, events), append

    def _events(self, command: Command, now: int) -> list[Any]:
        answer = decide(self.state, command, now)
        if isinstance(answer, Rejection):
            raise Refused.from_rejection(answer)
        problem = unsound(self.state, answer)
        if problem:
            log.critical("unsound", currency=self.currency, command=type(command).__name__, problem=problem)
            raise Unsound(problem)
        return answer

    def _answered(self, command: Command) -> Done | None:
        key = key_of(command)
        if key is None or self.state.requests.get(key) is None:
            return None
        return self._done(command, self._events(command, self._runtime.clock()))

    def _done(self, command: Command, events: Sequence[Any]) -> Done:
        settled = self.state.settled.get(command.table, 0) if isinstance(command, SettleHand) else 0
        key = key_of(command)
        first = self.state.requests.get(key) if key is not None else None
        if first is not None and isinstance(command, Deposit | Withdraw):
            return Done(tuple(events), first.version, balance=first.number)
        if first is not None:
            return Done(tuple(events), first.version, decided=bool(first.number))
        if isinstance(command, OpenAccount):  # their own, which was open: the answer is what it was when they opened it
            return Done(tuple(events), self.state.accounts[command.account])
        return Done(tuple(events), self.head.version, settled=settled)

    def _append(self, mail: Asked, events: Sequence[Any], now: int) -> Append:
        origin = origin_of(mail.command) if mail.command is not None else NOWHERE
        meta = Meta(now, origin.actor, origin.request_id, origin.content, mail.cause, self._runtime.build)
        outbox = tuple(
            FeedItem(keys.ledger_feed(self.currency, keys.shard_of(event.table)), encode_event(event))
            for event in events
            if is_answer(event, self.state)
        )
        return self._writer.draft(encode_commit(events, meta), outbox)


def _answer(decided: Sequence[Decided], results: Iterator[Head | VersionConflict]) -> list[Asked]:
    """Resolve what is durable; return what was decided on a history that did not happen."""
    undone: list[Asked] = []
    for mail, outcome, append in decided:
        if (append is not None and isinstance(next(results), VersionConflict)) or undone:
            undone.append(mail)
        elif mail.failure is not None:
            mail.fail(mail.failure)
        else:
            mail.done(outcome)
    return undone

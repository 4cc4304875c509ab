"""The one writer of one log in this process: what every service does alike to append a decision to what the log says.

    know      memory is what the log says up to `head`; where that is in doubt it is folded again before anything is
              decided on it
    draft     commits that follow, each on the one before
    write     all at once; what comes back is durable
    decide    again, a few times, when somebody else wrote first

An append ends in success, a conflict, or a fault; while the log does not answer, it is repeated, and nothing else is
decided here. After a conflict, or a fault that says nothing of what was written, memory is in doubt. What was decided,
what it means in memory and who is told stays with the owner of the log.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from stud_eventlog.trouble import Trouble, of_a_key, refused
from stud_eventlog.types import (
    Append,
    ChainBroken,
    EventLogError,
    FeedItem,
    Head,
    LobbyRow,
    LogBehind,
    LogRefuses,
    LogUnavailable,
    NotInitialised,
    VersionConflict,
)
from stud_service.limits import now_s
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from stud_wire.codec import WireError

MAX_CONFLICTS = 5
"""Other writers are rare (an instance that was thought dead), so more of them in a row are no accident."""

NOT_WRITTEN = (LogUnavailable, NotInitialised)
"""Faults of which the log's port promises that nothing of that append was written."""

TELL_EVERY_S = 60.0
"""So often operators are told of what goes on."""

log = structlog.get_logger()

T = TypeVar("T")


class Contended(EventLogError):
    """Another writer keeps changing the log."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"{stream}: another writer keeps changing it")


class LogWriter:
    """The end of one log as it is known here, and the one way to write behind it. Not to be used by two tasks at once:
    a mailbox or a lock sees to that.
    """

    def __init__(self, runtime: Runtime, stream: str, fold: Callable[[], Awaitable[Head]]) -> None:
        """`fold` makes the owner's memory what the log says, and returns where the log ends; may raise ChainBroken,
        WireError, EventLogError.
        """
        self.stream = stream
        self.head = Head()
        """The end of what is durable."""
        self.tip = Head()
        """The end of what has been drafted, perhaps not written yet."""
        self.in_doubt = True
        """Whether memory may differ from the log: it was never folded, or something went wrong since."""
        self.refused: Trouble | None = None
        """Why the server refuses what should be written here, though it may take other things."""
        self._refused_append: Append | None = None
        self._told_at = -math.inf
        self._runtime = runtime
        self._fold = fold

    async def refold(self) -> None:
        """Make memory what the log says."""
        self.in_doubt = True
        self.settle(await self._fold())

    def settle(self, head: Head) -> None:
        """Memory is what the log says up to there: the owner has folded it."""
        self.head = self.tip = head
        self.in_doubt = False

    async def know(self) -> None:
        """Fold the log where memory is in doubt."""
        if self.in_doubt:
            await self.refold()

    async def catch_up(self) -> bool:
        """Fold the log where somebody else wrote to it; return whether anybody has."""
        if not self.in_doubt and await self._runtime.log.head(self.stream) == self.head:
            return False
        await self.refold()
        return True

    def draft(self, body: bytes, outbox: Sequence[FeedItem] = (), row: LobbyRow | None = None) -> Append:
        """Return the commit that follows, with what it tells in feeds and in the lobby."""
        append = Append(self.stream, self.tip.version, self.tip.hash, self._runtime.new_id(), body, tuple(outbox), row)
        self.tip = append.head
        return append

    async def write(self, append: Append) -> Head:
        """Write the only draft there is; returns once it is durable. Raises VersionConflict, LogBehind, EventLogError;
        after LogUnavailable and NotInitialised nothing was written, and memory is as good as before.
        """
        before, self.in_doubt = self.head, True  # a cancellation too leaves only the log to know
        try:
            head = await self._runtime.log.append(append)
        except NOT_WRITTEN as why:
            self.settle(before)
            self._note_refusal(why, append)
            raise
        self.settle(head)
        self.refused = None
        return head

    async def write_all(self, appends: Sequence[Append]) -> list[Head | VersionConflict]:
        """Write all drafts in one pipeline; returns once each is durable, or known not to be written since somebody
        else was first. Raises LogBehind, EventLogError: some may be written then.
        """
        self.in_doubt = True
        try:
            answers = await self._runtime.log.append_many(appends)
        except EventLogError as why:
            self._note_refusal(why, appends[0])
            raise
        self.refused = None
        heads = [answer for answer in answers if isinstance(answer, Head)]
        if heads and len(heads) == len(answers):
            self.settle(heads[-1])
        return answers

    async def try_again(self) -> None:
        """See whether what was refused would be refused still. Raises LogRefuses, EventLogError."""
        if self._refused_append is None:
            return
        try:
            await self._runtime.log.try_append(self._refused_append)
        except LogRefuses as why:
            self._note_refusal(why, self._refused_append)
            raise
        self.refused = self._refused_append = None

    def _note_refusal(self, why: Exception, append: Append) -> None:
        """Tell operators at once and each minute of what the watch of the log need not see: it tries another key."""
        if self._runtime.log_refuses or not (isinstance(why, LogRefuses) and of_a_key(why.code)):
            return
        self.refused = found = refused(why.code, why.text)
        self._refused_append = append
        now = now_s()
        if now - self._told_at >= TELL_EVERY_S:
            self._told_at = now
            log.critical("log_refuses", stream=self.stream, code=found.code, why=found.why, help=found.help)

    async def decided(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do what decides and writes, on memory that is what the log says; and again each time somebody else was first.
        Raises Contended when that does not end.
        """
        for _ in range(MAX_CONFLICTS):
            await self.know()
            try:
                return await work()
            except VersionConflict:
                self.in_doubt = True
                log.warning("version_conflict", stream=self.stream, version=self.head.version)
        raise Contended(self.stream)


def refusal_of(fault: Exception, trouble: str = "") -> Refused | None:
    """Return what a caller is told about a fault of a log: to try again, or that operators are needed. None for what is
    not a fault of a log. `trouble` says why it refuses, where that is known. The refusal's cause is the fault: who
    handles messages sees by it whom it concerns.
    """
    refusal = None
    if isinstance(fault, LogBehind):
        refusal = behind(fault.stream)
    elif isinstance(fault, (ChainBroken, WireError)):
        refusal = broken()
    elif isinstance(fault, LogRefuses):
        refusal = not_written(trouble or refused(fault.code, fault.text).code)
    elif isinstance(fault, EventLogError):
        refusal = not_written(trouble)
    if refusal is not None:
        refusal.__cause__ = fault
    return refusal


def behind(stream: str) -> Refused:
    """Return the refusal of whoever owns a log that went back in time."""
    return Refused("LOG_BEHIND", "the log is older than what was acknowledged: operators are needed", stream=stream)


def broken() -> Refused:
    """Return the refusal of whoever owns a log that cannot be trusted."""
    return Refused("LOG_BROKEN", "the log cannot be trusted as it stands: operators are needed")


def not_written(trouble: str = "") -> Refused:
    """Return the refusal of whoever owns a log that takes nothing now."""
    what = f" ({trouble})" if trouble else ""
    return Refused("LOG_UNAVAILABLE", f"the log cannot be written{what}: try again with the same request_id")

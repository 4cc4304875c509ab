"""Trying again, and knowing when that is useless.

A fault of the world (the log is away, somebody else wrote first) is waited out, however long it takes. A fault of the
message would come back every time: that is poison.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import grpc
import structlog

from stud_eventlog import keys
from stud_eventlog.cancelling import stop_if_cancelled
from stud_eventlog.log import Reachable
from stud_eventlog.pauses import Pauses
from stud_eventlog.trouble import of_a_key
from stud_eventlog.types import ChainBroken, EventLogError, LogBehind, LogRefuses, LogUnavailable, VersionConflict
from stud_service.logging import place_of
from stud_service.refusals import Refused
from stud_wire.codec import UnknownEventError, WireError

T = TypeVar("T")
logger = structlog.get_logger(__name__)

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 2.0
UNEXPECTED_ATTEMPTS = 5
"""An exception that nobody foresaw may be the world's fault; after this many attempts it is the message's."""

DETERMINISTIC = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, AssertionError)


class Poison(Exception):
    """The message cannot be handled, now or ever. The text ends up among the dead letters: no card may be in it.
    ``reason`` says the same in a word of the error catalogue.
    """

    def __init__(self, text: str, reason: str = "INTERNAL") -> None:
        super().__init__(text)
        self.reason = reason


class Standstill(Exception):
    """Nothing of this feed can be handled until operators have helped: what its tables share is broken."""


STANDS_STILL = (UnknownEventError, Standstill)
"""Faults that are no message's: the feed waits, the others go on."""

Judge = Callable[[Exception, int], Poison | Standstill | None]
"""(fault, attempts so far) -> what to raise for it, or None when trying again may help."""


class Backoff:
    """Pauses that double, with jitter, and a line in the log at every doubling of attempts."""

    def __init__(self) -> None:
        self.attempts = 0
        self._pauses = Pauses(FIRST_PAUSE_S, LONGEST_PAUSE_S)

    async def wait(self, log: Reachable, why: Exception, what: str) -> None:
        self.attempts += 1
        if self.attempts & (self.attempts - 1) == 0 and not (self.attempts == 1 and isinstance(why, VersionConflict)):
            logger.warning("trying_again", what=what, attempts=self.attempts, why=str(why) or type(why).__name__)
        await asyncio.sleep(self._pauses.next_s())
        if not log.available:
            try:
                async with asyncio.timeout(LONGEST_PAUSE_S):
                    await log.wait_available()
            except TimeoutError:
                pass


async def settle(work: Callable[[], Awaitable[None]], log: Reachable, what: str, poisons: Judge | None = None) -> None:
    """Does `work` until it succeeds. Raises what `poisons` says, and STANDS_STILL as they are; without a judge only the
    log's errors are waited out and everything else is raised as it is.
    """
    backoff = Backoff()
    while True:
        stop_if_cancelled()
        try:
            await work()
        except STANDS_STILL:
            raise
        except Exception as why:
            if poisons is None:
                if not isinstance(why, EventLogError):
                    raise
            elif (poison := poisons(why, backoff.attempts + 1)) is not None:
                raise poison from why
            await backoff.wait(log, why, what)
        else:
            return


async def patiently(work: Callable[[], Awaitable[T]], log: Reachable, what: str) -> T:
    """Returns what `work` does once the log answers it. Whatever else is wrong is raised as it is."""
    backoff = Backoff()
    while True:
        stop_if_cancelled()
        try:
            return await work()
        except LogUnavailable as why:
            await backoff.wait(log, why, what)


def poisons(table: str) -> Judge:
    """Returns who judges the faults of handling a table's messages."""

    def judge(why: Exception, attempts: int) -> Poison | Standstill | None:
        if isinstance(why, Poison):
            return why
        fault = why.__cause__ if isinstance(why, Refused) else why
        if isinstance(fault, LogRefuses) and of_a_key(fault.code):
            return Standstill(str(fault))  # tables of other shards have other keys, and need not wait for this one
        if isinstance(why, (LogBehind, ChainBroken)):
            # Only operators can help, and nobody unaffected should wait for them: a table's own log affects the table,
            # a verdict log its shard, a ledger everybody.
            name, text = keys.parse_stream(why.stream), f"{type(why).__name__}: {why}"
            if name is not None and name.kind == "verdicts":
                return Standstill(text)
            reason = "LOG_BEHIND" if isinstance(why, LogBehind) else "LOG_BROKEN"
            return Poison(text, reason) if name is not None and name.table_id == table else None
        if isinstance(why, Refused):
            return None if why.code is grpc.StatusCode.UNAVAILABLE else Poison(f"refused: {why.reason}", why.reason)
        if isinstance(why, (EventLogError, OSError)):  # TimeoutError and ConnectionError are OSErrors
            return None
        if isinstance(why, DETERMINISTIC) or attempts >= UNEXPECTED_ATTEMPTS:
            return Poison(place_of(why), "MALFORMED_MESSAGE" if isinstance(why, WireError) else "INTERNAL")
        return None

    return judge

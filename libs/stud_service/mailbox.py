"""What is asked of the owner of a log: queued, and taken by one worker, in order.

A caller that goes away changes nothing: the worker finishes what it began. A stop finishes what is queued as far as a
bounded time allows, and takes nothing new.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from stud_service.refusals import Refused
from stud_service.runtime import Runtime

ANSWER_WITHIN_S = 8.0
"""How long a caller waits for durability before being told to ask again with the same request_id."""

STOP_WITHIN_S = 2.0


def new_future() -> asyncio.Future[Any]:
    """Returns a future that warns nobody when it fails after its caller has gone away."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


class Mail(msgspec.Struct, eq=False, kw_only=True):
    """Something asked, on its way to whoever decides. Owners add what they need to know of it."""

    future: asyncio.Future[Any] = msgspec.field(default_factory=new_future)

    def done(self, outcome: object) -> None:
        """Tell the caller, if still there."""
        if not self.future.done():
            self.future.set_result(outcome)

    def fail(self, why: Exception) -> None:
        """Tell the caller that it came to nothing, if still there and not told yet."""
        if not self.future.done():
            self.future.set_exception(why)


M = TypeVar("M", bound=Mail)


class Mailbox(Generic[M]):
    """One queue and its worker."""

    def __init__(
        self, take: Callable[[Sequence[M]], Awaitable[None]], *, most: int = 1, idle: Callable[[], None] | None = None
    ) -> None:
        """`take` is given up to `most` mails at a time and answers each of them; what it leaves unanswered, or an
        exception that it lets out, is a fault of ours and ends the service. `idle` is told whenever nothing is queued.
        """
        self.stopping = False
        self._take = take
        self._most = most
        self._idle = idle
        self._queue: asyncio.Queue[M] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    def start(self, runtime: Runtime, name: str) -> None:
        """Begin to take what is queued."""
        self._worker = runtime.spawn(self._work(), name)

    def put(self, mail: M) -> M:
        """Queue what the owner itself asks: taken also while stopping, if there is time."""
        self._queue.put_nowait(mail)
        return mail

    def post(self, mail: M) -> M:
        """Queue what somebody else asks; fails at once with STOPPING where nothing new is taken."""
        if self.stopping:
            mail.fail(stopping())
            return mail
        return self.put(mail)

    async def answer(self, mail: M, within_s: float | None = ANSWER_WITHIN_S) -> Any:
        """Return what came of a mail that was posted. Raises what it failed with; Refused(OUTCOME_UNKNOWN) after that
        many seconds, and the mail goes on.
        """
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.shield(mail.future)
        except TimeoutError:
            raise Refused(
                "OUTCOME_UNKNOWN", "the log has not answered yet: repeat the call with the same request_id"
            ) from None

    async def stop(self) -> None:
        """Finish what is queued, take nothing new: what does not end in time fails with STOPPING."""
        self.stopping = True
        if self._worker is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_WITHIN_S):
                    await self._queue.join()
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        while not self._queue.empty():
            self._queue.get_nowait().fail(stopping())

    async def _work(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < self._most and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._take(batch)
            finally:
                fail_all(batch, stopping())
                for _ in batch:
                    self._queue.task_done()
                if self._idle is not None and self._queue.empty():
                    self._idle()


def fail_all(mails: Iterable[Mail], why: Exception) -> None:
    """Fail what has no answer yet."""
    for mail in mails:
        mail.fail(why)


def stopping() -> Refused:
    """Returns the refusal of a service that takes nothing new."""
    return Refused("STOPPING", "the service is stopping: connect again")

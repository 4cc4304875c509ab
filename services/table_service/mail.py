"""A command on its way to its table, and what comes back."""

from __future__ import annotations

import asyncio

import msgspec

from stud_core.commands import Command
from stud_service.refusals import Refused


class Outcome(msgspec.Struct, frozen=True):
    """An accepted command: version of its commit, the number it gave out, whether it had been accepted before."""

    version: int
    number: int = 0
    repeated: bool = False


class Mail(msgspec.Struct):
    """A command on its way. ``received_ms`` is when the caller's bytes arrived; clocks are judged by it."""

    command: Command
    future: asyncio.Future[Outcome]
    received_ms: int
    actor: str = ""
    request_id: str = ""
    digest: bytes = b""
    cause: tuple[str, int] | None = None
    ahead: bool = False
    """Whether it is a choice ahead whose turn has come."""
    catch_up: bool = False
    """Whether nothing is asked but that the table be what its log says."""

    def done(self, outcome: Outcome) -> None:
        """Tell the caller, if he is still there."""
        if not self.future.done():
            self.future.set_result(outcome)

    def fail(self, refused: Refused) -> None:
        """Tell the caller that it came to nothing, if he is still there and has not been told."""
        if not self.future.done():
            self.future.set_exception(refused)


def new_future() -> asyncio.Future[Outcome]:
    """Return a future for an outcome; a caller that goes away leaves no warning about one nobody looked at."""
    future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def behind() -> Refused:
    """Return the refusal of a table whose log went back in time."""
    return Refused("LOG_BEHIND", "the log is older than what was acknowledged: operators are needed")


def broken() -> Refused:
    """Return the refusal of a table whose log cannot be trusted."""
    return Refused("LOG_BROKEN", "the table's log cannot be trusted as it stands: operators are needed")


def stopping() -> Refused:
    """Return the refusal of a table that takes nothing new."""
    return Refused("STOPPING", "the service is stopping: connect again")

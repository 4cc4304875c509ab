"""A command on its way to its table, and what comes back."""

from __future__ import annotations

from time import perf_counter

import msgspec

from stud_core.commands import Command
from stud_service import mailbox


class Outcome(msgspec.Struct, frozen=True):
    """An accepted command: version of its commit, the number it gave out, whether it had been accepted before."""

    version: int
    number: int = 0
    repeated: bool = False


class Mail(mailbox.Mail):
    """A command on its way. ``received_ms`` is when the caller's bytes arrived; clocks are judged by it."""

    command: Command
    received_ms: int
    actor: str = ""
    request_id: str = ""
    digest: bytes = b""
    cause: tuple[str, int] | None = None
    asked_s: float = msgspec.field(default_factory=perf_counter)
    """When it was made, by a clock that measures how long things take."""
    ahead: bool = False
    """Whether it is a choice ahead whose turn has come."""
    catch_up: bool = False
    """Whether it asks only that the table be what its log says."""

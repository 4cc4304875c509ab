"""What the rest of the adapter needs from a connection to the server, without the client library: commands out,
replies in.

A pipeline never raises for what the network or the server does. Each command gets its reply, a `Refusal` (the server
answered with an error) or `Lost` (no answer), because after a half-answered pipeline the caller must know which is
which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stud_eventlog.types import LogUnavailable

Arg = bytes | str | int
Command = Sequence[Arg]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error reply. `code` is its first word, e.g. OOM or NOPERM."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Lost:
    """No reply. With `sent` the command may have been carried out, or may still be."""

    sent: bool
    why: str


class Wire(Protocol):
    generation: int
    """Counts connections made. A change between two calls means that they may have met two lives of the server."""

    async def pipeline(self, commands: Sequence[Command], timeout_s: float | None = None) -> list[Any]: ...


def pack(commands: Sequence[Command]) -> bytes:
    """Encodes commands for the wire (RESP arrays of bulk strings). On the hot path: one join, no formatting twice."""
    out: list[bytes] = []
    for command in commands:
        out.append(b"*%d\r\n" % len(command))
        for arg in command:
            data = arg if type(arg) is bytes else str(arg).encode()
            out += (b"$%d\r\n" % len(data), data, b"\r\n")
    return b"".join(out)


def answered(reply: Any) -> Any:
    """Returns a reply that is one; raises LogUnavailable otherwise."""
    if isinstance(reply, Lost):
        raise LogUnavailable(f"the log does not answer: {reply.why}")
    if isinstance(reply, Refusal):
        raise LogUnavailable(f"the log refuses: {reply.code} {reply.text}")
    return reply


async def call(wire: Wire, *command: Arg) -> Any:
    return answered((await wire.pipeline([command]))[0])


async def call_all(wire: Wire, commands: Sequence[Command]) -> list[Any]:
    return [answered(reply) for reply in await wire.pipeline(commands)] if commands else []


def is_missing_key(reply: Any) -> bool:
    """XINFO answers a missing stream with an error."""
    return isinstance(reply, Refusal) and "no such key" in reply.text


def text_map(reply: Any) -> dict[str, bytes]:
    """Returns a map reply with its keys as text."""
    return {bytes(name).decode(): value for name, value in dict(reply).items()}

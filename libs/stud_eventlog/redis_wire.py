"""The wire to Valkey or Redis (7.2 or newer): commands out, replies in, over a pool of connections. The only file that
imports the client library.

A pipeline never raises for what the network or the server does. Each command gets its reply, a `Refusal` (the server
answered with an error) or `Lost` (no answer), because after a half-answered pipeline the caller must know which is
which.

Every default of the library that matters is set here, because several of them would break the log: it repeats
commands by itself (a repeated append is a duplicate), gives up blocking reads after its socket timeout, and raises
when a pool is used up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from stud_eventlog.addresses import check_url
from stud_eventlog.cancelling import stop_if_cancelled
from stud_eventlog.types import LogRefuses, LogUnavailable, UnusableUrl

POOL_WAIT_S = 10.0

Arg = bytes | str | int


class Packed(bytes):
    """A command as it goes over the wire, for one that is sent again and again; see ``packed``."""

    __slots__ = ()


Command = Sequence[Arg] | Packed


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


class RedisWire:
    """`Wire` over a pool of the client library. No failure is hidden and nothing is repeated here."""

    def __init__(
        self, url: str, *, connections: int, timeout_s: float, connect_timeout_s: float, client_name: str
    ) -> None:
        self.generation = 0
        self.on_lost: Callable[[str], None] | None = None
        self._timeout_s = timeout_s
        self._seen: set[AbstractConnection] = set()
        self._used: set[AbstractConnection] = set()
        self._hung_up: set[AbstractConnection] = set()
        self._stale: set[AbstractConnection] = set()
        # First come, first served, which the pool is not; and a caller that waits in vain learns that we are busy, not
        # that the server is lost.
        self._turns = asyncio.Semaphore(connections)
        self._pool = _pool(
            url,
            max_connections=connections,
            timeout=POOL_WAIT_S,
            protocol=3,
            legacy_responses=False,
            decode_responses=False,
            retry=Retry(NoBackoff(), 0),
            retry_on_timeout=False,
            # One timeout around the whole pipeline rules; this one is for handshakes and for writing.
            socket_timeout=timeout_s,
            socket_connect_timeout=connect_timeout_s,
            socket_keepalive=True,
            health_check_interval=0,
            client_name=client_name,
            driver_info=None,
        )

    async def pipeline(self, commands: Sequence[Command], timeout_s: float | None = None) -> list[Any]:
        """Sends all commands at once; raises nothing but a cancellation."""
        try:
            async with asyncio.timeout(POOL_WAIT_S):
                await self._turns.acquire()
        except TimeoutError:
            return [Lost(sent=False, why="too many commands wait for a connection")] * len(commands)
        try:
            return await self._pipeline(commands, timeout_s)
        finally:
            self._turns.release()

    async def _pipeline(self, commands: Sequence[Command], timeout_s: float | None) -> list[Any]:
        try:
            connection: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        except (RedisError, OSError) as why:
            return self._lost(commands, [], sent=False, why=why)
        replies: list[Any] = []
        try:
            self._used.add(connection)
            stop_if_cancelled()
            self._notice(connection)
            if connection in self._stale:
                await connection.disconnect(nowait=True)
                await connection.connect()  # type: ignore[no-untyped-call]
            async with asyncio.timeout(timeout_s or self._timeout_s):
                await connection.send_packed_command(pack(commands), check_health=False)
                stop_if_cancelled()
                for _ in commands:  # one by one: what has been answered is kept when the rest is lost
                    replies.append(await self._reply(connection))  # noqa: PERF401
        except (RedisError, OSError) as why:
            await connection.disconnect(nowait=True)
            return self._lost(commands, replies, sent=True, why=why)
        except BaseException:
            # Cancelled in the middle: replies are still to come on this connection, so it must not be used again.
            self._hung_up.add(connection)
            await connection.disconnect(nowait=True)
            raise
        finally:
            self._used.discard(connection)
            await self._pool.release(connection)
        return replies

    async def _reply(self, connection: AbstractConnection) -> Any:
        try:
            # The library's own timeout per reply is switched off: it costs more than parsing the reply.
            return await connection.read_response(timeout=float("inf"), disconnect_on_error=False)
        except ResponseError as why:
            text = str(why)
            code = why.status_code or text.partition(" ")[0]
            return Refusal(code, text.removeprefix(code + " "))

    def _notice(self, connection: AbstractConnection) -> None:
        """Counts a connection that is new to us, and asks to be told when it is made again."""
        if connection not in self._seen:
            self._seen.add(connection)
            self.generation += 1
            connection.register_connect_callback(self._reconnected)  # type: ignore[no-untyped-call]

    async def _reconnected(self, connection: AbstractConnection) -> None:
        self.generation += 1
        # One that we closed ourselves says nothing about the server: given-up calls, as many as anybody likes, must not
        # get the others refused.
        ours = connection in self._hung_up
        self._hung_up.discard(connection)
        self._stale.discard(connection)
        if self.on_lost is not None and not ours:
            self.on_lost("a connection had to be made anew")

    def _lost(self, commands: Sequence[Command], replies: list[Any], *, sent: bool, why: BaseException) -> list[Any]:
        text = str(why) or type(why).__name__
        if self.on_lost is not None:
            self.on_lost(text)
        return replies + [Lost(sent, text)] * (len(commands) - len(replies))

    def renew_idle(self) -> None:
        """Connections that nobody uses are made anew when somebody does, and by them: closed here, one that is just
        being handed out would break in their hands.
        """
        idle = self._seen - self._used
        self._hung_up |= idle
        self._stale |= idle

    async def close(self) -> None:
        await self._pool.aclose()


def _pool(url: str, **settings: Any) -> BlockingConnectionPool:
    """Raises UnusableUrl. A connection is made, not opened: only it looks at what follows a question mark."""
    try:
        check_url(url)
    except ValueError as why:
        raise UnusableUrl(str(why)) from None
    if url.startswith("unix:"):
        del settings["socket_keepalive"]  # which is TCP's
    try:
        pool = BlockingConnectionPool.from_url(url, **settings)
        pool.connection_class(**pool.connection_kwargs)
    except (ValueError, TypeError, RedisError):
        raise UnusableUrl from None
    return pool


def pack(commands: Sequence[Command]) -> bytes:
    """Encodes commands for the wire (RESP arrays of bulk strings). On the hot path: one join, no formatting twice."""
    out: list[bytes] = []
    for command in commands:
        if type(command) is Packed:
            out.append(command)
            continue
        out.append(b"*%d\r\n" % len(command))
        for arg in command:
            data = arg if type(arg) is bytes else str(arg).encode()
            out += (b"$%d\r\n" % len(data), data, b"\r\n")
    return b"".join(out)


def packed(arg: Arg) -> bytes:
    """Encodes one argument, for whoever puts a command together from parts that seldom change."""
    data = arg if type(arg) is bytes else str(arg).encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)


def answered(reply: Any) -> Any:
    """Returns a reply that is one; raises LogUnavailable otherwise."""
    if isinstance(reply, Lost):
        raise LogUnavailable(f"the log does not answer: {reply.why}")
    if isinstance(reply, Refusal):
        raise LogRefuses(reply.code, reply.text)
    return reply


async def call(wire: Wire, *command: Arg) -> Any:
    return await call_one(wire, command)


async def call_one(wire: Wire, command: Command) -> Any:
    return answered((await wire.pipeline([command]))[0])


async def call_all(wire: Wire, commands: Sequence[Command]) -> list[Any]:
    return [answered(reply) for reply in await wire.pipeline(commands)] if commands else []


def is_missing_key(reply: Any) -> bool:
    """XINFO answers a missing stream with an error."""
    return isinstance(reply, Refusal) and "no such key" in reply.text


def text_map(reply: Any) -> dict[str, bytes]:
    """Returns a map reply with its keys as text."""
    return {bytes(name).decode(): value for name, value in dict(reply).items()}


async def scan(wire: Wire, pattern: str, kind: str) -> list[str]:
    """Returns all keys of a type that match a pattern, by walking the whole key space."""
    found: set[str] = set()
    at: bytes | str = "0"
    while True:
        at, names = await call(wire, "SCAN", at, "MATCH", pattern, "COUNT", 1000, "TYPE", kind)
        found.update(name.decode() for name in names)
        if at in (b"0", "0"):
            return sorted(found)

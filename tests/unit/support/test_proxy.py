"""The proxy that misbehaves: what it holds arrives later, what it drops never does, and what it lets pass is whole."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.support.proxy import Proxy

SOON_S = 0.1
"""So long is looked whether something arrives that must not."""


class Echo:
    """A server that keeps what it gets and sends it back in capitals."""

    def __init__(self) -> None:
        self.got = b""
        self.changed = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1000):
                self.got += data
                self.changed.set()
                writer.write(data.upper())
                await writer.drain()
        writer.close()

    async def until(self, got: bytes) -> None:
        async with asyncio.timeout(15):
            while self.got != got:
                self.changed.clear()
                await self.changed.wait()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hears(self, data: bytes) -> bool:
        async with asyncio.timeout(15):
            return await self.reader.readexactly(len(data)) == data

    async def hears_nothing(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(SOON_S):
                return await self.reader.read(1) == b""
        return True

    async def is_cut_off(self) -> bool:
        with suppress(ConnectionError):
            async with asyncio.timeout(15):
                return await self.reader.read(1) == b""
        return True


class Clients:
    """Connects clients, and closes them in the end."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.writers: list[asyncio.StreamWriter] = []

    async def __call__(self) -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        self.writers.append(writer)
        return Client(reader, writer)

    async def close(self) -> None:
        for writer in self.writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


@asynccontextmanager
async def before(port: int) -> AsyncIterator[tuple[Proxy, Clients]]:
    async with Proxy(port) as proxy:
        connect = Clients(proxy)
        yield proxy, connect
        await connect.close()


@asynccontextmanager
async def between() -> AsyncIterator[tuple[Echo, Proxy, Clients]]:
    echo = Echo()
    async with (
        await asyncio.start_server(echo.serve, "127.0.0.1", 0) as server,
        before(server.sockets[0].getsockname()[1]) as (proxy, connect),
    ):
        yield echo, proxy, connect


async def test_what_passes_is_whole_in_both_directions_and_of_every_connection_its_own():
    async with between() as (echo, proxy, connect):
        one, two = await connect(), await connect()
        large = b"large" * 100_000
        sending = asyncio.ensure_future(one.say(large))
        assert await one.hears(large.upper())
        await sending
        await two.say(b"small")
        assert await two.hears(b"SMALL")
        assert echo.got == large + b"small"
        assert (proxy.connections, proxy.requests.bytes_stopped, proxy.replies.bytes_stopped) == (2, 0, 0)
        assert proxy.url == f"redis://127.0.0.1:{proxy.port}/0"


async def test_a_request_that_is_held_arrives_when_it_is_let_go_even_from_who_is_gone():
    async with between() as (echo, proxy, connect):
        client = await connect()
        await client.say(b"a")
        assert await client.hears(b"A")
        proxy.requests.hold()
        await client.say(b"b")
        assert await client.hears_nothing()
        assert echo.got == b"a"
        client.writer.close()
        await client.writer.wait_closed()
        proxy.requests.release()
        await echo.until(b"ab")
        assert proxy.requests.bytes_stopped == 1


async def test_a_reply_that_is_held_comes_late_and_whole():
    async with between() as (echo, proxy, connect):
        client = await connect()
        proxy.replies.hold()
        await client.say(b"ab")
        await echo.until(b"ab")
        assert await client.hears_nothing()
        proxy.heal()
        assert await client.hears(b"AB")


async def test_what_is_dropped_never_comes_and_nothing_after_it_on_that_connection():
    async with between() as (echo, proxy, connect):
        client = await connect()
        proxy.replies.drop()
        await client.say(b"a")
        await echo.until(b"a")
        assert await client.hears_nothing()
        assert proxy.replies.bytes_stopped == 1
        proxy.heal()
        await client.say(b"b")
        await echo.until(b"ab")
        assert await client.hears_nothing()
        other = await connect()
        await other.say(b"c")
        assert await other.hears(b"C")


async def test_cut_connections_are_seen_to_be_and_what_was_held_is_lost():
    async with between() as (echo, proxy, connect):
        client = await connect()
        await client.say(b"a")
        assert await client.hears(b"A")
        proxy.replies.hold()
        await client.say(b"b")
        await echo.until(b"ab")
        proxy.cut()
        proxy.heal()
        assert await client.is_cut_off()
        again = await connect()
        await again.say(b"c")
        assert await again.hears(b"C")


async def test_nobody_gets_in_while_it_does_not_accept():
    async with between() as (echo, proxy, connect):
        client = await connect()
        proxy.accepting = False
        refused = await connect()
        assert await refused.is_cut_off()
        await client.say(b"a")
        assert await client.hears(b"A")
        proxy.heal()
        await (again := await connect()).say(b"b")
        assert await again.hears(b"B")
        assert echo.got == b"ab"


async def test_where_there_is_no_server_connections_end():
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as gone:
        port = gone.sockets[0].getsockname()[1]
    async with before(port) as (_, connect):
        assert await (await connect()).is_cut_off()
    with pytest.raises(ConnectionError):
        await connect()

"""The proxy that other tests put between a client and a server does to it what it says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.proxy import Proxy

SOON_S = 5.0
LONG_ENOUGH_S = 0.05
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Shout:
    """A server that answers every line in capitals."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.port = 0
        self._news = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                self.heard.append(line)
                self._news.set()
                writer.write(line.upper())
                await writer.drain()
        writer.close()

    async def hears(self, *lines: bytes) -> None:
        async with asyncio.timeout(SOON_S):
            while self.heard != list(lines):
                self._news.clear()
                await self._news.wait()


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Shout]:
    shout = Shout()
    listening = await asyncio.start_server(shout.serve, "127.0.0.1", 0)
    shout.port = listening.sockets[0].getsockname()[1]
    yield shout
    listening.close()


@pytest_asyncio.fixture
async def proxy(server: Shout) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as between:
        yield between


@contextlib.asynccontextmanager
async def connected(proxy: Proxy) -> AsyncIterator[Ends]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.readline(), SOON_S)


async def silence(reader: asyncio.StreamReader) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.readline(), LONG_ENOUGH_S)


async def hung_up(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        assert await answer(reader) == b""


async def test_what_passes_passes_both_ways_on_every_connection(server: Shout, proxy: Proxy):
    async with connected(proxy) as (first, to_first), connected(proxy) as (second, to_second):
        for number in (b"1", b"2"):
            to_first.write(b"a%b\n" % number)
            to_second.write(b"b%b\n" % number)
            assert await answer(first) == b"A%b\n" % number
            assert await answer(second) == b"B%b\n" % number
    assert proxy.connections == 2
    assert (proxy.requests.bytes_stopped, proxy.replies.bytes_stopped) == (0, 0)
    assert str(proxy.port) in proxy.url


async def test_dropped_replies_leave_a_server_that_works_and_a_connection_that_is_no_use(server: Shout, proxy: Proxy):
    async with connected(proxy) as (reader, writer):
        proxy.replies.drop()
        writer.write(b"one\n")
        await server.hears(b"one\n")
        await silence(reader)
        assert proxy.replies.bytes_stopped == len(b"ONE\n")
        proxy.heal()
        writer.write(b"two\n")
        await server.hears(b"one\n", b"two\n")
        await silence(reader)  # else an answer would be taken for that of another request
    async with connected(proxy) as (reader, writer):
        writer.write(b"three\n")
        assert await answer(reader) == b"THREE\n"


async def test_dropped_requests_never_reach_the_server(server: Shout, proxy: Proxy):
    async with connected(proxy) as (reader, writer):
        proxy.requests.drop()
        writer.write(b"one\n")
        await silence(reader)
        assert server.heard == []
        assert proxy.requests.bytes_stopped == len(b"one\n")


async def test_a_held_request_arrives_late_though_its_sender_has_gone(server: Shout, proxy: Proxy):
    proxy.requests.hold()
    async with connected(proxy) as (reader, writer):
        writer.write(b"late\n")
        await silence(reader)
    assert server.heard == []
    proxy.requests.release()
    await server.hears(b"late\n")


async def test_held_replies_come_when_they_are_let_go(server: Shout, proxy: Proxy):
    async with connected(proxy) as (reader, writer):
        proxy.replies.hold()
        writer.write(b"one\n")
        await server.hears(b"one\n")
        await silence(reader)
        proxy.heal()
        assert await answer(reader) == b"ONE\n"


async def test_a_cut_ends_every_connection_and_what_is_held_is_lost(server: Shout, proxy: Proxy):
    async with connected(proxy) as (first, writer), connected(proxy) as (second, _):
        proxy.requests.hold()
        writer.write(b"lost\n")
        await silence(first)
        proxy.cut()
        await hung_up(first)
        await hung_up(second)
    proxy.heal()
    async with connected(proxy) as (reader, writer):
        writer.write(b"next\n")
        assert await answer(reader) == b"NEXT\n"
    assert server.heard == [b"next\n"]


async def test_who_is_not_accepted_is_hung_up_on_and_counted(server: Shout, proxy: Proxy):
    proxy.accepting = False
    async with connected(proxy) as (reader, _):
        await hung_up(reader)
    assert proxy.connections == 1
    proxy.heal()
    async with connected(proxy) as (reader, writer):
        writer.write(b"one\n")
        assert await answer(reader) == b"ONE\n"


async def test_a_server_that_is_not_there_hangs_up():
    listening = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    async with Proxy(port) as proxy, connected(proxy) as (reader, _):
        await hung_up(reader)

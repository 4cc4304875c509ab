"""The port that Prometheus asks, by callers of every kind: it answers, is bounded, and holds nobody up."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator

import pytest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from stud_service import metrics_port
from stud_service.exposition import Exposition
from stud_service.meters import Meters
from stud_service.metrics import VIEWERS
from stud_service.metrics_port import MAX_HEAD, PLACES, MetricsPort, bind
from tests.support.runtime import until

ASK = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"


class Counted(Exposition):
    """How often services were looked at, and something to tell that no socket takes at once."""

    def __init__(self, padding: int = 0) -> None:
        meters = Meters()
        meters.source(lambda: {VIEWERS: 3})
        super().__init__(meters)
        self.looks = 0
        self.padding = padding

    def text(self) -> bytes:
        self.looks += 1
        return super().text() + b"#" * self.padding + b"\n"


@contextlib.asynccontextmanager
async def serving(exposition: Exposition) -> AsyncIterator[MetricsPort]:
    port = MetricsPort(bind("127.0.0.1", 0), exposition.text)
    port.start()
    try:
        yield port
    finally:
        await port.stop()


async def answer(port: MetricsPort, request: bytes = ASK) -> tuple[str, bytes]:
    """Status line and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
    writer.write(request)
    whole = await reader.read()
    writer.close()
    head, _, body = whole.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}" in head.decode()
    return head.decode().splitlines()[0].removeprefix("HTTP/1.1 "), body


def test_it_says_what_format_it_tells_in():
    assert metrics_port.CONTENT_TYPE == CONTENT_TYPE_PLAIN_0_0_4


async def test_it_tells_what_there_is_to_tell():
    async with serving(Counted()) as port:
        status, body = await answer(port)
        assert status == "200 OK"
        assert b"\nstud_viewers 3.0\n" in body
        assert (await answer(port, b"GET /metrics?name[]=x HTTP/1.0\r\n\r\n"))[0] == "200 OK"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"GET /metrics/../../etc/passwd HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", "400 Bad Request"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 Bad Request"),
        (b"\0\xff" * 20 + b"\r\n\r\n", "400 Bad Request"),
        (b"\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\n" + b"a: " + b"x" * (MAX_HEAD - 26), "400 Bad Request"),
    ],
)
async def test_whatever_else_is_asked_is_refused_in_words(request_: bytes, status: str):
    async with serving(Counted()) as port:
        found, body = await answer(port, request_)
        assert found == status
        assert b"/metrics" in body
        assert (await answer(port))[0] == "200 OK"


async def test_a_flood_looks_at_the_services_once_a_second_and_all_are_answered():
    exposition = Counted()
    async with serving(exposition) as port:
        statuses = [status for status, _ in await asyncio.gather(*(answer(port) for _ in range(3 * PLACES)))]
        assert statuses == ["200 OK"] * 3 * PLACES
        assert exposition.looks == 1
        await asyncio.sleep(metrics_port.KEPT_S)
        await answer(port)
        assert exposition.looks == 2


async def test_answers_come_no_faster_than_there_are_places_and_pauses(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metrics_port, "PAUSE_S", 0.2)
    loop = asyncio.get_running_loop()
    async with serving(Counted()) as port:
        began = loop.time()
        await asyncio.gather(*(answer(port) for _ in range(2 * PLACES + 1)))
        assert loop.time() - began >= 0.4  # the second round waits for one pause, the third for two


async def test_who_says_nothing_or_reads_nothing_is_cut_off_and_the_next_is_answered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metrics_port, "WITHIN_S", 0.2)
    async with serving(Counted(padding=50_000_000)) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port.port) for _ in range(PLACES)]
        for reader, writer in silent:
            assert await reader.read() == b""
            writer.close()
        deaf = [await asyncio.open_connection("127.0.0.1", port.port, limit=1) for _ in range(PLACES)]
        for _, writer in deaf:
            writer.write(ASK)
        assert (await answer(port, b"GET / HTTP/1.1\r\n\r\n"))[0] == "404 Not Found"
        for _, writer in deaf:
            writer.close()


async def test_who_hangs_up_at_any_moment_leaves_its_place_to_the_next():
    async with serving(Counted(padding=5_000_000)) as port:
        for request in (b"", b"GET", ASK):
            for _ in range(PLACES):
                rude = socket.create_connection(("127.0.0.1", port.port))
                rude.sendall(request)
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
                rude.close()
                await asyncio.sleep(0)
        assert (await answer(port))[0] == "200 OK"


async def test_what_cannot_be_told_ends_no_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metrics_port, "PAUSE_S", 0.0)
    exposition, broken = Counted(), {"text": True}

    def text() -> bytes:
        if broken["text"]:
            raise RuntimeError("of ours")
        return b"well\n"

    monkeypatch.setattr(exposition, "text", text)
    async with serving(exposition) as port:
        for _ in range(2 * PLACES):
            reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
            writer.write(ASK)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
        broken["text"] = False
        assert await answer(port) == ("200 OK", b"well\n")


async def test_a_port_that_is_taken_is_refused_and_free_again_after_a_stop():
    async with serving(Counted()) as port:
        with pytest.raises(OSError, match="in use"):
            bind("127.0.0.1", port.port)
        number = port.port
    bind("127.0.0.1", number).close()


async def test_a_stop_waits_for_nobody():
    async with asyncio.timeout(2):
        async with serving(Counted()) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port.port)
            await until(lambda: True)
        writer.close()

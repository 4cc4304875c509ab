"""The edge before a service of bytes: both protocols over both versions of HTTP, refusals with their details, limits,
readers that take nothing, and the end.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pyqwest
import pytest
import trustme
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.protocol import ProtocolType
from google.rpc import error_details_pb2  # type: ignore[import-untyped]

from edge_service.upstream import upstreams
from stud_service.healthcheck import check
from stud_service.refusals import Refused
from tests.support import http2
from tests.support.edge import GET, WATCH, Edge, calling, refusal, running
from tests.support.runtime import until

HTTP1, HTTP2 = pyqwest.HTTPVersion.HTTP1, pyqwest.HTTPVersion.HTTP2
BY = [
    pytest.param(ProtocolType.CONNECT, HTTP1, id="connect, 1.1"),
    pytest.param(ProtocolType.CONNECT, HTTP2, id="connect, 2"),
    pytest.param(ProtocolType.GRPC_WEB, HTTP1, id="grpc-web, 1.1"),
    pytest.param(ProtocolType.GRPC_WEB, HTTP2, id="grpc-web, 2"),
    pytest.param(ProtocolType.GRPC, HTTP2, id="grpc, 2"),
]
POST = b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-type: application/%b\r\ncontent-length: %d\r\n%b\r\n"


def post(path: str, kind: str, body: bytes = b"", more: bytes = b"") -> bytes:
    return POST % (path.encode(), kind.encode(), len(body), more) + body


async def answered(edge: Edge, request: bytes) -> bytes:
    """All that comes for a request by hand."""
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.process.port)
    writer.write(request)
    said = b""
    async with asyncio.timeout(10):
        while piece := await reader.read(1 << 16):
            said += piece
            if is_whole(said):
                break
    writer.close()
    return said


def is_whole(answer: bytes) -> bool:
    """Whether there is a body of the length that its head tells, or the end of one in pieces."""
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(end) and (len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n"))


def told(error: ConnectError) -> error_details_pb2.ErrorInfo:
    (detail,) = error.details
    assert detail.type_name == "google.rpc.ErrorInfo"
    return error_details_pb2.ErrorInfo.FromString(detail.message_bytes)


@pytest.mark.parametrize(("protocol", "version"), BY)
async def test_bytes_token_and_answer_are_handed_on_as_they_are(protocol: ProtocolType, version: pyqwest.HTTPVersion):
    async with running() as edge, calling(edge, protocol, version) as caller:
        answer = await caller.unary(GET, b"\x00\xff", authorization="Bearer t", cookie="c=1")
        assert answer == b"\x00\xffauthorization=Bearer t"
        assert await caller.unary(GET, b"") == b""
        assert [update async for update in caller.stream(WATCH, b"w")] == [b"w\x00", b"w\x01", b"w\x02"]
        assert edge.told()["stud_edge_updates_total"] == 3
        assert edge.told()["stud_edge_calls"] == 0


@pytest.mark.parametrize(("protocol", "version"), BY)
@pytest.mark.parametrize("after", [0, 2])
async def test_a_refusal_arrives_with_its_reason_and_its_metadata(
    protocol: ProtocolType, version: pyqwest.HTTPVersion, after: int
):
    async def refused(request: bytes, context: Any) -> bytes:
        raise refusal()

    async def ends(request: bytes, context: Any) -> AsyncIterator[bytes]:
        for _ in range(after):
            yield b"x"
        raise Refused("TOKEN_EXPIRED", "the token has expired")

    async with running() as edge, calling(edge, protocol, version) as caller:
        edge.behind.unary, edge.behind.stream = refused, ends
        with pytest.raises(ConnectError) as why:
            await caller.unary(GET, b"")
        assert (why.value.code, why.value.message) == (Code.OUT_OF_RANGE, refusal().text)
        assert told(why.value).reason == "BUY_IN_TOO_SMALL"
        assert dict(told(why.value).metadata) == refusal().metadata
        stream = caller.stream(WATCH, b"")
        assert [await anext(stream) for _ in range(after)] == [b"x"] * after
        with pytest.raises(ConnectError) as end:
            await anext(stream)
        assert (end.value.code, told(end.value).reason) == (Code.UNAUTHENTICATED, "TOKEN_EXPIRED")


async def test_what_a_service_did_not_say_itself_names_no_address():
    async def breaks(request: bytes, context: Any) -> bytes:
        raise ValueError("card Ah of seat 3")

    async with running() as edge, calling(edge) as caller:
        edge.behind.unary = breaks
        with pytest.raises(ConnectError) as why:
            await caller.unary(GET, b"")
        assert (why.value.code, why.value.message) == (Code.UNKNOWN, "the service gave no answer")
        edge.process._services["table"]._address = "127.0.0.1:9"
        edge.process._services["table"]._lines.clear()
        with pytest.raises(ConnectError) as gone:
            await caller.unary(GET, b"")
        assert gone.value.code is Code.UNAVAILABLE
        assert "request_id" in gone.value.message
        assert "127" not in gone.value.message


async def test_a_fault_of_the_edge_is_an_incident_without_a_text():
    async with running() as edge, calling(edge) as caller:
        edge.process._services["table"].call = None  # type: ignore[method-assign, assignment]
        with pytest.raises(ConnectError) as why:
            await caller.unary(GET, b"")
        assert (why.value.code, told(why.value).reason) == (Code.INTERNAL, "INTERNAL")
        assert told(why.value).metadata["incident"] in why.value.message
        assert "NoneType" not in why.value.message


async def test_a_deadline_reaches_the_service_and_is_told_at_its_end():
    left = []

    async def slow(request: bytes, context: Any) -> bytes:
        left.append(context.time_remaining())
        await asyncio.sleep(60)
        return b""

    async with running() as edge, calling(edge) as caller:
        edge.behind.unary = slow
        with pytest.raises(ConnectError) as why:
            await caller.unary(GET, b"", timeout_ms=300)
        assert why.value.code is Code.DEADLINE_EXCEEDED
        assert 0 < left[0] <= 0.3


async def test_a_reader_who_leaves_ends_the_stream_behind():
    async def endless(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"first"
        await asyncio.sleep(3600)

    async with running() as edge:
        edge.behind.stream = endless
        async with calling(edge) as caller:
            stream = caller.stream(WATCH, b"")
            assert await anext(stream) == b"first"
            await stream.aclose()  # type: ignore[attr-defined]  # an iterator that is a generator
        async with asyncio.timeout(10):
            await edge.behind.ended.wait()
        await until(lambda: edge.told()["stud_edge_calls"] == 0)
        await until(lambda: edge.told()["stud_edge_connections"] == 0)


@pytest.mark.parametrize("kind", ["connect+proto", "grpc-web+proto"])
async def test_a_reader_who_takes_nothing_makes_the_edge_keep_little_and_is_cut_off(kind: str):
    """The service may write for as long as somebody takes it: what it could write is what all on the way keep."""

    async def endless(request: bytes, context: Any) -> AsyncIterator[bytes]:
        while True:
            yield bytes(4096)

    async with running(edge_send_within_ms=1_000) as edge:
        edge.behind.stream = endless
        with socket.socket() as rude:
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            rude.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(rude, ("127.0.0.1", edge.process.port))
            await loop.sock_sendall(rude, post(WATCH, kind, bytes(5)))
            async with asyncio.timeout(20):
                await edge.behind.ended.wait()
            # The system's buffers of two connections, and 64 kB here and there. Without an end it would be far more.
            assert 0 < edge.behind.sent * 4096 < 12_000_000
        await until(lambda: edge.told()["stud_edge_cut_off_total"] == 1)
        await until(lambda: edge.told()["stud_edge_connections"] == 0)


async def test_a_reader_who_opens_no_window_of_http_2_makes_the_edge_keep_little_and_is_cut_off():
    async def endless(request: bytes, context: Any) -> AsyncIterator[bytes]:
        while True:
            yield bytes(4096)

    async with running(edge_send_within_ms=1_000) as edge:
        edge.behind.stream = endless
        async with http2.connected(f"127.0.0.1:{edge.process.port}") as rude:
            rude.send(http2.call(WATCH))
            async with asyncio.timeout(20):
                await edge.behind.ended.wait()
            assert 0 < edge.behind.sent * 4096 < 1_000_000
            await until(lambda: bool(rude.cut))
        await until(lambda: edge.told()["stud_edge_cut_off_total"] == 1)
        await until(lambda: edge.told()["stud_edge_connections"] == 0)


@pytest.mark.parametrize("version", [HTTP1, HTTP2])
async def test_a_message_is_as_long_as_the_services_take_it_and_what_is_longer_harms_no_other_call(
    version: pyqwest.HTTPVersion,
):
    async def open_end(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"first"
        await goes_on.wait()
        yield b"last"

    goes_on = asyncio.Event()
    async with running() as edge, calling(edge, ProtocolType.CONNECT, version) as caller:
        edge.behind.stream = open_end
        stream = caller.stream(WATCH, b"")
        assert await anext(stream) == b"first"
        assert len(await caller.unary(GET, bytes(65_536))) == 65_536
        for size in (65_542, 500_000):
            with pytest.raises(ConnectError) as why:
                await caller.unary(GET, bytes(size))
            assert why.value.code is Code.RESOURCE_EXHAUSTED
        goes_on.set()
        assert await anext(stream) == b"last"


async def test_a_request_that_does_not_arrive_is_answered_and_forgotten():
    async with running(edge_receive_within_ms=200) as edge:
        head = POST % (GET.encode(), b"proto", 100, b"")
        said = await answered(edge, head + b"half")
        assert b" 504 " in said
        assert b"did not arrive" in said
        await until(lambda: edge.told()["stud_edge_calls"] == 0)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (post(GET, "json", b"{}"), b" 415 "),
        (post(GET, "grpc-web-text", b""), b" 415 "),
        (post("/stud.table.v1.TableService/CreateTable", "proto"), b" 404 "),
        (post("/stud.table.v1.TableService/Play", "connect+proto"), b" 404 "),
        (b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % GET.encode(), b" 405 "),
        (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b" 404 "),
        (post(GET, "proto", b"", b"authorization: Bearer \xe9\r\n"), b" 400 "),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\r\n\r\n", b" 400 "),
    ],
    ids=["json", "text", "operators'", "Play", "GET", "no page", "not ASCII", "no HTTP"],
)
async def test_what_is_no_call_of_a_player_is_told_so(request_: bytes, status: bytes):
    async with running() as edge:
        assert status in (await answered(edge, request_)).partition(b"\r\n")[0] + b" "


async def test_pages_of_other_origins_call_where_they_may():
    ask = (
        b"OPTIONS %b HTTP/1.1\r\nhost: x\r\norigin: %b\r\naccess-control-request-method: POST\r\n"
        b"access-control-request-headers: authorization,content-type,connect-protocol-version,x-grpc-web\r\n\r\n"
    )
    ours, other = b"https://play.example.com", b"https://example.org"
    async with running(edge_origins=(ours.decode(),)) as edge:
        said = await answered(edge, ask % (GET.encode(), ours))
        assert said.startswith(b"HTTP/1.1 200")
        assert b"access-control-allow-origin: " + ours in said
        assert b"access-control-allow-credentials" not in said
        assert b"allow-origin" not in await answered(edge, ask % (GET.encode(), other))
        call = await answered(edge, post(GET, "grpc-web+proto", bytes(5), b"origin: " + ours + b"\r\n"))
        assert b"access-control-allow-origin: " + ours in call
        assert b"grpc-status-details-bin" in call.partition(b"access-control-expose-headers:")[2]
    async with running() as edge:
        assert b"access-control" not in await answered(edge, ask % (GET.encode(), ours))


async def test_an_address_has_so_many_connections_and_calls_and_no_more():
    async def endless(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"first"
        await asyncio.sleep(3600)

    async with running(edge_connections_per_address=3, edge_calls_per_address=2) as edge:
        edge.behind.stream = endless
        async with calling(edge, ProtocolType.CONNECT, HTTP2) as caller:
            streams = [caller.stream(WATCH, b"") for _ in range(2)]
            assert [await anext(stream) for stream in streams] == [b"first"] * 2
            with pytest.raises(ConnectError) as why:
                await caller.unary(GET, b"")
            assert (why.value.code, told(why.value).reason) == (Code.RESOURCE_EXHAUSTED, "RATE_LIMITED")
            assert told(why.value).metadata["limit"] == "2"
            assert edge.told()["stud_refusals_total"] == {"RATE_LIMITED": 1}
        await until(lambda: edge.told()["stud_edge_connections"] == 0)
        open_ones = [await asyncio.open_connection("127.0.0.1", edge.process.port) for _ in range(4)]
        await until(lambda: edge.told()["stud_edge_connections_refused_total"] == 1)
        assert await open_ones[-1][0].read() == b""
        for _, writer in open_ones:
            writer.close()
        await until(lambda: edge.told()["stud_edge_connections"] == 0)
        async with calling(edge) as caller:
            assert await caller.unary(GET, b"again") == b"again"


async def test_whoever_calls_too_fast_waits_and_is_refused_at_last():
    async with running(edge_calls_per_s=1, edge_calls_burst=2) as edge, calling(edge) as caller:
        edge.process._gate._rate.take("127.0.0.1", patience_s=99)
        for _ in range(6):
            edge.process._gate._rate.take("127.0.0.1", patience_s=99)
        with pytest.raises(ConnectError) as why:
            await caller.unary(GET, b"")
        assert told(why.value).reason == "RATE_LIMITED"
        assert int(told(why.value).metadata["retry_after_ms"]) <= 1_000


async def test_another_connection_is_opened_to_a_service_before_one_is_full():
    async def endless(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"first"
        await asyncio.sleep(3600)

    async with running() as edge:
        edge.behind.stream = endless
        table = edge.process._services["table"]
        table._calls_each = 2
        async with calling(edge, ProtocolType.CONNECT, HTTP2) as caller:
            streams = [caller.stream(WATCH, b"") for _ in range(5)]
            assert [await anext(stream) for stream in streams] == [b"first"] * 5
            assert len(table) == 3
        await until(lambda: edge.told()["stud_edge_calls"] == 0)
        async with calling(edge) as caller:
            await caller.unary(GET, b"")
        assert len(table) == 3


@pytest.mark.parametrize(("protocol", "version"), BY)
async def test_a_stop_ends_calls_and_tells_their_callers_to_connect_again(
    protocol: ProtocolType, version: pyqwest.HTTPVersion
):
    async def endless(request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"first"
        await asyncio.sleep(3600)

    async with running() as edge, calling(edge, protocol, version) as caller:
        edge.behind.stream = endless
        stream = caller.stream(WATCH, b"")
        assert await anext(stream) == b"first"
        stopping = asyncio.create_task(edge.process.stop())
        with pytest.raises(ConnectError) as why:
            await anext(stream)
        assert (why.value.code, told(why.value).reason) == (Code.UNAVAILABLE, "STOPPING")
        await stopping
        assert edge.told()["stud_serving"] == 0


async def test_with_a_certificate_browsers_speak_http_2(tmp_path: Path):
    authority, cert, key = trustme.CA(), tmp_path / "cert.pem", tmp_path / "key.pem"
    issued(authority, cert, key)
    root = authority.cert_pem.bytes()
    async with running(edge_tls_cert=cert, edge_tls_key=key) as edge:
        async with (
            pyqwest.HTTPTransport(tls_ca_cert=root) as transport,
            pyqwest.Client(transport).stream("GET", f"{edge.address}/") as answer,
        ):
            assert answer.http_version is HTTP2
        async with calling(edge, ProtocolType.GRPC_WEB, HTTP2, root) as caller:
            assert await caller.unary(GET, b"x") == b"x"
        async with calling(edge, ProtocolType.CONNECT, HTTP1, root) as caller:
            assert [update async for update in caller.stream(WATCH, b"w")] == [b"w\x00", b"w\x01", b"w\x02"]


def issued(authority: trustme.CA, cert: Path, key: Path) -> None:
    certificate = authority.issue_cert("localhost")
    cert.write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    key.write_bytes(certificate.private_key_pem.bytes())


async def test_a_renewed_certificate_is_taken_and_half_a_pair_is_not(tmp_path: Path):
    old, new = trustme.CA(), trustme.CA()
    cert, key, other = tmp_path / "cert.pem", tmp_path / "key.pem", tmp_path / "other.pem"
    issued(old, cert, key)
    async with running(edge_tls_cert=cert, edge_tls_key=key) as edge:
        issued(new, cert, other)
        edge.process._server.renew()
        async with calling(edge, ProtocolType.CONNECT, HTTP2, old.cert_pem.bytes()) as caller:
            assert await caller.unary(GET, b"old") == b"old"
        other.rename(key)
        edge.process._server.renew()
        async with calling(edge, ProtocolType.CONNECT, HTTP2, new.cert_pem.bytes()) as caller:
            assert await caller.unary(GET, b"new") == b"new"


async def test_services_that_speak_tls_are_asked_as_any_client_of_ours_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    authority, cert, key = trustme.CA(), tmp_path / "cert.pem", tmp_path / "key.pem"
    issued(authority, cert, key)
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    async with running() as edge, calling(edge) as caller:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((edge.behind,))
        pair = grpc.ssl_server_credentials([(key.read_bytes(), cert.read_bytes())])
        where = {"table": f"grpcs://localhost:{server.add_secure_port('127.0.0.1:0', pair)}"}
        await server.start()
        monkeypatch.setenv("STUD_TLS_CA", str(tmp_path / "none.pem"))
        with pytest.raises(ValueError, match="STUD_TLS_CA"):
            upstreams(where)
        monkeypatch.setenv("STUD_TLS_CA", str(tmp_path / "ca.pem"))
        services = edge.process._passing._services = upstreams(where)
        assert await caller.unary(GET, b"x", authorization="Bearer t") == b"xauthorization=Bearer t"
        await services["table"].close()
        await server.stop(0)


async def test_probes_ask_it_as_they_ask_any_service():
    async with running() as edge:
        address = f"127.0.0.1:{edge.process.port}"
        for name in ("", "stud.edge.v1.EdgeService"):
            assert await asyncio.to_thread(check, address, name, timeout_s=10) is None
        assert "SERVICE_UNKNOWN" in str(await asyncio.to_thread(check, address, "stud.table.v1.TableService"))


async def test_a_page_is_served_with_headers_that_keep_it_to_itself(tmp_path: Path):
    (tmp_path / "index.html").write_text("<p>page")
    (tmp_path.parent / "secret.txt").write_text("secret")
    async with running(edge_pages=tmp_path) as edge:
        said = await answered(edge, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 200")
        assert b"content-security-policy: default-src 'self'" in said
        for path in (b"/../secret.txt", b"/%2e%2e/secret.txt", b"/none"):
            said = await answered(edge, b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path)
            assert said.startswith(b"HTTP/1.1 404"), said
        async with calling(edge) as caller:
            assert await caller.unary(GET, b"still") == b"still"

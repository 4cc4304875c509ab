"""An edge in this process, before a service of bytes: what it hands on, and how it treats who is rude.

The service behind it answers whatever a test says; real services stand behind the edge in tests/e2e.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import grpc
import pyqwest
from connectrpc.client import ConnectClient
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType
from connectrpc.request import Headers
from grpc_status import rpc_status

from edge_service.passing import AsItIs
from edge_service.process import Process
from edge_service.settings import EdgeSettings
from stud_service.refusals import Refused
from stud_topology.services import NAMES

GET, WATCH = "/stud.table.v1.TableService/GetTable", "/stud.table.v1.TableService/Watch"
Unary = Callable[[bytes, Any], Awaitable[bytes]]
Stream = Callable[[bytes, Any], AsyncIterator[bytes]]


async def echo(request: bytes, context: Any) -> bytes:
    """The request, then what came beside it."""
    told = [f"{name}={value}" for name, value in context.invocation_metadata() if name in {"authorization", "cookie"}]
    return request + "|".join(told).encode()


async def three(request: bytes, context: Any) -> AsyncIterator[bytes]:
    for number in range(3):
        yield request + bytes([number])


def refusal() -> Refused:
    return Refused("BUY_IN_TOO_SMALL", "too few – at least 20 €", min="2000", max="10000", field="amount")


class Behind(grpc.GenericRpcHandler):
    """The service; `unary` and `stream` may be changed at any time."""

    def __init__(self) -> None:
        self.unary: Unary = echo
        self.stream: Stream = three
        self.sent = 0
        self.ended = asyncio.Event()
        """Set when a stream has ended, however."""

    def service(self, details: Any) -> Any:
        if details.method == WATCH:
            return grpc.unary_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._unary)

    async def _unary(self, request: bytes, context: Any) -> bytes:
        try:
            return await self.unary(request, context)
        except Refused as why:
            await context.abort_with_status(rpc_status.to_status(why.status()))
            raise

    async def _stream(self, request: bytes, context: Any) -> None:
        try:
            async for message in self.stream(request, context):
                await context.write(message)
                self.sent += 1
        except Refused as why:
            await context.abort_with_status(rpc_status.to_status(why.status()))
        finally:
            self.ended.set()


class Edge:
    """A running one, and what is behind it."""

    def __init__(self, process: Process, behind: Behind, *, tls: bool) -> None:
        self.process, self.behind, self._tls = process, behind, tls

    @property
    def address(self) -> str:
        return f"{'https' if self._tls else 'http'}://localhost:{self.process.port}"

    def told(self) -> dict[str, Any]:
        """What Prometheus would be told now, by the name of the metric."""
        return {metric.name: value for metric, value in self.process._meters.read()}


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[Edge]:
    """An edge with these settings; all its services are one."""
    behind, server = Behind(), grpc.aio.server()
    server.add_generic_rpc_handlers((behind,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    chosen = EdgeSettings(listen="127.0.0.1:0", metrics_port=0, stop_grace_ms=500, **settings)
    process = Process(chosen, dict.fromkeys(NAMES, f"127.0.0.1:{port}"))
    await process.start()
    try:
        yield Edge(process, behind, tls="edge_tls_cert" in settings)
    finally:
        await process.stop()
        await server.stop(0)


def info(path: str) -> MethodInfo[bytes, bytes]:
    service, _, name = path[1:].partition("/")
    kind = StreamType.SERVER_STREAM if name.startswith("Watch") else StreamType.UNARY
    return MethodInfo(
        name=name,
        service_name=service,
        input=bytes,
        output=bytes,
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=kind,
    )


class Caller:
    """A client of one protocol over one version of HTTP."""

    def __init__(self, client: ConnectClient) -> None:
        self._client = client
        self._streams: list[Any] = []

    async def unary(self, path: str, request: bytes, timeout_ms: int | None = None, **headers: str) -> bytes:
        answer: bytes = await self._client.execute_unary(
            request=request, method=info(path), headers=Headers(headers), timeout_ms=timeout_ms
        )
        return answer

    def stream(self, path: str, request: bytes, **headers: str) -> AsyncIterator[bytes]:
        stream = self._client.execute_server_stream(request=request, method=info(path), headers=Headers(headers))
        self._streams.append(stream)
        return stream

    async def close(self) -> None:
        """End the streams that are open; how the library takes that is no matter here."""
        for stream in self._streams:
            with suppress(ConnectError, RuntimeError):
                await stream.aclose()


@asynccontextmanager
async def calling(
    edge: Edge,
    protocol: ProtocolType = ProtocolType.CONNECT,
    version: pyqwest.HTTPVersion = pyqwest.HTTPVersion.HTTP1,
    ca: bytes | None = None,
) -> AsyncIterator[Caller]:
    async with pyqwest.HTTPTransport(http_version=version, tls_ca_cert=ca) as transport:
        client = ConnectClient(
            edge.address,
            codec=AsItIs(),
            protocol=protocol,
            http_client=pyqwest.Client(transport),
            send_compression=None,
        )
        caller = Caller(client)
        try:
            yield caller
        finally:
            await caller.close()

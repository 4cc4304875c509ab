"""A call from a browser, handed on: its bytes as they are, its token, its deadline; and the answer back, update by
update. No message is read here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from grpc_health.v1 import health_pb2

from edge_service.gate import Gate
from edge_service.methods import Method
from edge_service.refusing import of_refused, of_rpc
from edge_service.upstream import Upstream
from stud_service.refusals import Refused
from stud_topology.services import EDGE

AUTHORIZATION: Final = "authorization"
UNARY_WITHIN_S: Final = 30.0
"""For a call without a deadline: a service has said something long before."""

MAX_REQUEST_BYTES: Final = 64 * 1024
"""As the services take."""

HEALTH: Final = "/grpc.health.v1.Health/Check"
Context = RequestContext[Any, Any]


class AsItIs:
    """Messages are bytes here."""

    def name(self) -> str:
        return "proto"

    def encode(self, message: bytes) -> bytes:
        return message

    def decode(self, data: bytes | bytearray, message_class: type[bytes]) -> bytes:
        return bytes(data)


class Passing(ConnectASGIApplication[Any]):
    """Connect and gRPC-Web over any HTTP, and gRPC over HTTP/2: all that the library speaks, for what is offered."""

    def __init__(
        self, methods: Sequence[Method], services: Mapping[str, Upstream], gate: Gate, updates: Counter[str]
    ) -> None:
        """`updates` counts messages of streams that were handed on."""
        self._services, self._gate, self._updates = services, gate, updates
        self._under_way: set[Any] = set()
        endpoints = {method.path: self._endpoint(method) for method in methods}
        endpoints[HEALTH] = Endpoint.unary(_info(HEALTH, StreamType.UNARY), self._health)
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            interceptors=[gate],
            read_max_bytes=MAX_REQUEST_BYTES,
            compressions=(),  # it would cost each viewer anew what the services make once
            codecs=[AsItIs()],
        )

    @property
    def path(self) -> str:
        return ""

    @property
    def paths(self) -> frozenset[str]:
        """What there is."""
        return frozenset(self._endpoints(None))

    def stop(self) -> None:
        """Take no more calls, and end those that are under way; their callers are told to connect again."""
        self._gate.stopping = True
        for call in list(self._under_way):
            call.cancel()

    def _endpoint(self, method: Method) -> Any:
        if method.streams:

            def stream(request: bytes, ctx: Context) -> AsyncIterator[bytes]:
                return self._stream(method, request, ctx)

            return Endpoint.server_stream(_info(method.path, StreamType.SERVER_STREAM), stream)

        async def unary(request: bytes, ctx: Context) -> bytes:
            return await self._unary(method, request, ctx)

        return Endpoint.unary(_info(method.path, StreamType.UNARY), unary)

    async def _unary(self, method: Method, request: bytes, ctx: Context) -> bytes:
        async with self._call(method, request, ctx, UNARY_WITHIN_S) as call:
            answer: bytes = await call
            return answer

    async def _stream(self, method: Method, request: bytes, ctx: Context) -> AsyncIterator[bytes]:
        async with self._call(method, request, ctx, None) as call:
            while (message := await call.read()) is not grpc.aio.EOF:
                self._updates[""] += 1
                yield message
            if await call.code() is not grpc.StatusCode.OK:  # which `read` tells by an exception or not at all
                raise await _error_of(call)

    @asynccontextmanager
    async def _call(self, method: Method, request: bytes, ctx: Context, within_s: float | None) -> AsyncIterator[Any]:
        """Make a call; it is over when its reader goes, and whatever it ends with is told in the words for a caller."""
        if ctx.timeout_ms is not None:
            within_s = max(0.0, ctx.timeout_ms / 1000)
        with self._services[method.service].call(method.path, streams=method.streams) as make:
            call = make(request, timeout=within_s, metadata=_token(ctx))
            self._under_way.add(call)
            try:
                yield call
            except grpc.aio.AioRpcError as error:
                raise of_rpc(error) from None
            except asyncio.CancelledError:
                self._raise_if_stopping()
                raise
            finally:
                self._under_way.discard(call)
                call.cancel()

    def _raise_if_stopping(self) -> None:
        """A call that was cancelled because the edge stops; not one whose task was, for a reader who went away."""
        task = asyncio.current_task()
        if self._gate.stopping and (task is None or not task.cancelling()):
            raise of_refused(Refused("STOPPING", "the edge is stopping: connect again")) from None

    async def _health(self, request: bytes, ctx: Context) -> bytes:
        asked = health_pb2.HealthCheckRequest.FromString(request).service
        known = asked in {"", EDGE.grpc_name}
        kinds = health_pb2.HealthCheckResponse
        return kinds(status=kinds.SERVING if known else kinds.SERVICE_UNKNOWN).SerializeToString()


async def _error_of(call: Any) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
    )


def _info(path: str, kind: StreamType) -> MethodInfo[bytes, bytes]:
    service, _, name = path[1:].partition("/")
    return MethodInfo(
        name=name,
        service_name=service,
        input=bytes,
        output=bytes,
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=kind,
    )


def _token(ctx: Context) -> tuple[tuple[str, str], ...]:
    """Returns the one piece of metadata that is handed on."""
    value = ctx.request_headers.get(AUTHORIZATION)
    return () if value is None else ((AUTHORIZATION, value),)

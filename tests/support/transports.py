"""Ways to make a call of the contract by its name, and what came of it: over gRPC, and over the edge as a browser does.

A test that takes a `Transport` is run over each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, Protocol

import grpc
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from google.protobuf import any_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from edge_service.methods import offered
from edge_service.process import Process
from edge_service.settings import EdgeSettings
from stud_topology.services import NAMES
from tests.support.edge import Edge, calling

WITHIN_S = 20
NOT_THERE = "UNIMPLEMENTED"


class Outcome(NamedTuple):
    """Why a call was refused, "" where it was not, and what was said to people."""

    reason: str
    text: str = ""


WRITTEN_TOO_LATE = Outcome("INTERNAL", "Internal error from Core")
"""What gRPC's client in Python makes of a stream that was refused before it could write: nobody else says it."""


class Transport(Protocol):
    def offers(self, path: str) -> bool:
        """Whether there is such a call here at all."""

    async def call(self, method: MethodDescriptor, request: Message, token: str) -> Outcome:
        """Makes a call; of a stream until its first message. No `token`: without any."""


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def _headers(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


def _reason(details: Any, code: str) -> str:
    """Of a refusal of ours; the status where nobody of ours has refused."""
    info = error_details_pb2.ErrorInfo()
    return next((str(info.reason) for detail in details if detail.Unpack(info)), code)


def _as_any(detail: Any) -> any_pb2.Any:
    return any_pb2.Any(type_url=f"type.googleapis.com/{detail.type_name}", value=detail.message_bytes)


async def _alone(data: bytes) -> AsyncIterator[bytes]:
    """One message, and nothing more for as long as somebody listens."""
    yield data
    await asyncio.Event().wait()


class OverGrpc:
    """As native clients do."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def offers(self, _path: str) -> bool:
        return True

    async def call(self, method: MethodDescriptor, request: Message, token: str) -> Outcome:
        outcome = await self._once(method, request, token)
        while outcome == WRITTEN_TOO_LATE:
            outcome = await self._once(method, request, token)
        return outcome

    async def _once(self, method: MethodDescriptor, request: Message, token: str) -> Outcome:
        metadata, data, path = tuple(_headers(token).items()), request.SerializeToString(), path_of(method)
        try:
            if not method.server_streaming:
                await self._channel.unary_unary(path)(data, metadata=metadata, timeout=WITHIN_S)
                return Outcome("")
            if method.client_streaming:
                stream = self._channel.stream_stream(path)(_alone(data), metadata=metadata, timeout=WITHIN_S)
            else:
                stream = self._channel.unary_stream(path)(data, metadata=metadata, timeout=WITHIN_S)
            try:
                await anext(aiter(stream))
            finally:
                stream.cancel()
        except grpc.aio.AioRpcError as error:
            status: Any = rpc_status.from_call(error)  # type: ignore[arg-type]
            return Outcome(_reason(status.details if status else (), error.code().name), error.details() or "")
        return Outcome("")


class OverTheEdge:
    """As a page does, by the Connect protocol."""

    def __init__(self, caller: Any) -> None:
        self._caller = caller
        self._paths = {method.path for method in offered()}

    def offers(self, path: str) -> bool:
        return path in self._paths

    async def call(self, method: MethodDescriptor, request: Message, token: str) -> Outcome:
        data, path = request.SerializeToString(), path_of(method)
        try:
            if method.server_streaming:
                await anext(self._caller.stream(path, data, **_headers(token)))
            else:
                await self._caller.unary(path, data, timeout_ms=WITHIN_S * 1000, **_headers(token))
        except ConnectError as error:
            code = NOT_THERE if error.code is Code.UNIMPLEMENTED else error.code.name
            return Outcome(_reason(map(_as_any, error.details), code), error.message)
        return Outcome("")


@asynccontextmanager
async def over_grpc(address: str) -> AsyncIterator[Transport]:
    async with grpc.aio.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        yield OverGrpc(channel)


@asynccontextmanager
async def over_the_edge(address: str) -> AsyncIterator[Transport]:
    process = Process(EdgeSettings(listen="127.0.0.1:0", metrics_port=0), dict.fromkeys(NAMES, address))
    await process.start()
    try:
        edge: Any = Edge(process, None, tls=False)  # type: ignore[arg-type]  # real services are behind it
        async with calling(edge) as caller:
            yield OverTheEdge(caller)
    finally:
        await process.stop()


TRANSPORTS: dict[str, Callable[[str], AbstractAsyncContextManager[Transport]]] = {
    "grpc": over_grpc,
    "edge": over_the_edge,
}
"""By name: each takes the address at which all services listen."""

"""A client whose every answer goes through the strict decoder: streams, unary answers, details of refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import grpc

from stud_client import StudClient
from stud_client.calling import open_channel
from tests.support.strict_wire import check_canonical, check_status

Stub = TypeVar("Stub")


def _strict(deserialize: Any) -> Callable[[bytes], Any]:
    kind = deserialize.__self__  # a message class: stubs are given its FromString

    def read(data: bytes) -> Any:
        check_canonical(kind, data)
        return deserialize(data)

    return read


class StrictChannel:
    """A channel as far as a `CallingChannel` needs one."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    def unary_unary(self, method: str, request_serializer: Any, response_deserializer: Any, **more: Any) -> Any:
        call: Any = self._channel.unary_unary(method, request_serializer, _strict(response_deserializer), **more)

        async def unary(*args: Any, **kwargs: Any) -> Any:
            try:
                return await call(*args, **kwargs)
            except grpc.aio.AioRpcError as error:
                for key, value in error.trailing_metadata() or ():
                    if key == "grpc-status-details-bin":
                        check_status(bytes(value))  # type: ignore[arg-type]  # bytes, as the key ends in -bin
                raise

        return unary

    def unary_stream(self, method: str, request_serializer: Any, response_deserializer: Any, **more: Any) -> Any:
        return self._channel.unary_stream(method, request_serializer, _strict(response_deserializer), **more)

    def stream_stream(self, method: str, request_serializer: Any, response_deserializer: Any, **more: Any) -> Any:
        return self._channel.stream_stream(method, request_serializer, _strict(response_deserializer), **more)

    async def close(self) -> None:
        await self._channel.close()


class StrictClient(StudClient):
    """A client over strict channels."""

    def _stub(self, name: str, make: Callable[[grpc.aio.Channel], Stub]) -> Stub:
        if name not in self._channels:
            self._channels[name] = StrictChannel(open_channel(self.endpoints[name]))  # type: ignore[assignment]
        return super()._stub(name, make)

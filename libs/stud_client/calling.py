"""Channels, and calls over them: token, request id, deadline, retries. Used by the generated stubs without their
knowing.

A stub makes its methods from whatever channel it is given; it is given a `CallingChannel`.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import Message
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_before_delay,
    wait_exponential_jitter,
)

from stud_client.errors import StudError, from_rpc
from stud_client.tls import Tls, channel_to

logger = logging.getLogger(__name__)

CHANNEL_OPTIONS = [
    # Reconnects within a second of the service being back; by default the pauses grow to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Notices a dead connection within 40 s. The services allow a ping every 5 s.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # Retries are ours: gRPC would repeat calls that have no request id.
    ("grpc.enable_retries", 0),
    # Services are near; a proxy from the environment has no business between them and us.
    ("grpc.enable_http_proxy", 0),
]

ATTEMPTS = 3
"""When the service cannot answer."""

LIMITED_ATTEMPTS = 6
"""When it says that there were too many, and when it takes the next one."""

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0
JITTER_S = 0.1
READS = ("Get", "List", "Rank", "Adjudicate")
"""How the names of methods that change nothing and have no request id begin."""

Token = Callable[[], str]


def open_channel(address: str, tls: Tls | None = None) -> grpc.aio.Channel:
    """Returns a channel; nothing is connected before the first call. Belongs to the running event loop. Raises
    ValueError where TLS is wanted and its files cannot be read.
    """
    return channel_to(address, CHANNEL_OPTIONS, tls)


def new_request_id() -> str:
    return str(uuid.uuid4())


class CallingChannel:
    """A channel as far as a stub needs one."""

    def __init__(self, channel: grpc.aio.Channel, token: Token, timeout_s: float, *, wait_for_ready: bool) -> None:
        self._channel = channel
        self._token = token
        self._timeout_s = timeout_s
        self._wait_for_ready = wait_for_ready

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        call: Any = self._channel.unary_unary(method, *args, **kwargs)
        reads = method.rpartition("/")[2].startswith(READS)

        async def unary(request: Message, timeout: float | None = None, metadata: Any = ()) -> Any:
            request, has_id = _with_request_id(request)
            limit_s = self._timeout_s if timeout is None else timeout

            async def once() -> Any:
                try:
                    return await call(
                        request,
                        timeout=limit_s,
                        metadata=self._metadata(metadata),
                        wait_for_ready=self._wait_for_ready,
                    )
                except grpc.aio.AioRpcError as error:
                    raise from_rpc(error) from None

            if not (has_id or reads):
                return await once()
            return await _retrying(limit_s, method)(once)

        return unary

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._streaming(self._channel.unary_stream(method, *args, **kwargs))

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._streaming(self._channel.stream_stream(method, *args, **kwargs))

    def _streaming(self, call: Any) -> Any:
        def open_stream(*args: Any, metadata: Any = (), **kwargs: Any) -> Any:
            return call(*args, metadata=self._metadata(metadata), **kwargs)

        return open_stream

    def _metadata(self, more: Any) -> tuple[tuple[str, str | bytes], ...]:
        return (("authorization", f"Bearer {self._token()}"), *(more or ()))


def _retrying(limit_s: float, method: str) -> AsyncRetrying:
    """Tries a few times what may pass, with growing pauses, as long as the call may take; the last answer stands.

    Not by stamina: whom it tells of each attempt is one setting for the whole process, and that is the application's.
    """

    def tell(state: RetryCallState) -> None:
        error, pause_s = state.outcome and state.outcome.exception(), state.upcoming_sleep
        logger.debug("%s: %s, trying again in %.2f s", method, getattr(error, "reason", error), pause_s)

    exponential = wait_exponential_jitter(multiplier=FIRST_PAUSE_S, max=LONGEST_PAUSE_S, jitter=JITTER_S)

    too_long = stop_before_delay(limit_s)

    def enough(state: RetryCallState) -> bool:
        return state.attempt_number >= attempts(_error_of(state)) or too_long(state)

    def pause_s(state: RetryCallState) -> float:
        return max(exponential(state), _error_of(state).retry_after_s)

    return AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, StudError) and error.passing),
        stop=enough,
        wait=pause_s,
        before_sleep=tell,
        reraise=True,
    )


def attempts(error: StudError) -> int:
    """Returns how often a request is sent that meets this error."""
    return LIMITED_ATTEMPTS if error.retry_after_s else ATTEMPTS


def _error_of(state: RetryCallState) -> StudError:
    error = state.outcome.exception() if state.outcome is not None else None
    return error if isinstance(error, StudError) else StudError("", "")


def _with_request_id(request: Message) -> tuple[Message, bool]:
    """Returns the request, with a new id if it lacks one, and whether it can have one. The caller's stays as it is."""
    if "request_id" not in request.DESCRIPTOR.fields_by_name:
        return request, False
    if getattr(request, "request_id"):  # noqa: B009  (not every message has the field, as mypy would say)
        return request, True
    copy = type(request)()
    copy.CopyFrom(request)
    setattr(copy, "request_id", new_request_id())  # noqa: B010
    return copy, True

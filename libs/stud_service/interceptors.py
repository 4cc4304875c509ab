"""What every call passes through before it reaches a handler, and every answer on its way out.

A call is a chain of layers, each a function around the next; `Interceptor` puts them together once per method:

    errors       refusal -> status + ErrorInfo; a client that vanished -> cancelled; anything else -> INTERNAL, an
                 incident id and no text
    context      method, and what the request names, for the lines that are logged meanwhile
    connection   calls a second of a connection            not for health and reflection
    auth         token -> caller; a stream ends with it    "
    limits       calls a second and at a time, streams at a time, of an account; health and reflection: `_public`
    gate         UNAVAILABLE while starting, stopping, or without the log              "
    deadline     for a unary call that brings none                                     "
    decoding     bytes -> request, so that malformed bytes are refused like anything else
    handler      may answer with messages or with bytes that are serialised already

Handlers read a request stream by iterating over it (not by `context.read()`), and only one task of a call may write to
it: gRPC takes one write at a time and fails a second one.
"""

from __future__ import annotations

import asyncio
import secrets
from abc import ABC
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext
from typing import Any, TypeAlias, TypeVar

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc_status import rpc_status
from structlog.contextvars import bind_contextvars

from stud_eventlog.types import LogUnavailable
from stud_service.identity import caller, set_caller
from stud_service.limits import RATE_LIMITED, Limits, count, factor_of, host_of
from stud_service.refusals import Refused
from stud_service.settings import ServiceSettings
from stud_service.tokens import Verifier

logger = structlog.get_logger(__name__)

HEALTH, REFLECTION = "/grpc.health.", "/grpc.reflection."
PUBLIC_SERVICES = (HEALTH, REFLECTION)
"""Open to everybody: a probe has no token, and says and hears nothing about the game."""

REFLECTION_S = 60.0
"""A reflection stream is over by then: nobody needs it longer, and there are few places."""

ANSWERS = ("/Act", "/PostAnte", "/ChooseShow")
"""What a player on turn must be able to send, however much else they have sent: counted, but never refused for it."""

AUTHORIZATION = "authorization"
BEARER = "bearer "

Context = Any  # grpc.aio.ServicerContext: its type parameters say nothing about bytes
Layer = Callable[[Any, Context], Awaitable[Any]]
"""(request or iterator of requests, context) -> serialised response, or None when responses are streamed."""

Gate = Callable[[], Refused | None]
"""Returns why no call is taken now, or None."""

Details = grpc.HandlerCallDetails
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
T = TypeVar("T")
Req = TypeVar("Req")
Resp = TypeVar("Resp")


class Interceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler of a server. One instance per server."""

    def __init__(
        self,
        verifier: Verifier,
        gate: Gate,
        call_timeout_s: float,
        limits: Limits | None = None,
        refusals: Counter[str] | None = None,
        by_limit: Counter[str] | None = None,
    ) -> None:
        """`refusals` counts what callers are refused, by reason; `by_limit`, where they ask for too much, by limit."""
        self._verifier = verifier
        self._gate = gate
        self._call_timeout_s = call_timeout_s
        self._limits = limits or Limits(ServiceSettings())
        self._refusals: Counter[str] = Counter() if refusals is None else refusals
        self._by_limit: Counter[str] = Counter() if by_limit is None else by_limit
        self._wrapped: dict[str, tuple[Handler, Handler]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[Details], Awaitable[grpc.RpcMethodHandler[Req, Resp] | None]],
        handler_call_details: Details,
    ) -> grpc.RpcMethodHandler[Req, Resp] | None:
        handler = await continuation(handler_call_details)
        if handler is None:
            waiting = _errors(self._refusals, self._by_limit, _slowly(self._limits))
            return grpc.stream_stream_rpc_method_handler(_unknown(waiting))
        method = str(handler_call_details.method)
        known = self._wrapped.get(method)
        if known is None or known[0] is not handler:
            known = self._wrapped[method] = handler, self._wrap(handler, method)
        return known[1]

    def _wrap(self, handler: Handler, method: str) -> Handler:
        layer = _decoding(handler, _answering(handler))
        if method.startswith(PUBLIC_SERVICES):
            layer = _public(self._limits, method, layer, streams=handler.response_streaming)
        else:
            if not handler.response_streaming:
                layer = _deadline(self._call_timeout_s, layer)
            layer = _gate(self._gate, layer)
            if handler.response_streaming:
                layer = _until_expiry(self._verifier, layer)
            layer = _limited(self._limits, method, layer, streams=handler.response_streaming)
            layer = _auth(self._verifier, self._limits, layer)
            if not method.endswith(ANSWERS):
                layer = _of_connection(self._limits, layer)
        layer = _errors(self._refusals, self._by_limit, _context(method, layer))
        # Serialising happens inside for single responses; written ones pass the serializer on their way out.
        if handler.response_streaming:
            make = (
                grpc.stream_stream_rpc_method_handler
                if handler.request_streaming
                else grpc.unary_stream_rpc_method_handler
            )
            return make(layer, None, _serializer(handler))
        make_unary = (
            grpc.stream_unary_rpc_method_handler if handler.request_streaming else grpc.unary_unary_rpc_method_handler
        )
        return make_unary(layer, None, None)


# The layers, outermost first


def _errors(refusals: Counter[str], by_limit: Counter[str], inner: Layer) -> Layer:
    async def errors(request: Any, context: Context) -> Any:
        try:
            return await inner(request, context)
        except Refused as why:
            refused = why
            logger.debug("refused", reason=refused.reason, text=refused.text)
        except LogUnavailable as why:
            logger.warning("log_unavailable", why=str(why))
            refused = Refused("LOG_UNAVAILABLE", "the log cannot be read now: try again")
        except grpc.aio.InternalError as broken:
            # gRPC could not write: the connection is gone, and it had no time to cancel the call. That is how viewers
            # leave, nobody's fault; and there is nobody left to tell.
            logger.debug("client_gone", why=type(broken).__name__)
            raise asyncio.CancelledError from None
        except Exception as fault:  # noqa: BLE001  (the last line of defence: nothing of it may reach the client)
            refused = _incident(fault)
        count(refused, refusals, by_limit)
        # The only place that aborts. A cancelled call is not an error and passes through.
        await context.abort_with_status(rpc_status.to_status(refused.status()))
        return None

    return errors


def _incident(fault: Exception) -> Refused:
    incident = secrets.token_hex(8)
    logger.error("incident", incident=incident, exc_info=fault)
    return Refused("INTERNAL", f"something unexpected happened, incident {incident}", incident=incident)


def _context(method: str, inner: Layer) -> Layer:
    async def context_of_logs(request: Any, context: Context) -> Any:
        bind_contextvars(method=method)
        return await inner(request, context)

    return context_of_logs


def _auth(verifier: Verifier, limits: Limits, inner: Layer) -> Layer:
    async def auth(request: Any, context: Context) -> Any:
        try:
            who = verifier.caller_of(_token_in(context))
        except Refused:
            with limits.strangers.hold(host_of(context.peer())):
                await limits.wrong_token(context.peer())
            raise
        set_caller(who)
        bind_contextvars(account=who.account)
        return await inner(request, context)

    return auth


def _of_connection(limits: Limits, inner: Layer) -> Layer:
    """Before anybody looks at a token: a connection is one, whoever calls over it."""

    async def of_connection(request: Any, context: Context) -> Any:
        try:
            await limits.connection(context.peer())
        except Refused:
            await limits.hold(context.peer())
            raise
        return await inner(request, context)

    return of_connection


def _limited(limits: Limits, method: str, inner: Layer, *, streams: bool) -> Layer:
    async def limited(request: Any, context: Context) -> Any:
        who = caller()
        too_many = False
        try:
            if method.endswith(ANSWERS):
                too_many = limits.note(who.account, who.roles)
                return await inner(request, context)
            factor = factor_of(who.roles)
            with nullcontext() if streams else limits.at_once.hold(who.account, factor):
                await limits.call(who.account, who.roles)
                with limits.streams.hold(who.account, factor) if streams else nullcontext():
                    return await inner(request, context)
        except Refused as why:
            if too_many or why.reason == RATE_LIMITED:
                await limits.hold(who.account)
            raise

    return limited


def _public(limits: Limits, method: str, inner: Layer, *, streams: bool) -> Layer:
    """Nobody says who they are here, so each connection is asked to be patient, and streams are few."""
    reflection = method.startswith(REFLECTION)
    places = limits.reflections if reflection else limits.watchers

    async def public(request: Any, context: Context) -> Any:
        with limits.strangers.hold(host_of(context.peer())):
            await limits.slow(context.peer())
            if not streams:
                return await inner(request, context)
            with places.hold(""):
                if not reflection:
                    return await inner(request, context)
                slow = Unhurried(request, lambda: limits.slow(context.peer()))
                over = Refused("CALL_DEADLINE", f"a reflection stream ends after {REFLECTION_S:g} s")
                return await _within(REFLECTION_S, over, inner(slow, context))

    return public


def _slowly(limits: Limits) -> Layer:
    """Waits as one does for a call that is nobody's."""

    async def slowly(_: Any, context: Context) -> None:
        with limits.strangers.hold(host_of(context.peer())):
            await limits.slow(context.peer())

    return slowly


def _unknown(waiting: Layer) -> Callable[[Any, Context], Awaitable[None]]:
    """Says what gRPC would say of a method that does not exist; whoever keeps calling it is answered slowly, as others
    are.
    """

    async def unknown(request: Any, context: Context) -> None:
        await waiting(request, context)
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "there is no such method")

    return unknown


class _Messages(ABC, AsyncIterator[T]):
    """Those of a stream, from the moment on when somebody asks for the first: gRPC's own, once begun and never asked,
    would complain of it, and a stream may be refused before that.
    """

    def __init__(self, data: AsyncIterator[bytes]) -> None:
        self._source = data
        self._begun: AsyncIterator[bytes] | None = None

    def _next(self) -> Awaitable[bytes]:
        if self._begun is None:
            self._begun = self._source.__aiter__()
        return self._begun.__anext__()


class Unhurried(_Messages[bytes]):
    """The requests of a stream, each after a wait of its own."""

    def __init__(self, data: AsyncIterator[bytes], wait: Callable[[], Awaitable[None]]) -> None:
        super().__init__(data)
        self._wait = wait

    async def __anext__(self) -> bytes:
        request = await self._next()
        await self._wait()
        return request


def _until_expiry(verifier: Verifier, inner: Layer) -> Layer:
    """A call that stays open is good for as long as its token: what arrives after that is never handed on, and at that
    moment the stream ends, be it that the token runs out or that it is revoked.
    """

    async def until_expiry(request: Any, context: Context) -> Any:
        who = caller()
        if hasattr(request, "__aiter__"):
            request = WhileValid(request, lambda: verifier.check(who))
        timeout = asyncio.timeout(verifier.left_s(who))
        try:
            async with timeout:
                with verifier.ending_with(who, timeout):
                    return await inner(request, context)
        except TimeoutError:
            if not timeout.expired():
                raise  # one of its own
            raise verifier.why_over(who) from None

    return until_expiry


async def _within(seconds: float, refusal: Refused, work: Awaitable[Any]) -> Any:
    """Refuse what takes longer; a TimeoutError of its own is something else."""
    timeout = asyncio.timeout(seconds)
    try:
        async with timeout:
            return await work
    except TimeoutError:
        if not timeout.expired():
            raise
        raise refusal from None


class WhileValid(_Messages[bytes]):
    """The requests of a stream while its token is good, by the clock: the timer that ends the stream may be late."""

    def __init__(self, data: AsyncIterator[bytes], check: Callable[[], None]) -> None:
        super().__init__(data)
        self._check = check

    async def __anext__(self) -> bytes:
        request = await self._next()
        self._check()
        return request


def _token_in(context: Context) -> str:
    for name, value in context.invocation_metadata() or ():
        if name == AUTHORIZATION:
            if not isinstance(value, str) or value[: len(BEARER)].lower() != BEARER:
                break
            return value[len(BEARER) :].strip()
    raise Refused("UNAUTHENTICATED", "want metadata 'authorization: Bearer <token>'")


def _gate(gate: Gate, inner: Layer) -> Layer:
    async def gated(request: Any, context: Context) -> Any:
        closed = gate()
        if closed is not None:
            raise closed
        return await inner(request, context)

    return gated


def _deadline(timeout_s: float, inner: Layer) -> Layer:
    async def deadline(request: Any, context: Context) -> Any:
        if context.time_remaining() is not None:
            return await inner(request, context)  # gRPC cancels the call at the client's own deadline
        text = f"there was no answer within {timeout_s:g} s; it may still come about"
        return await _within(timeout_s, Refused("CALL_DEADLINE", text), inner(request, context))

    return deadline


def _decoding(handler: Handler, inner: Layer) -> Layer:
    # The stubs say that a handler has a deserializer; one for raw bytes has none.
    decode: Callable[[bytes], Any] = handler.request_deserializer or bytes

    async def decoding(request: Any, context: Context) -> Any:
        if handler.request_streaming:
            return await inner(Requests(request, decode), context)
        message = _decode(decode, request)
        for name in ("table", "request_id"):
            value = getattr(message, name, None)
            if value and isinstance(value, str):
                bind_contextvars(**{name: value[:64]})
        return await inner(message, context)

    return decoding


def _decode(decode: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return decode(data)
    except (DecodeError, ValueError):
        raise Refused("MALFORMED_MESSAGE", "the bytes are not a message of this type") from None


class Requests(_Messages[Any]):
    """The requests of a stream, decoded one by one. Iterating may stop and go on later, elsewhere."""

    def __init__(self, data: AsyncIterator[bytes], decode: Callable[[bytes], Any]) -> None:
        super().__init__(data)
        self._decode = decode

    async def __anext__(self) -> Any:
        return _decode(self._decode, await self._next())


def _answering(handler: Handler) -> Layer:
    """The innermost layer: calls the handler in whatever style it is written."""
    serialize = _serializer(handler)

    async def single(request: Any, context: Context) -> bytes:
        call: Any = handler.stream_unary if handler.request_streaming else handler.unary_unary
        return serialize(await call(request, context))

    async def streamed(request: Any, context: Context) -> None:
        call: Any = handler.stream_stream if handler.request_streaming else handler.unary_stream
        running = call(request, context)
        if not hasattr(running, "__aiter__"):
            await running  # a coroutine that writes to the context itself
            return
        try:
            async for response in running:
                await context.write(response)
        finally:
            await running.aclose()  # its own cleaning up must not wait for the garbage collector

    return streamed if handler.response_streaming else single


def _serializer(handler: Handler) -> Callable[[Any], bytes]:
    encode: Callable[[Any], bytes] = handler.response_serializer or bytes

    def serialize(response: Any) -> bytes:
        return response if isinstance(response, bytes) else encode(response)

    return serialize

"""What a call meets between the wire and its handler, over real connections."""

import asyncio
import importlib
import time
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import grpc
import pytest
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_core.events import Option, Size, Verb
from stud_core.rejection import Reason, Rejection
from stud_service.identity import caller, require
from stud_service.interceptors import Interceptor
from stud_service.limits import Limits
from stud_service.refusals import Refused
from stud_service.settings import ServiceSettings
from stud_service.tokens import Verifier, mint
from stud_service.trusted import KeySet, TrustedKey
from tests.support.runtime import KEY, House, logged, serving, token, until

EXECUTE_BATCH = importlib.import_module("grpc._cython.cygrpc").ExecuteBatchError
"""What a write to a broken connection raises; gRPC exports only its base."""


class Tables(rpc.TableServiceServicer):
    """Each handler in another style; the table's name says what is to happen."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.cancelled = asyncio.Event()

    async def GetTable(self, request, context):
        self.seen.append(caller())
        match request.table:
            case "secret":
                raise ValueError("secret detail")
            case "slow":
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    self.cancelled.set()
                    raise
            case "own-timeout":
                raise TimeoutError
            case "operators":
                require("operator", "auditor")
            case "none":
                return None
            case "bytes":
                return pb.GetTableResponse(update=pb.TableUpdate(table="as bytes")).SerializeToString()
        return pb.GetTableResponse(update=pb.TableUpdate(table=caller().account))

    async def Act(self, request, context):
        legal = (Option(Verb.FOLD, 0, 0, None, False), Option(Verb.RAISE, 300, 400, Size.HIGH, True))
        raise Refused.from_rejection(Rejection(Reason.ILLEGAL_ACTION, "a raise is to 400", "P56", legal))

    async def Watch(self, request, context) -> AsyncIterator[pb.WatchResponse]:  # an async generator
        try:
            for version in range(1, 4):
                yield pb.WatchResponse(update=pb.TableUpdate(version=version))
            if request.subscribe.table == "fault":
                raise KeyError("secret detail")
            if request.subscribe.table == "open":
                await asyncio.sleep(60)
        finally:
            self.cancelled.set()

    async def Play(self, request_iterator, context) -> None:  # type: ignore[override]  # a coroutine that writes, messages and bytes
        async for first in request_iterator:
            self.seen.append(first)
            break
        async for message in request_iterator:
            self.seen.append(message)
            result = pb.PlayResponse(result=pb.CommandResult(request_id=message.act.request_id))
            await context.write(result if message.act.turn_id else result.SerializeToString())
        raise Refused("STOPPING", f"bye {caller().account}")


@pytest.fixture
async def tables():
    return Tables()  # type: ignore[abstract]


@pytest.fixture
async def house(tables):
    async with serving(tables) as running:
        yield running


@pytest.fixture
async def hasty(tables):
    """A connection to a server that gives calls without a deadline 0.2 s."""
    async with (
        serving(tables, call_timeout_s=0.2) as running,
        grpc.aio.insecure_channel(running.address) as connection,
    ):
        yield connection


@pytest.fixture
async def channel(house):
    async with grpc.aio.insecure_channel(house.address) as connection:
        yield connection


def bearer(*args: Any, **kwargs: Any) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token(*args, **kwargs)}"),)


def info_of(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    status = status_pb2.Status.FromString(details)
    assert status.code == error.code().value[0]
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "stud"
    return info


async def refusal(awaitable) -> tuple[str, str, error_details_pb2.ErrorInfo]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await awaitable
    error = caught.value
    return error.code().name, error.details() or "", info_of(error)


async def get(channel, table: str, **kwargs: Any) -> pb.GetTableResponse:
    kwargs.setdefault("metadata", bearer())
    return await rpc.TableServiceStub(channel).GetTable(pb.GetTableRequest(table=table), **kwargs)


def raw(channel, method: str):
    return channel.unary_unary(f"/stud.table.v1.TableService/{method}")


# Answers


async def test_a_call_reaches_its_handler_as_the_token_s_subject(channel):
    assert (await get(channel, "t")).update.table == "alice"


async def test_a_handler_may_answer_with_bytes(channel):
    assert (await get(channel, "bytes")).update.table == "as bytes"


async def test_a_generator_s_messages_are_streamed(channel):
    call = rpc.TableServiceStub(channel).Watch(pb.WatchRequest(), metadata=bearer())
    assert [response.update.version async for response in call] == [1, 2, 3]


async def test_a_play_stream_takes_messages_and_writes_messages_or_bytes(channel, tables):
    call: Any = rpc.TableServiceStub(channel).Play(metadata=bearer("bob"))
    await call.write(pb.PlayRequest(subscribe=pb.Subscribe(table="t")))
    for turn, name in ((1, "message"), (0, "bytes")):
        await call.write(pb.PlayRequest(act=pb.ActRequest(turn_id=turn, request_id=name)))
        assert (await call.read()).result.request_id == name
    await call.done_writing()
    code, text, info = await refusal(call.read())
    assert (code, text, info.reason) == ("UNAVAILABLE", "bye bob", "STOPPING")
    assert tables.seen[0].subscribe.table == "t"


# Refusals


async def test_a_rejection_carries_its_rule_and_what_is_legal(channel):
    call = rpc.TableServiceStub(channel).Act(pb.ActRequest(verb=seat_pb2.VERB_RAISE), metadata=bearer())
    code, text, info = await refusal(call)
    assert (code, text, info.reason) == ("FAILED_PRECONDITION", "a raise is to 400", "ILLEGAL_ACTION")
    assert dict(info.metadata) == {"rule": "P56", "legal": "fold; raise to 400 all-in"}


async def test_a_fault_shows_an_incident_and_nothing_else(channel, capsys):
    with structlog.testing.capture_logs() as lines:
        code, text, info = await refusal(get(channel, "secret"))
    assert (code, info.reason) == ("INTERNAL", "INTERNAL")
    assert "secret detail" not in text + str(info)
    assert [line["incident"] for line in lines if line["event"] == "incident"] == [info.metadata["incident"]]


@pytest.mark.parametrize("table", ["none", "own-timeout"])
async def test_an_answer_that_is_none_and_a_timeout_of_the_handler_s_own_are_faults(channel, table):
    assert (await refusal(get(channel, table)))[0] == "INTERNAL"


async def test_a_fault_in_the_middle_of_a_stream_is_hidden_too(channel, tables):
    call: Any = rpc.TableServiceStub(channel).Watch(
        pb.WatchRequest(subscribe=pb.Subscribe(table="fault")), metadata=bearer()
    )
    assert [(await call.read()).update.version for _ in range(3)] == [1, 2, 3]
    code, text, _ = await refusal(call.read())
    assert (code, "secret" in text) == ("INTERNAL", False)
    assert tables.cancelled.is_set()


async def test_malformed_bytes_are_refused_by_type(channel):
    code, text, info = await refusal(raw(channel, "GetTable")(b"\xff\xff\xff", metadata=bearer()))
    assert (code, info.reason) == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE")
    assert "pars" not in text.lower()


async def test_malformed_bytes_within_a_stream_too(channel):
    call = channel.stream_stream("/stud.table.v1.TableService/Play")(metadata=bearer())
    await call.write(pb.PlayRequest(subscribe=pb.Subscribe(table="t")).SerializeToString())
    await call.write(b"\x0a\xff")
    assert (await refusal(call.read()))[2].reason == "MALFORMED_MESSAGE"


async def test_text_that_is_not_utf8_is_malformed(channel):
    assert (await refusal(raw(channel, "GetTable")(b"\x0a\x02\xc3\x28", metadata=bearer())))[2].reason == (
        "MALFORMED_MESSAGE"
    )


async def test_an_oversized_message_is_resource_exhausted(channel):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await get(channel, "x" * 70_000)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await get(channel, "y" * 60_000)).update.table == "alice"


async def test_an_unknown_method_is_unimplemented(channel):
    with logged() as told, pytest.raises(grpc.aio.AioRpcError) as caught:
        await raw(channel, "Nothing")(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert told() == []


# Who may call, and when


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", "Basic abc"),),
        (("authorization", "Bearer "),),
        (("authorization", "Bearer not-a-token"),),
        (("authorization", f"Bearer {'x' * 5000}"),),
    ],
)
async def test_without_a_token_that_verifies_nobody_gets_in(channel, tables, metadata):
    code, _, info = await refusal(get(channel, "t", metadata=metadata))
    assert (code, info.reason) == ("UNAUTHENTICATED", "UNAUTHENTICATED")
    assert tables.seen == []


async def test_an_expired_token_says_so_on_streams_as_well(channel):
    assert (await refusal(get(channel, "t", metadata=bearer(ttl_s=-1))))[2].reason == "TOKEN_EXPIRED"
    call = rpc.TableServiceStub(channel).Watch(pb.WatchRequest(), metadata=bearer(ttl_s=-1))
    assert (await refusal(call.read()))[2].reason == "TOKEN_EXPIRED"


async def test_a_stream_ends_when_its_token_does(channel, tables):
    """A token of whole seconds that has less than one left."""
    call: Any = rpc.TableServiceStub(channel).Watch(
        pb.WatchRequest(subscribe=pb.Subscribe(table="open")), metadata=bearer(ttl_s=1)
    )
    assert [(await call.read()).update.version for _ in range(3)] == [1, 2, 3]
    code, _, info = await refusal(call.read())
    assert (code, info.reason) == ("UNAUTHENTICATED", "TOKEN_EXPIRED")
    assert tables.cancelled.is_set()


@pytest.mark.parametrize("how", ["the token is revoked", "its key is withdrawn"])
async def test_a_stream_ends_when_its_token_is_revoked(house, channel, tables, how: str):
    """At once, with its reason; another token's stream beside it goes on, and the same token opens no other."""
    bad = (("authorization", f"Bearer {mint('alice', ['player'], 600, KEY, token_id='bad')}"),)
    watch, subscribe = rpc.TableServiceStub(channel).Watch, pb.WatchRequest(subscribe=pb.Subscribe(table="open"))
    call: Any = watch(subscribe, metadata=bad)
    other: Any = watch(subscribe, metadata=bearer(ttl_s=600))
    assert [(await call.read()).update.version for _ in range(3)] == [1, 2, 3]
    assert [(await other.read()).update.version for _ in range(3)] == [1, 2, 3]
    if how == "the token is revoked":
        house.trusted.change(house.trusted.keys, {"bad": time.time() + 600})
    else:
        house.trusted.change(KeySet([TrustedKey.of(Ed25519PrivateKey.generate().public_key())]), {})
    code, _, info = await refusal(call.read())
    assert (code, info.reason) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    assert tables.cancelled.is_set()
    again = {"the token is revoked": "TOKEN_REVOKED", "its key is withdrawn": "UNAUTHENTICATED"}
    assert (await refusal(get(channel, "t", metadata=bad)))[2].reason == again[how]
    if how == "the token is revoked":
        assert (await get(channel, "t", metadata=bearer(ttl_s=600))).update.table == "alice"
        other.cancel()
    else:
        assert (await refusal(other.read()))[2].reason == "TOKEN_REVOKED"


async def test_a_token_that_is_revoked_before_its_stream_begins_gets_none(tables):
    """While a call waits for its turn, say: nobody looks at it then."""
    house_limits = Limits(ServiceSettings(calls_per_s=1, calls_burst=1))
    async with (
        serving(tables, limits=house_limits) as house,
        grpc.aio.insecure_channel(house.address) as channel,
    ):
        bad = (("authorization", f"Bearer {mint('alice', ['player'], 600, KEY, token_id='bad')}"),)
        await get(channel, "t", metadata=bad)
        call: Any = rpc.TableServiceStub(channel).Watch(
            pb.WatchRequest(subscribe=pb.Subscribe(table="open")), metadata=bad
        )
        await until(lambda: house_limits.calls.take("alice", patience_s=-9) > 1)
        house.trusted.change(house.trusted.keys, {"bad": time.time() + 600})
        assert (await refusal(call.read()))[2].reason == "TOKEN_REVOKED"


async def test_what_a_stream_brings_after_its_token_expired_is_never_handed_on(tables):
    """By the clock alone: the timer that ends the stream is far from firing here."""
    ahead_s = 0.0
    async with (
        serving(tables, clock_s=lambda: time.time() + ahead_s) as house,
        grpc.aio.insecure_channel(house.address) as channel,
    ):
        call: Any = rpc.TableServiceStub(channel).Play(metadata=bearer(ttl_s=600))
        await call.write(pb.PlayRequest(subscribe=pb.Subscribe(table="t")))
        await call.write(pb.PlayRequest(act=pb.ActRequest(request_id="in time")))
        assert (await call.read()).result.request_id == "in time"
        ahead_s = 601
        await call.write(pb.PlayRequest(act=pb.ActRequest(request_id="too late")))
        assert (await refusal(call.read()))[2].reason == "TOKEN_EXPIRED"
    assert [message.act.request_id for message in tables.seen] == ["", "in time"]


@pytest.mark.parametrize("fault", [grpc.aio.InternalError("Failed execute_batch"), EXECUTE_BATCH("gone")])
async def test_a_client_that_vanished_is_no_incident(fault):
    """gRPC may find out by a write that fails, before it has cancelled the call."""

    class Gone:
        def invocation_metadata(self) -> Any:
            return bearer()

        def peer(self) -> str:
            return "ipv4:127.0.0.1:50000"

        async def write(self, message: Any) -> None:
            raise fault

        async def abort(self, *_: Any) -> None:
            raise AssertionError("there is nobody to be told")

    async def watch(request: Any, context: Any) -> None:
        await context.write(b"update")

    async def continuation(_: Any) -> Any:
        return grpc.unary_stream_rpc_method_handler(watch)

    interceptor = Interceptor(Verifier(KEY.public_key()), lambda: None, 5.0)
    handler: Any = await interceptor.intercept_service(continuation, Mock(method="/stud.table.v1.TableService/Watch"))
    with structlog.testing.capture_logs() as lines, pytest.raises(asyncio.CancelledError):
        await handler.unary_stream(b"", Gone())
    assert {line["log_level"] for line in lines} <= {"debug"}


async def test_authentication_comes_before_decoding(channel):
    assert (await refusal(raw(channel, "GetTable")(b"\xff")))[2].reason == "UNAUTHENTICATED"


async def test_roles(channel):
    code, _, info = await refusal(get(channel, "operators"))
    assert (code, info.reason) == ("PERMISSION_DENIED", "ROLE_NOT_ALLOWED")
    assert (await get(channel, "operators", metadata=bearer("olga", "operator"))).update.table == "olga"


async def test_callers_do_not_mix(channel):
    names = [f"p{n}" for n in range(20)]
    answers = await asyncio.gather(*(get(channel, "t", metadata=bearer(name)) for name in names))
    assert [answer.update.table for answer in answers] == names


async def test_a_closed_gate_refuses_before_the_handler(channel, house: House, tables):
    house.closed = Refused("LOG_UNAVAILABLE", "the log is away")
    code, _, info = await refusal(get(channel, "t"))
    assert (code, info.reason, tables.seen) == ("UNAVAILABLE", "LOG_UNAVAILABLE", [])
    house.closed = None
    assert (await get(channel, "t")).update.table == "alice"


async def test_health_needs_no_token_and_no_open_gate():
    def add(servicer, server):
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)

    servicer = health.aio.HealthServicer()
    async with serving(servicer, add=add) as house, grpc.aio.insecure_channel(house.address) as channel:
        house.closed = Refused("STOPPING", "stopping")
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        watch.cancel()


# Deadlines


async def test_a_call_without_a_deadline_gets_one(hasty, tables):
    code, _, info = await refusal(get(hasty, "slow"))
    assert (code, info.reason) == ("DEADLINE_EXCEEDED", "CALL_DEADLINE")
    assert tables.cancelled.is_set()


async def test_a_client_s_own_deadline_cancels_the_handler(channel, tables):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await get(channel, "slow", timeout=0.1)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await asyncio.wait_for(tables.cancelled.wait(), 5)


async def test_streams_have_no_deadline_and_end_when_the_client_cancels(hasty, tables):
    call = rpc.TableServiceStub(hasty).Watch(pb.WatchRequest(subscribe=pb.Subscribe(table="open")), metadata=bearer())
    for _ in range(3):
        await call.read()
    await asyncio.sleep(0.5)  # beyond the deadline of unary calls
    assert not tables.cancelled.is_set()
    call.cancel()
    await asyncio.wait_for(tables.cancelled.wait(), 5)


async def test_what_is_logged_names_the_call(channel):
    with logged("table", "debug") as lines:
        call = rpc.TableServiceStub(channel).Act(pb.ActRequest(table="t-9", request_id="r-1"), metadata=bearer())
        await refusal(call)
    (line,) = [line for line in lines() if line["event"] == "refused"]
    wanted = {"table": "t-9", "request_id": "r-1", "account": "alice", "reason": "ILLEGAL_ACTION", "service": "table"}
    assert {name: line[name] for name in wanted} == wanted
    assert line["method"] == "/stud.table.v1.TableService/Act"

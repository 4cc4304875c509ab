"""Every call of every service has its limits, by account and by connection, found by the contract's descriptors: a new
call is among them by itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import grpc
import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from stud.dealer.v1 import dealer_service_pb2
from stud.rules.v1 import rules_service_pb2
from stud.table.v1 import table_service_pb2
from stud.wallet.v1 import wallet_service_pb2
from stud_service import limits as module
from stud_service.health import Health
from stud_service.interceptors import ANSWERS
from stud_service.limits import Limit, Limits, Rate
from stud_service.settings import ServiceSettings
from tests.support.runtime import House, serving, token, until

CONTRACTS: tuple[Any, ...] = (table_service_pb2, dealer_service_pb2, rules_service_pb2, wallet_service_pb2)


class Rpc(NamedTuple):
    path: str
    streams_in: bool
    streams_out: bool

    @property
    def answers(self) -> bool:
        """Whether it answers a turn or a prompt: counted, never refused."""
        return self.path.endswith(ANSWERS)


def rpcs() -> Iterator[Rpc]:
    for contract in CONTRACTS:
        for service in contract.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                yield Rpc(f"/{service.full_name}/{method.name}", method.client_streaming, method.server_streaming)


RPCS = list(rpcs())
UNARY = [rpc for rpc in RPCS if not rpc.streams_out]


class Anything:
    """Answers every call with nothing, once `go_on` is set; streams stay open."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.inside = 0

    def add(self, _: object, server: grpc.aio.Server) -> None:
        for service in {rpc.path.split("/")[1] for rpc in RPCS}:
            methods = {rpc.path.split("/")[2]: self.handler(rpc) for rpc in RPCS if rpc.path.split("/")[1] == service}
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        health_pb2_grpc.add_HealthServicer_to_server(Health(), server)

    def handler(self, rpc: Rpc) -> Any:
        async def one(request: Any, context: Any) -> bytes:
            self.inside += 1
            await self.go_on.wait()
            return b""

        async def many(request: Any, context: Any) -> AsyncIterator[bytes]:
            if rpc.streams_in:
                await anext(request)
            yield b""
            await asyncio.Event().wait()

        if rpc.streams_out:
            make = grpc.stream_stream_rpc_method_handler if rpc.streams_in else grpc.unary_stream_rpc_method_handler
            return make(many)
        return grpc.unary_unary_rpc_method_handler(one)


class Made(NamedTuple):
    """A server under limits, and what it counted."""

    house: House
    servicer: Anything
    limits: Limits
    refused: Counter[str]

    def connect(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(
            self.house.address, options=[("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
        )


class Making:
    def __init__(self, **settings: Any) -> None:
        self.limits, self.refused = Limits(ServiceSettings(build="t", **settings)), Counter[str]()

    async def __aenter__(self) -> Made:
        servicer = Anything()
        self._serving = serving(None, limits=self.limits, by_limit=self.refused, add=servicer.add)
        return Made(await self._serving.__aenter__(), servicer, self.limits, self.refused)

    async def __aexit__(self, *what: object) -> None:
        await self._serving.__aexit__(*what)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes too fast is refused at once, instead of after five seconds."""
    monkeypatch.setattr(module, "LINE_S", 0.0)


async def first_of(channel: Any, rpc: Rpc, metadata: Any) -> Any:
    """A stream that has brought its first message."""
    if not rpc.streams_in:
        call = channel.unary_stream(rpc.path)(b"", metadata=metadata)
    else:
        call = channel.stream_stream(rpc.path)(metadata=metadata)
        await call.write(b"")
    await call.read()
    return call


async def outcome(channel: Any, rpc: Rpc, by: str = "") -> dict[str, str]:
    """Metadata of a refusal and its reason; nothing where the call is taken."""
    metadata = (("authorization", f"Bearer {by or token()}"),)
    try:
        if rpc.streams_out:
            (await first_of(channel, rpc, metadata)).cancel()
        else:
            await channel.unary_unary(rpc.path)(b"", metadata=metadata, timeout=20)
    except grpc.aio.AioRpcError as error:
        return told_by(error)
    return {}


def told_by(error: grpc.aio.AioRpcError) -> dict[str, str]:
    status: Any = rpc_status.from_call(error)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo()
    assert status is not None, error
    assert status.details[0].Unpack(info)
    return {"reason": info.reason, **info.metadata}


def is_limited(told: dict[str, str], kind: Limit) -> bool:
    return (told.get("reason"), told.get("kind")) == ("RATE_LIMITED", kind) and int(told["retry_after_ms"]) > 0


async def test_by_account():
    """A burst of two, then nothing for a long time; another account is not concerned."""
    for rpc in RPCS:
        async with Making(calls_per_s=1, calls_burst=2) as made, made.connect() as channel:
            told = [await outcome(channel, rpc) for _ in range(3)]
            assert told[:2] == [{}, {}], rpc
            if rpc.answers:
                assert told[2] == {}, rpc
                assert is_limited(await outcome(channel, UNARY[0]), Limit.ACCOUNT_CALLS), "it was counted"
            else:
                assert is_limited(told[2], Limit.ACCOUNT_CALLS), rpc
                assert told[2]["limit"] == "1"
            assert await outcome(channel, rpc, token("bea")) == {}, rpc
            assert set(made.refused) == {Limit.ACCOUNT_CALLS}, rpc


async def test_by_connection():
    """Whoever calls over it, and whatever their token is worth; another connection is not concerned."""
    for rpc in RPCS:
        async with Making(connection_calls_per_s=1, connection_calls_burst=2) as made, made.connect() as channel:
            told = [await outcome(channel, rpc, by) for by in ("", "wrong", token("bea"), "wrong")]
            assert [each.get("reason") for each in told[:2]] == [None, "UNAUTHENTICATED"], rpc
            if rpc.answers:
                assert told[2] == {}, rpc
            else:
                assert is_limited(told[2], Limit.CONNECTION_CALLS), rpc
                assert is_limited(told[3], Limit.CONNECTION_CALLS), rpc
            async with made.connect() as another:
                assert await outcome(another, rpc) == {}, rpc


async def test_at_a_time():
    """Calls that are not answered yet: as many as an account may have; others are not concerned; places come free."""
    for rpc in UNARY:
        async with Making(calls_at_once=2) as made, made.connect() as channel:
            made.servicer.go_on.clear()
            under_way = [asyncio.create_task(outcome(channel, rpc)) for _ in range(2)]
            await until(lambda: made.servicer.inside == 2)
            if rpc.answers:
                made.servicer.go_on.set()
            else:
                assert is_limited(await outcome(channel, rpc), Limit.ACCOUNT_AT_ONCE), rpc
                assert made.limits.under_way()[Limit.ACCOUNT_AT_ONCE] == 2
                others = asyncio.create_task(outcome(channel, rpc, token("bea")))
                await until(lambda: made.servicer.inside == 3)
                made.servicer.go_on.set()
                assert await others == {}
            assert await asyncio.gather(*under_way) == [{}, {}]
            assert await outcome(channel, rpc) == {}
            assert made.limits.under_way()[Limit.ACCOUNT_AT_ONCE] == 0


async def test_streams_at_a_time():
    for rpc in set(RPCS) - set(UNARY):
        async with Making(streams_per_account=1) as made, made.connect() as channel:
            metadata = (("authorization", f"Bearer {token()}"),)
            call = await first_of(channel, rpc, metadata)
            assert is_limited(await outcome(channel, rpc), Limit.ACCOUNT_STREAMS), rpc
            assert await outcome(channel, rpc, token("bea")) == {}, rpc
            call.cancel()
            await until(lambda: made.limits.under_way()[Limit.ACCOUNT_STREAMS] == 0)


async def test_whoever_has_no_good_token_waits_in_small_numbers():
    """Wrong tokens, unknown methods and health alike; whoever has one gets in beside them."""
    async with Making(strangers_per_host=2) as made, made.connect() as channel:
        made.limits.wrong, made.limits.anonymous = Rate(0.5, 1), Rate(0.5, 1)
        assert (await outcome(channel, UNARY[0], "wrong"))["reason"] == "UNAUTHENTICATED"
        health: Any = health_pb2_grpc.HealthStub(channel)
        nothing: Any = channel.unary_unary("/stud.table.v1.TableService/Nothing")
        waiting = [
            asyncio.create_task(outcome(channel, UNARY[0], "wrong")),
            asyncio.create_task(outcome(channel, RPCS[0], "wrong")),
        ]
        await until(lambda: made.limits.under_way()[Limit.STRANGERS] == 2)
        assert is_limited(await outcome(channel, UNARY[0], "wrong"), Limit.STRANGERS)
        calls: tuple[Any, ...] = health.Check(health_pb2.HealthCheckRequest()), nothing(b"")
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert is_limited(told_by(caught.value), Limit.STRANGERS)
        assert await outcome(channel, UNARY[0]) == {}
        assert [told["reason"] for told in await asyncio.gather(*waiting)] == ["UNAUTHENTICATED"] * 2
        assert made.limits.under_way()[Limit.STRANGERS] == 0
        assert made.limits.waited[Limit.WRONG_TOKENS] == 3


async def test_what_waits_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LINE_S", 5.0)
    async with Making(calls_per_s=20, calls_burst=1) as made, made.connect() as channel:
        assert await asyncio.gather(*[outcome(channel, UNARY[0]) for _ in range(4)]) == [{}] * 4
        assert made.limits.waited == {Limit.ACCOUNT_CALLS: 3}
        assert not made.refused

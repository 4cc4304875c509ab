"""What a service bears from one caller, one connection and all of them together, over real connections."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_service import interceptors
from stud_service import limits as module
from stud_service.health import Health
from stud_service.limits import Limits
from stud_service.refusals import Refused
from stud_service.server_options import server_options
from stud_service.settings import ServiceSettings
from tests.support.runtime import House, serving, token, until


class Tables(rpc.TableServiceServicer):
    async def GetTable(self, request, context):
        return pb.GetTableResponse()

    async def Act(self, request, context):
        if not request.turn_id:
            raise Refused("NOT_YOUR_TURN", "no")
        return pb.ActResponse(version=1)

    async def Watch(self, request, context) -> AsyncIterator[pb.WatchResponse]:
        yield pb.WatchResponse()
        await asyncio.sleep(60)


@asynccontextmanager
async def house(**fields: Any) -> AsyncIterator[tuple[House, Limits]]:
    settings = ServiceSettings(**fields)
    limits = Limits(settings)

    def add(servicer: Any, server: grpc.aio.Server) -> None:
        rpc.add_TableServiceServicer_to_server(servicer, server)
        health = Health()
        health.tell([""], serving=True)
        health_pb2_grpc.add_HealthServicer_to_server(health, server)
        reflection.enable_server_reflection(["stud.table.v1.TableService", reflection.SERVICE_NAME], server)

    tables: Any = Tables()  # type: ignore[abstract]
    async with serving(tables, add=add, limits=limits, options=server_options(settings)) as running:
        yield running, limits


def bearer(*args: Any) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token(*args)}"),)


@asynccontextmanager
async def connected(running: House) -> AsyncIterator[grpc.aio.Channel]:
    # One that no other channel shares its connection with.
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(running.address, options=options) as channel:
        yield channel


def info_of(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    status = status_pb2.Status.FromString(dict(error.trailing_metadata() or ())["grpc-status-details-bin"])
    assert status.details[0].Unpack(info)
    return info


async def reason(call: Any) -> str:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return str(info_of(error).reason)
    return ""


async def test_an_account_s_calls_come_in_turn_and_what_answers_a_turn_comes_at_once():
    async with house(calls_per_s=5, calls_burst=10) as (running, _), connected(running) as channel:
        stub: Any = rpc.TableServiceStub(channel)
        me, other, staff = bearer(), bearer("bob"), bearer("olga", "operator")

        def ask(metadata: Any) -> Any:
            return reason(stub.GetTable(pb.GetTableRequest(), metadata=metadata))

        began = time.monotonic()
        assert [await ask(me) for _ in range(15)] == [""] * 15
        assert time.monotonic() - began > 0.8
        asked = [asyncio.ensure_future(stub.GetTable(pb.GetTableRequest(), metadata=me)) for _ in range(60)]
        await asyncio.sleep(0.2)
        began = time.monotonic()
        assert await ask(other) == ""
        assert {await ask(staff) for _ in range(50)} == {""}
        for _ in range(20):
            assert await reason(stub.Act(pb.ActRequest(turn_id=1), metadata=me)) == ""
        assert time.monotonic() - began < 2
        assert await reason(stub.Act(pb.ActRequest(), metadata=me)) == "NOT_YOUR_TURN"
        errors = [e for e in await asyncio.gather(*asked, return_exceptions=True) if isinstance(e, Exception)]
        assert len(errors) in range(30, 40)
        error = errors[0]
        assert isinstance(error, grpc.aio.AioRpcError)
        info = info_of(error)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (info.reason, info.metadata["limit"]) == ("RATE_LIMITED", "5")
        assert int(info.metadata["retry_after_ms"]) in range(1, 201)


@pytest.mark.parametrize("what", ["Act", "token"])
@pytest.mark.parametrize("at_once", [1, 10])
async def test_who_goes_on_being_refused_is_refused_slowly(monkeypatch, what, at_once):
    """One after the other and all at once come to the same: a refusal costs nearly what an answer costs."""
    monkeypatch.setattr(module, "WRONG_BURST", 5)
    async with house(calls_per_s=1, calls_burst=1) as (running, _), connected(running) as channel:
        stub: Any = rpc.TableServiceStub(channel)
        metadata = (("authorization", "Bearer x.y.z"),) if what == "token" else bearer()
        for _ in range(10):
            await reason(stub.Act(pb.ActRequest(), metadata=metadata))
        began, times = time.monotonic(), 20
        for _ in range(times // at_once):
            calls = [reason(stub.Act(pb.ActRequest(), metadata=metadata)) for _ in range(at_once)]
            assert set(await asyncio.gather(*calls)) == {"UNAUTHENTICATED" if what == "token" else "NOT_YOUR_TURN"}
        most_per_s = module.WRONG_PER_S if what == "token" else module.REFUSALS_PER_S
        assert time.monotonic() - began > 0.7 * min(times / most_per_s, module.LONGEST_HOLD_S)


async def test_an_account_has_so_many_streams_and_a_process_too():
    async with (
        house(streams_per_account=2, streams=5) as (running, limits),
        connected(running) as channel,
    ):
        stub: Any = rpc.TableServiceStub(channel)

        async def watch(*who: str) -> Any:
            call = stub.Watch(pb.WatchRequest(), metadata=bearer(*who))
            await call.read()
            return call

        first, _second = await watch("ada"), await watch("ada")
        assert await reason(watch("ada")) == "RATE_LIMITED"
        first.cancel()
        await until(lambda: len(limits.streams) <= 1)
        _third = await watch("ada")
        _staff = [await watch("olga", "service") for _ in range(3)]
        assert await reason(watch("bob")) == "RATE_LIMITED"


async def test_who_needs_no_token_shares_few_places():
    async with house(health_watchers=3, reflection_streams=2) as (running, limits), connected(running) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        mirror: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type]  # any channel does

        async def watch() -> Any:
            call = health.Watch(health_pb2.HealthCheckRequest())
            await call.read()
            return call

        async def look() -> Any:
            call = mirror.ServerReflectionInfo()
            await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            assert (await call.read()).list_services_response.service
            return call

        kept = [await watch() for _ in range(3)] + [await look() for _ in range(2)]
        assert [await reason(watch()), await reason(health.Watch(health_pb2.HealthCheckRequest()).read())] == [
            "RATE_LIMITED"
        ] * 2
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await mirror.ServerReflectionInfo().read()
        assert info_of(refused.value).reason == "RATE_LIMITED"
        answer = await health.Check(health_pb2.HealthCheckRequest())  # a probe needs no place
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        for call in kept:
            call.cancel()
        await until(lambda: not len(limits.watchers) and not len(limits.reflections))


async def test_a_stream_of_reflection_ends_by_itself(monkeypatch):
    monkeypatch.setattr(interceptors, "REFLECTION_S", 0.2)
    async with house() as (running, limits), connected(running) as channel:
        mirror: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type]  # any channel does
        call = mirror.ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        await call.read()
        assert await reason(call.read()) == "CALL_DEADLINE"
        assert len(limits.reflections) == 0


async def test_health_is_answered_however_often_but_then_slowly(monkeypatch):
    """Of each connection for itself: a probe on its own one notices nothing."""
    monkeypatch.setattr(module, "ANONYMOUS_BURST", 20)
    async with house() as (running, _), connected(running) as busy, connected(running) as probe:
        flood: Any = health_pb2_grpc.HealthStub(busy)
        quiet: Any = health_pb2_grpc.HealthStub(probe)
        count = 0

        async def ask() -> None:
            nonlocal count
            while True:
                await flood.Check(health_pb2.HealthCheckRequest())
                count += 1

        tasks = [asyncio.create_task(ask()) for _ in range(8)]
        await asyncio.sleep(1.5)
        began = time.monotonic()
        await quiet.Check(health_pb2.HealthCheckRequest())
        assert time.monotonic() - began < 0.5
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert count <= 20 + module.ANONYMOUS_PER_S * 3


async def test_a_method_that_is_none_is_told_so_and_is_no_way_around(monkeypatch):
    monkeypatch.setattr(module, "ANONYMOUS_BURST", 5)
    async with house() as (running, _), connected(running) as channel:
        began, count = time.monotonic(), 30
        for make in (channel.unary_unary, channel.stream_stream):
            for number in range(count // 2):
                call: Any = make(f"/stud.table.v1.TableService/None{number % 2}")
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await (call(b"") if make == channel.unary_unary else call(iter([b""])).read())
                assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert time.monotonic() - began > 0.7 * (count - 5) / module.ANONYMOUS_PER_S


async def test_so_many_connections_and_no_more():
    async with house(connections=10) as (running, _):
        host, _, port = running.address.partition(":")
        opened = []
        for _ in range(15):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
            opened.append((reader, writer))

        async def is_open(reader: asyncio.StreamReader) -> bool:
            """Whether nothing ends it within a moment."""
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(1):
                    while await reader.read(4096):
                        pass
                return False
            return True

        states = Counter(await asyncio.gather(*[is_open(reader) for reader, _ in opened]))
        assert states[True] <= 10
        for _, writer in opened:
            writer.close()
        async with asyncio.timeout(10), connected(running) as channel:
            stub: Any = rpc.TableServiceStub(channel)
            assert await reason(stub.GetTable(pb.GetTableRequest(), metadata=bearer(), wait_for_ready=True)) == ""


async def test_so_many_calls_on_one_connection_and_the_next_one_waits():
    async with house(calls_per_connection=3) as (running, _), connected(running) as channel:
        stub: Any = rpc.TableServiceStub(channel)
        calls = []
        for _ in range(3):
            call = stub.Watch(pb.WatchRequest(), metadata=bearer())
            await call.read()
            calls.append(call)
        waiting = asyncio.ensure_future(reason(stub.GetTable(pb.GetTableRequest(), metadata=bearer())))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        calls[0].cancel()
        assert await asyncio.wait_for(waiting, 5) == ""

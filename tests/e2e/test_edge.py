"""What the edge offers is what players may call: the services are asked, each call by each role."""

from __future__ import annotations

from typing import Any, cast

import grpc
import pytest
from google.protobuf import descriptor_pool
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from edge_service.methods import offered
from stud.table.v1 import table_service_pb2 as pb
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from stud_topology.services import SERVICES, Service
from tests.support.system import Live, shared

pytestmark = shared("edge")
STACK = {"web": True}


async def reason(live: Live, address: str, method: Any, role: str) -> str:
    """Why an empty request is refused to a role; empty where it is not."""
    token = mint(f"asks-{method.name.lower()}", [role], 600, load_private_key(live.stack.keys_dir))
    path = f"/{method.containing_service.full_name}/{method.name}"
    channel: Any
    async with grpc.aio.insecure_channel(address) as channel:
        metadata = (("authorization", f"Bearer {token}"),)
        try:
            if method.server_streaming:
                stream = channel.unary_stream(path)(b"", metadata=metadata, timeout=10)
                await stream.read()
            else:
                await channel.unary_unary(path)(b"", metadata=metadata, timeout=10)
        except grpc.aio.AioRpcError as error:
            return reason_of(error)
    return ""


def reason_of(error: grpc.aio.AioRpcError) -> str:
    found = dict(error.trailing_metadata() or ())
    details = status_pb2.Status.FromString(found.get("grpc-status-details-bin", b"")).details
    info = error_details_pb2.ErrorInfo()
    return info.reason if details and details[0].Unpack(info) else str(error.code().name)


def methods(service: Service) -> list[Any]:
    return list(descriptor_pool.Default().FindServiceByName(service.grpc_name).methods)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
async def test_what_is_offered_is_what_players_may_call(live: Live, service: Service):
    ours = {method.path for method in offered()}
    for method in methods(service):
        if method.client_streaming:
            assert f"/{service.grpc_name}/{method.name}" not in ours
            continue
        why = await reason(live, live.stack.endpoints[service.name], method, "player")
        assert (why != "ROLE_NOT_ALLOWED") == (f"/{service.grpc_name}/{method.name}" in ours), (method.name, why)


async def test_the_edge_answers_what_it_offers_as_the_services_do_and_nothing_else(live: Live):
    ours = {method.path for method in offered()}
    for service in SERVICES:
        for method in methods(service):
            if method.client_streaming:
                continue
            by_edge = await reason(live, live.stack.web, method, "player")
            if f"/{service.grpc_name}/{method.name}" in ours:
                assert by_edge == await reason(live, live.stack.endpoints[service.name], method, "player")
            else:
                assert by_edge == "UNIMPLEMENTED"


async def test_a_table_is_watched_through_the_edge(live: Live):
    table = live.new_id("edge")
    request = pb.CreateTableRequest(table=table, currency="EUR", preset="playnow", small_bet=500, request_id="r-1")
    await live.people.operator.tables.CreateTable(request)
    token = mint("eve", ["player"], 600, load_private_key(live.stack.keys_dir))
    channel: Any
    async with grpc.aio.insecure_channel(live.stack.web) as channel:
        watch = channel.unary_stream("/stud.table.v1.TableService/Watch")
        watched = pb.WatchRequest(subscribe=pb.Subscribe(table=table)).SerializeToString()
        stream = watch(watched, metadata=(("authorization", f"Bearer {token}"),), timeout=60)
        first = (await update_of(stream)).update
        assert (first.reset, first.current, first.view.life) == (True, True, pb.TABLE_LIFE_OPEN)
        pause = pb.PauseTableRequest(table=table, reason="tea", request_id="r-2")
        await live.people.operator.tables.PauseTable(pause)
        while (await update_of(stream)).update.view.paused != "tea":
            pass
        await live.people.operator.tables.CloseTable(pb.CloseTableRequest(table=table, request_id="r-3"))
        while (await update_of(stream)).update.view.life != pb.TABLE_LIFE_CLOSED:
            pass
        assert await stream.read() is grpc.aio.EOF
        assert await stream.code() is grpc.StatusCode.OK


async def update_of(stream: Any) -> pb.WatchResponse:
    return pb.WatchResponse.FromString(cast("bytes", await stream.read()))

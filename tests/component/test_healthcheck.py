"""`python -m stud_service.healthcheck` against a real health service."""

import asyncio
import sys
from collections.abc import AsyncIterator

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

Status = health_pb2.HealthCheckResponse


@pytest.fixture
async def service() -> AsyncIterator[tuple[str, health.aio.HealthServicer]]:
    server = grpc.aio.server()
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}", servicer
    await server.stop(None)


async def healthcheck(*arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "stud_service.healthcheck", *arguments, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    return process.returncode, said.decode().strip()


async def test_it_says_what_the_service_says(service: tuple[str, health.aio.HealthServicer]):
    address, servicer = service
    await servicer.set("", Status.SERVING)
    assert await healthcheck(address) == (0, "")
    await servicer.set("", Status.NOT_SERVING)
    assert await healthcheck(address) == (1, f"{address}: NOT_SERVING")


async def test_one_service_of_a_server_can_be_asked_for(service: tuple[str, health.aio.HealthServicer]):
    address, servicer = service
    await servicer.set("stud.table.v1.TableService", Status.SERVING)
    assert await healthcheck(address, "stud.table.v1.TableService") == (0, "")
    assert await healthcheck(address, "stud.table.v1.Other") == (1, f"{address}: NOT_FOUND")


async def test_nobody_there_is_unhealthy():
    code, said = await healthcheck("127.0.0.1:1")
    assert code == 1
    assert said.startswith("127.0.0.1:1: ")


@pytest.mark.parametrize("arguments", [(), ("a", "b", "c")])
async def test_it_wants_an_address(arguments: tuple[str, ...]):
    code, said = await healthcheck(*arguments)
    assert code == 2
    assert said.startswith("usage:")

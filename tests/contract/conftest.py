"""The contract runs against every adapter: a test that asks for `world` is run once for each."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog.log import EventLog
from tests.support.eventlogs import MemoryWorld, RedisWorld, World
from tests.support.valkey import session_server, valkey_server  # noqa: F401  (fixtures)


@pytest.fixture(params=["memory", pytest.param("redis_streams", marks=pytest.mark.process)])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server_if_needed(adapter: str, request: pytest.FixtureRequest) -> EmbeddedServer | None:
    if adapter == "memory":
        return None
    server = request.getfixturevalue("valkey_server")
    assert isinstance(server, EmbeddedServer)
    return server


@pytest_asyncio.fixture
async def world(server_if_needed: EmbeddedServer | None) -> AsyncIterator[World]:
    made: World = MemoryWorld() if server_if_needed is None else RedisWorld(server_if_needed.url)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def log(world: World) -> EventLog:
    return await world.open()

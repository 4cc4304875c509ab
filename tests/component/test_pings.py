"""How often clients may ping, and how long they may be silent, against real servers with our options.

In `make test` every time is a part of what it is in service; `make deep` takes the real ones, which last minutes.
"""

import ast
import asyncio
import importlib.util
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from stud_client.calling import CHANNEL_OPTIONS
from stud_service import healthcheck
from stud_service.health import Health
from stud_service.server_options import SERVER_OPTIONS
from tests.support import http2
from tests.support.deep import either
from tests.support.runtime import House, serving, until
from tools.sources import syntax_tree

ROOT = Path(__file__).parents[2]
FASTER = either(40, 1)
"""What times are divided by where pings are counted."""

SOONER = either(20, 1)
"""And where an answer is late, so that a machine that is busy too does not make it later."""

SMALLEST_INTERVAL_S = 5
WATCHED_S = 150
SLEEP_S = 30
"""How long the event loop of a JavaScript client may stand still."""

Options = Sequence[tuple[str, int]]


def scaled(options: Options, by: int) -> Options:
    return [(name, value // by if name.endswith("_ms") else value) for name, value in options]


def renamed(old: str, new: str) -> Options:
    return [(new if name == old else name, value) for name, value in SERVER_OPTIONS]


def changed(**values_ms: int) -> Options:
    return [(name, values_ms.get(name.rpartition(".")[2], value)) for name, value in SERVER_OPTIONS]


def house(options: Options, by: int) -> AbstractAsyncContextManager[House]:
    """A server of ours whose only calls are those of its health; after the first answer a watch brings nothing more."""
    return serving(Health(), options=scaled(options, by), add=health_pb2_grpc.add_HealthServicer_to_server)


# Pings


async def ping(address: str, interval_s: float, count: int, path: str = "") -> str:
    """Pings so often, on a connection without calls or with one, and says how it was cut off, if it was."""
    async with http2.connected(address) as connection:
        if path:
            connection.send(http2.call(path))
        for sent in range(1, count + 1):
            connection.ping()
            # Only then: pings that a busy machine delivers in a bunch would come faster than they were sent.
            await until(partial(connection.has_answered, sent))
            await asyncio.sleep(interval_s / FASTER)
        return connection.cut


@pytest.mark.parametrize("path", ["", "/grpc.health.v1.Health/Watch"])
async def test_clients_may_ping_every_five_seconds(path):
    async with house(SERVER_OPTIONS, FASTER) as ours:
        pings = [ping(ours.address, each_s, max(WATCHED_S // each_s, 14), path) for each_s in (SMALLEST_INTERVAL_S, 12)]
        assert await asyncio.gather(*pings) == ["", ""]


@pytest.mark.parametrize(
    ("options", "interval_s"),
    [
        # What an option that the library does not know comes to.
        (
            renamed(
                "grpc.http2.min_ping_interval_without_data_ms", "grpc.http2.min_recv_ping_interval_without_data_ms"
            ),
            12,
        ),
        (SERVER_OPTIONS, 2),
    ],
)
async def test_pings_that_come_faster_than_allowed_end_the_connection(options, interval_s):
    async with house(options, FASTER) as ours:
        assert await ping(ours.address, interval_s, 13) == "too_many_pings"


async def test_a_channel_of_grpc_stays_connected_while_it_pings():
    """Ours, pinging as often as it may: it would tell nobody that it had been cut off, and connect again."""
    often = {"grpc.keepalive_time_ms": SMALLEST_INTERVAL_S * 1000 // FASTER}
    options = list({**dict(CHANNEL_OPTIONS), **often}.items())
    async with (
        house(SERVER_OPTIONS, FASTER) as ours,
        grpc.aio.insecure_channel(ours.address, options=options) as channel,
    ):
        stub: Any = health_pb2_grpc.HealthStub(channel)
        call = stub.Watch(health_pb2.HealthCheckRequest())
        await asyncio.wait_for(channel.channel_ready(), 10)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(channel.wait_for_state_change(grpc.ChannelConnectivity.READY), WATCHED_S / FASTER)
        assert not call.done()
        call.cancel()


# Silence


async def answer_late(options: Options, late_s: float) -> str:
    """Answers the server's ping so much later, which is the worst moment to fall asleep, and pings in return."""
    async with house(options, SOONER) as ours, http2.connected(ours.address, late_s=late_s / SOONER) as connection:
        await until(connection.pinged.is_set, 60)
        await asyncio.sleep(late_s / SOONER)
        connection.ping()
        await until(partial(connection.has_answered, 1))
        return connection.cut


async def test_a_client_that_slept_keeps_its_connection():
    assert await answer_late(SERVER_OPTIONS, SLEEP_S) == ""


async def test_a_shorter_patience_would_have_cut_it_off():
    impatient = changed(keepalive_timeout_ms=10_000, ping_timeout_ms=10_000)
    assert "timeout" in await answer_late(impatient, SLEEP_S)


async def test_a_client_that_vanished_is_noticed_within_a_minute():
    async with house(SERVER_OPTIONS, SOONER) as ours, http2.connected(ours.address, late_s=3_600) as connection:
        await until(lambda: bool(connection.cut), 60 / SOONER + 10)


# Names


def options_in(text: str) -> set[str]:
    """The channel options that a Python source names."""
    if "grpc." not in text:
        return set()
    strings = {node.value for node in ast.walk(syntax_tree(text)) if isinstance(node, ast.Constant)}
    return {value for value in strings if isinstance(value, str) and re.fullmatch(r"grpc\.[a-z][a-z0-9_.]+", value)}


def unknown(names: Iterable[str]) -> set[str]:
    """Those that the installed library does not have, which it would ignore without a word."""
    spec = importlib.util.find_spec("grpc._cython.cygrpc")
    assert spec is not None
    assert spec.origin is not None
    known = re.findall(rb"grpc\.[a-z0-9_.]+(?=\0)", Path(spec.origin).read_bytes())
    return set(names) - {name.decode() for name in known}


def test_the_library_knows_every_channel_option_that_is_set_anywhere():
    this = Path(__file__).name
    folders = ("libs", "services", "tests", "benches", "tools")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if path.name != this]
    named = set[str]().union(*(options_in(path.read_text()) for path in sources))
    assert {name for name, _ in (*SERVER_OPTIONS, *CHANNEL_OPTIONS, *healthcheck.CHANNEL_OPTIONS)} <= named
    assert unknown(named) == set()


def test_a_name_that_is_not_the_library_s_is_found():
    wrong = "grpc.http2.min_recv_ping_interval_without_data_ms"
    text = f'OPTIONS = [("{wrong}", 1), ("grpc.keepalive_time_ms", 2)]\nMORE = {{"grpc.so_reuse": 0}}'
    assert unknown(options_in(text)) == {wrong, "grpc.so_reuse"}

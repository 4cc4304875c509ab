"""The life of a service process: a real one, a real server for its log, and signals."""

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.ports import Port
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from tests.support import http2
from tests.support.runtime import token
from tests.support.runtime_process import Running, get_table, initialise, log_url, start
from tests.support.scrape import scrape, value_of
from tests.support.valkey import fresh_server, server_with, session_server, valkey_server

__all__ = ["fresh_server", "log_url", "server_with", "session_server", "start", "valkey_server"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(start, log_url, number):
    service = start(log_url)
    service.until_serving()
    assert check(service.address, "stud.table.v1.TableService") is None
    assert get_table(service.address).update.table == "t"
    assert service.stop(number) == 0
    assert service.out.read_bytes() == b""
    assert service.events()[:2] == ["trusted_keys", "listening"]
    assert service.events()[-2:] == ["stopping", "stopped"]
    assert all({"event", "level", "timestamp", "service"} <= line.keys() for line in service.lines())


def test_reflection_names_its_services(start, log_url):
    service = start(log_url)
    service.until_serving()
    with grpc.insecure_channel(service.address) as channel:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        (answer,) = list(stub.ServerReflectionInfo(iter([asked])))
    names = {found.name for found in answer.list_services_response.service}
    assert names == {
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
        "stud.table.v1.TableService",
    }


def test_grpc_is_told_how_to_run_before_it_is_loaded(start, log_url):
    in_time, late = start(log_url), start(log_url, first="import grpc; ")
    in_time.until(lambda: "started" in in_time.events())
    late.until(lambda: "started" in late.events())
    assert "slow_grpc" not in in_time.events()
    assert "slow_grpc" in late.events()
    code = "import stud_service, os, sys; assert 'grpc' not in sys.modules; print(os.environ['GRPC_EXPERIMENTS'])"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    told = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "-event_engine_client,-event_engine_listener"
    set_before = {**environ, "GRPC_EXPERIMENTS": "event_engine_client"}
    told = subprocess.run([sys.executable, "-c", code], env=set_before, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "event_engine_client"


# What keeps it from starting


def cannot_start(service: Running) -> str:
    assert service.end() == 2
    lines = service.lines()
    assert [line["event"] for line in lines if line["level"] == "error"] == ["cannot_start"]
    assert service.out.read_bytes() == b""
    return str(lines[-1]["why"] if lines[-1]["event"] == "cannot_start" else service.line("cannot_start")["why"])


def test_a_port_in_use(start, log_url):
    first = start(log_url)
    first.until_serving()
    assert "STUD_TABLE_LISTEN" in cannot_start(start(log_url, address=first.address))
    assert get_table(first.address).update.table == "t"


def test_a_log_that_was_never_initialised(start, valkey_server):
    assert "stud init" in cannot_start(start(valkey_server.url))


def test_a_server_that_may_lose_commits(start, server_with):
    server = server_with(appendfsync="everysec")
    asyncio.run(initialise_volatile(server.url))
    why = cannot_start(start(server.url))
    assert "appendfsync is everysec" in why
    assert "STUD_ALLOW_VOLATILE" in why
    service = start(server.url, STUD_ALLOW_VOLATILE="1")
    service.until_serving()
    assert service.stop() == 0


def test_a_database_that_the_server_does_not_have(start, valkey_server):
    why = cannot_start(start(f"{valkey_server.url.removesuffix('/0')}/999"))
    assert "STUD_REDIS_URL" in why
    assert "want a database that the server has" in why


async def initialise_volatile(url: str) -> None:
    log = await RedisEventLog.connect(url, allow_volatile=True)
    await log.initialise()
    await log.close()


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"STUD_TABLE_LISTEN": "nowhere"}, "STUD_TABLE_LISTEN"),
        ({"STUD_TABLE_LISTEN": "\udcff:1"}, "STUD_TABLE_LISTEN: want printable text"),
        ({"STUD_TABLE_LISTEN": "foo.invalid:1"}, "foo.invalid cannot be resolved"),
        ({"STUD_TABLE_LISTEN": "192.0.2.1:1"}, "192.0.2.1 is no address of this machine"),
        ({"STUD_BUILD": "\udcff"}, "STUD_BUILD: want printable text"),
        ({"STUD_KEYS_DIR": "a" * 5_000}, "STUD_KEYS_DIR: want at most"),
        (
            {"STUD_REDIS_URL": "redis://127.0.0.1:8200/0?protocol=9"},
            "STUD_REDIS_URL: want nothing after the question mark",
        ),
        ({"STUD_REDIS_URL": "http://x:secret@y"}, "STUD_REDIS_URL"),
        ({"STUD_REDIS_URL": "redis://127.0.0.1:notaport/0"}, "STUD_REDIS_URL"),
        ({"STUD_CURRENCIES": "EUR,euro"}, "STUD_CURRENCIES"),
        ({"STUD_METRICS_PORT": "70000"}, "STUD_METRICS_PORT"),
        ({"STUD_METRICS_HOST": "here"}, "STUD_METRICS_HOST: want an address such as 127.0.0.1"),
        ({"STUD_LOG_LEVEL": "loud"}, "STUD_LOG_LEVEL"),
        ({"STUD_KEYS_DIR": "/nonexistent"}, "STUD_KEYS_DIR"),
        ({"STUD_TEST_FAULT": "no key"}, "down.key"),
    ],
)
def test_settings_that_cannot_be_used(start, log_url, environ, named):
    service = start(log_url, **environ)
    assert named in cannot_start(service)
    assert "secret" not in service.err.read_text()


def test_a_port_for_metrics_that_is_taken(start, log_url):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        why = cannot_start(start(log_url, STUD_METRICS_PORT=str(port)))
        assert f"cannot serve metrics on 127.0.0.1:{port} (Address already in use)" in why
        assert "STUD_METRICS_PORT" in why
    assert "cannot serve metrics on 192.0.2.1" in cannot_start(
        start(log_url, STUD_METRICS_PORT="7111", STUD_METRICS_HOST="192.0.2.1")
    )


async def test_a_token_that_lives_longer_than_the_setting_is_refused_by_calls_and_streams(start, log_url_async):
    service = start(log_url_async, STUD_TOKEN_MAX_LIFE_S="3600")
    await asyncio.to_thread(service.until_serving)
    assert get_table(service.address, token(ttl_s=3600)).update.table == "t"
    metadata = (("authorization", f"Bearer {token(ttl_s=3700)}"),)
    async with grpc.aio.insecure_channel(service.address) as channel:
        stub = rpc.TableServiceStub(channel)
        asked = stub.GetTable(pb.GetTableRequest(table="t"), metadata=metadata)
        watched = stub.Watch(pb.WatchRequest(), metadata=metadata)
        for call in (asked, watched):
            assert await call.code() is grpc.StatusCode.UNAUTHENTICATED
            assert "want at most 3600 s from its issue" in await call.details()


def test_an_unknown_flag_and_help(start, log_url):
    unknown = start(log_url, "--nonsense")
    assert unknown.end() == 2
    service = start(log_url, "--help")
    assert service.end() == 0
    assert "STUD_REDIS_URL" in service.out.read_text()


# While it runs


@contextmanager
def running_server(data_dir: Path, port: int) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(data_dir, port=port, environ={"PATH": os.environ.get("PATH", "")})
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


def test_it_waits_for_a_server_that_comes_later(start, tmp_path):
    port, metrics = Port(), Port()
    service = start(f"redis://{port.address}/0", STUD_METRICS_PORT=str(metrics.number))
    service.until(lambda: "waiting_for_log" in service.events())
    told = scrape(metrics.address)
    assert (value_of(told, "stud_serving"), value_of(told, "stud_log_available")) == (0, 0)
    with running_server(tmp_path / "late", port=port.number) as server:
        asyncio.run(initialise(server.url))
        service.until(lambda: service.process.poll() is not None or check(service.address) is None)
        if service.process.poll() is not None:  # it found the server before the mark was there
            assert service.process.returncode == 2
            service = start(server.url)
            service.until_serving()
        assert service.stop() == 0


def test_told_to_stop_while_it_waits(start):
    nowhere = Port()
    service = start(f"redis://{nowhere.address}/0")
    service.until(lambda: "waiting_for_log" in service.events())
    assert service.stop() == 0


def test_health_follows_the_log(start, fresh_server):
    asyncio.run(initialise(fresh_server.url))
    service = start(fresh_server.url)
    service.until_serving()
    asyncio.run(fresh_server.kill())
    service.until(lambda: check(service.address) == f"{service.address}: NOT_SERVING")
    with pytest.raises(grpc.RpcError) as caught:
        get_table(service.address)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    asyncio.run(fresh_server.start())
    service.until_serving()
    assert get_table(service.address).update.table == "t"
    assert service.stop() == 0


def test_a_log_that_lost_its_mark_is_told_about(start, fresh_server):
    from tests.support.valkey import command

    asyncio.run(initialise(fresh_server.url))
    service = start(fresh_server.url)
    service.until_serving()
    asyncio.run(command(fresh_server.url, "DEL", "stud:initialised"))
    service.until(lambda: "log_lost_its_mark" in service.events())
    service.until(lambda: check(service.address) is not None)
    assert service.stop() == 0


@pytest.mark.parametrize("fault", ["task", "task while starting"])
def test_a_crashed_task_ends_the_service(start, log_url, fault):
    """Also one whose start waits for something: of what was to be started a part is lost already."""
    service = start(log_url, STUD_TEST_FAULT=fault)
    assert service.end() == 1
    crash = service.line("task_crashed")
    assert crash["task"] == "shaky task"
    assert "locals" not in json.dumps(crash["exception"])


def test_a_start_that_fails(start, log_url):
    service = start(log_url, STUD_TEST_FAULT="start")
    assert service.end() == 1
    assert "started" not in service.events()


def test_calls_are_refused_until_it_has_started(start, log_url):
    service = start(log_url, STUD_TEST_FAULT="slow start")
    service.until(lambda: check(service.address) == f"{service.address}: NOT_SERVING")
    with pytest.raises(grpc.RpcError) as caught:
        get_table(service.address)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert service.stop() == 0


async def watch_and_take_no_bytes(address: str) -> None:
    """The settings say that the window is 0. Else it is polite: the server has no reason to end the connection."""
    no_window = struct.pack(">HI", 4, 0)
    async with http2.connected(address, settings=no_window) as connection:
        connection.send(http2.call("/grpc.health.v1.Health/Watch"))
        await asyncio.Event().wait()


async def test_a_watcher_who_takes_no_bytes_keeps_neither_the_status_nor_the_end_from_coming(start, fresh_server):
    await initialise(fresh_server.url)
    service = start(fresh_server.url, STUD_STOP_GRACE_MS="200")
    await asyncio.to_thread(service.until_serving)
    watching = asyncio.create_task(watch_and_take_no_bytes(service.address))
    await asyncio.sleep(0.5)
    await fresh_server.kill()
    gone = f"{service.address}: NOT_SERVING"
    await asyncio.to_thread(service.until, lambda: check(service.address) == gone)
    assert await asyncio.to_thread(service.stop) == 0
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


# Stopping


async def open_stream(address: str) -> tuple[grpc.aio.Channel, Any]:
    channel = grpc.aio.insecure_channel(address)
    call = rpc.TableServiceStub(channel).Watch(pb.WatchRequest(), metadata=(("authorization", f"Bearer {token()}"),))
    await call.read()
    return channel, call


async def test_streams_end_in_order_when_it_stops(start, log_url_async):
    service = start(log_url_async, STUD_STOP_GRACE_MS="60000")
    await asyncio.to_thread(service.until_serving)
    channel, call = await open_stream(service.address)
    began = time.monotonic()
    assert await asyncio.to_thread(service.stop) == 0
    assert time.monotonic() - began < 50  # less than the grace: nothing had to be cut off
    assert await call.code() is grpc.StatusCode.OK
    await channel.close()


@pytest.fixture
async def log_url_async(session_server):
    from tests.support.valkey import command

    await command(session_server.url, "FLUSHALL")
    await initialise(session_server.url)
    return session_server.url


@pytest.mark.parametrize("fault", ["stream hangs", "slow stop"])
async def test_what_hangs_is_cut_off_after_the_grace(start, log_url_async, fault):
    service = start(log_url_async, STUD_TEST_FAULT=fault, STUD_STOP_GRACE_MS="200")
    await asyncio.to_thread(service.until_serving)
    channel, call = await open_stream(service.address)
    assert await asyncio.to_thread(service.stop) == 0
    await call.code()
    await channel.close()


def test_a_stop_that_fails_is_told_and_does_not_hang(start, log_url):
    service = start(log_url, STUD_TEST_FAULT="stop")
    service.until_serving()
    assert service.stop() == 1
    assert {"stop_failed", "stopped"} <= set(service.events())


async def test_watchers_of_its_health_hear_of_the_end(start, log_url_async):
    service = start(log_url_async, STUD_STOP_GRACE_MS="60000")
    await asyncio.to_thread(service.until_serving)
    async with grpc.aio.insecure_channel(service.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        strange = stub.Watch(health_pb2.HealthCheckRequest(service="nobody"))
        assert (await strange.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        service.process.send_signal(signal.SIGTERM)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert await watch.read() is grpc.aio.EOF  # his stream ends too: the stop waits for no watcher
        assert await strange.read() is grpc.aio.EOF
        assert await asyncio.to_thread(service.end) == 0

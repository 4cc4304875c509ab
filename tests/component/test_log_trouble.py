"""A real server that refuses, or may lose what it takes: noticed within five seconds, told, and over again."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.trouble import Trouble
from stud_service.healthcheck import check
from tests.support.runtime_process import Running, get_table, initialise, start
from tests.support.valkey import command, fresh_server, session_server

__all__ = ["fresh_server", "session_server", "start"]

NOTICED_S = 5.0
CASES: dict[str, tuple[list[tuple[str, ...]], list[tuple[str, ...]]]] = {
    "LOG_READONLY": ([("REPLICAOF", "127.0.0.1", "1")], [("REPLICAOF", "NO", "ONE")]),
    "LOG_OUT_OF_MEMORY": ([("CONFIG", "SET", "maxmemory", "1")], [("CONFIG", "SET", "maxmemory", "0")]),
    "LOG_NO_REPLICAS": (
        [("CONFIG", "SET", "min-replicas-to-write", "1")],
        [("CONFIG", "SET", "min-replicas-to-write", "0")],
    ),
    "LOG_VOLATILE": ([("CONFIG", "SET", "appendonly", "no")], [("CONFIG", "SET", "appendonly", "yes")]),
    "LOG_VOLATILE fsync": (
        [("CONFIG", "SET", "appendfsync", "everysec")],
        [("CONFIG", "SET", "appendfsync", "always")],
    ),
    "LOG_VOLATILE eviction": (
        [("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")],
        [("CONFIG", "SET", "maxmemory-policy", "noeviction")],
    ),
}
REWRITE = "no-appendfsync-on-rewrite"
CASES["LOG_VOLATILE rewrite"] = ([("CONFIG", "SET", REWRITE, "yes")], [("CONFIG", "SET", REWRITE, "no")])
PERMITTED = ("xadd", "evalsha", "xinfo", "xrange", "xread", "type", "set", "get", "hset", "config|get", "info")
"""What a service needs of the server, and an access list may take away while it runs."""

CASES |= {
    f"LOG_NOT_PERMITTED {name}": ([("ACL", "SETUSER", "default", f"-{name}")], [("ACL", "SETUSER", "default", "+@all")])
    for name in PERMITTED
}
CASES["LOG_NOT_PERMITTED keys"] = (
    [("ACL", "SETUSER", "default", "resetkeys", "%R~*", "~{s00}:cursor:*")],
    [("ACL", "SETUSER", "default", "allkeys")],
)
REFUSES_NOTHING = ("LOG_VOLATILE", "LOG_NOT_PERMITTED config|get", "LOG_NOT_PERMITTED info")
EACH = pytest.mark.parametrize("case", CASES)
FEW = pytest.mark.parametrize("case", [case for case in CASES if case.partition(" ")[2] not in PERMITTED[3:]])


async def send(url: str, commands: list[tuple[str, ...]]) -> None:
    for words in commands:
        await command(url, *words)


@EACH
def test_the_log_says_what_is_wrong_and_what_helps(fresh_server: EmbeddedServer, case: str) -> None:
    async def run() -> list[Trouble | None]:
        log = await RedisEventLog.connect(fresh_server.url)
        found = [await log.trouble("table")]
        for commands in CASES[case]:
            await send(fresh_server.url, commands)
            found.append(await log.trouble("table"))
        await log.close()
        return found

    before, during, after = asyncio.run(run())
    assert (before, after) == (None, None)
    assert during is not None
    assert during.code == case.split(maxsplit=1)[0]
    assert (during.refuses, during.serving) == (not case.startswith(REFUSES_NOTHING), False)
    assert during.why
    assert during.help


def test_a_server_that_may_be_volatile_is_not_told_for_it(fresh_server: EmbeddedServer) -> None:
    async def run() -> Trouble | None:
        log = await RedisEventLog.connect(fresh_server.url, allow_volatile=True)
        await send(fresh_server.url, CASES["LOG_VOLATILE"][0])
        found = await log.trouble("table")
        await log.close()
        return found

    assert asyncio.run(run()) is None


def test_memory_that_is_nearly_used_up_is_told_and_is_no_reason_to_go_elsewhere(fresh_server: EmbeddedServer) -> None:
    async def run() -> Trouble | None:
        url = fresh_server.url
        log = await RedisEventLog.connect(url)
        info: Any = await command(url, "INFO", "memory")
        await send(url, [("CONFIG", "SET", "maxmemory", str(int(info["used_memory"] * 1.1)))])
        found = await log.trouble("table")
        await log.close()
        return found

    found = asyncio.run(run())
    assert found is not None
    assert (found.code, found.refuses, found.serving) == ("LOG_MEMORY", False, True)


@FEW
def test_a_service_tells_its_health_and_a_critical_line_and_still_answers(
    fresh_server: EmbeddedServer, start: Callable[..., Running], case: str
) -> None:
    asyncio.run(initialise(fresh_server.url))
    running = start(fresh_server.url)
    running.until_serving()
    asyncio.run(send(fresh_server.url, CASES[case][0]))
    began = time.monotonic()
    running.until(lambda: check(running.address) is not None)
    assert time.monotonic() - began < NOTICED_S + 2.0  # a loaded machine is given a little more
    code = case.split(maxsplit=1)[0]
    # One that was told before may be of a look that saw half of what was changed.
    running.until(lambda: any(line.get("code") == code for line in running.lines()))
    line: dict[str, Any] = next(line for line in running.lines() if line.get("code") == code)
    assert (line["level"], line["event"]) == ("critical", "log_trouble")
    assert line["why"]
    assert line["help"]
    get_table(running.address)  # what only looks is served
    asyncio.run(send(fresh_server.url, CASES[case][1]))
    running.until_serving()
    assert running.stop() == 0


def test_a_log_that_was_emptied_and_initialised_again_is_behind(
    fresh_server: EmbeddedServer, start: Callable[..., Running]
) -> None:
    """Both happen between two looks at it: the service must not take it for the log that it knew."""
    asyncio.run(initialise(fresh_server.url))
    running = start(fresh_server.url)
    running.until_serving()

    async def emptied() -> None:
        await send(fresh_server.url, [("FLUSHALL",)])
        await initialise(fresh_server.url)

    asyncio.run(emptied())
    running.until(lambda: check(running.address) is not None)
    running.until(lambda: "log_trouble" in running.events())
    assert running.line("log_trouble")["code"] == "LOG_BEHIND"
    with pytest.raises(grpc.RpcError) as refused:
        get_table(running.address)
    assert "not the one that was acknowledged" in str(refused.value)
    assert running.stop() == 0

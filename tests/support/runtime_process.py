"""The small service of runtime_app as a process, and what its tests ask of it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.ports import Port
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from stud_service.tls import for_clients
from tests.support.runtime import token, write_keys

ROOT = Path(__file__).parents[2]


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    address: str
    out: Path
    err: Path
    tls: dict[str, str]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.err.read_text().splitlines()]

    def events(self) -> list[str]:
        return [line["event"] for line in self.lines()]

    def line(self, event: str) -> dict[str, Any]:
        """The first of this event; what has happened may be told a moment later."""
        self.until(lambda: event in self.events() or self.process.poll() is not None)
        return next(line for line in self.lines() if line["event"] == event)

    def until(self, what: Callable[[], bool], timeout_s: float = 20) -> None:
        deadline = time.monotonic() + timeout_s
        while not what():
            assert time.monotonic() < deadline, self.err.read_text()
            time.sleep(0.02)

    def until_serving(self) -> None:
        self.until(lambda: check(self.address, tls=self.tls) is None)

    def end(self, timeout_s: float = 20) -> int:
        return self.process.wait(timeout_s)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.end()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """A function that starts the small service: start(url, *flags, STUD_X="…"). `stderr`: a file or descriptor."""
    keys_dir = write_keys(tmp_path / "keys")
    started: list[Running] = []
    held: list[Port] = []

    def begin(
        url: str,
        *flags: str,
        address: str = "",
        first: str = "import stud_service; ",
        stderr: Path | int | None = None,
        **environ: str,
    ) -> Running:
        held.append(Port())
        address = address or held[-1].address
        out, err = tmp_path / f"out-{len(started)}", tmp_path / f"err-{len(started)}"
        known = {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "GRPC_"))}
        environ = {"STUD_REDIS_URL": url, "STUD_KEYS_DIR": str(keys_dir), "STUD_TABLE_LISTEN": address, **environ}
        environ.setdefault("STUD_METRICS_PORT", "0")  # many run side by side
        environ.setdefault("STUD_CALLS_BURST", "100000")  # tests ask until it is so
        err = stderr if isinstance(stderr, Path) else err
        with out.open("wb") as stdout, err.open("ab") as sink:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    f"{first}import runpy; runpy.run_module('tests.support.runtime_app', None, '__main__')",
                    *flags,
                ],
                cwd=ROOT,
                env={**known, **environ},
                stdout=stdout,
                stderr=stderr if isinstance(stderr, int) else sink,
            )
        started.append(Running(process, address, out, err, for_clients(environ)))
        return started[-1]

    yield begin
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@pytest.fixture
def log_url(valkey_server: EmbeddedServer) -> str:
    asyncio.run(initialise(valkey_server.url))
    return valkey_server.url


async def initialise(url: str) -> None:
    log = await RedisEventLog.connect(url)
    await log.initialise()
    await log.close()


def get_table(address: str, by: str = "", **kwargs: Any) -> pb.GetTableResponse:
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(
            "/stud.table.v1.TableService/GetTable",
            request_serializer=pb.GetTableRequest.SerializeToString,
            response_deserializer=pb.GetTableResponse.FromString,
        )
        metadata = (("authorization", f"Bearer {by or token()}"),)
        answer: pb.GetTableResponse = call(pb.GetTableRequest(table="t"), metadata=metadata, timeout=5, **kwargs)
        return answer

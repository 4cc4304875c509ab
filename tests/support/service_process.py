"""A real service: `python -m NAME_service` on a real server, with keys of its own. Its three kinds of tests add what
they say and hear.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import grpc

from stud_cli.local.ports import Port
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from stud_service.keyring import ensure_dev_keys
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
Stub = TypeVar("Stub")


class ServiceProcess(Generic[Stub]):
    """Keeps its keys, address and standard error over restarts."""

    name: ClassVar[str]
    environ: ClassVar[dict[str, str]] = {"STUD_LOG_LEVEL": "debug"}

    def __init__(self, url: str, folder: Path, log: RedisEventLog, stub: Callable[[grpc.aio.Channel], Stub]) -> None:
        self.url = url
        self.log = log
        self.stub = stub
        self.keys_dir = folder / "keys"
        self.stderr = folder / "stderr"
        self.port = Port()
        self.address = self.port.address
        self.process: asyncio.subprocess.Process | None = None
        ensure_dev_keys(self.keys_dir)

    async def start(self, *flags: str, ready: bool = True) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "GRPC_"))}
        environ |= {"STUD_REDIS_URL": self.url, "STUD_KEYS_DIR": str(self.keys_dir), "STUD_METRICS_PORT": "0"}
        environ |= self.environ
        with self.stderr.open("ab") as stderr:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", f"{self.name}_service", "--listen", self.address, *flags),
                cwd=ROOT,
                env=environ,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
            )
        if ready:
            await until(self.is_serving, f"serving: {self.stderr.read_text()[-2000:]}")

    async def is_serving(self) -> bool:
        assert self.process is not None
        assert self.process.returncode is None, self.stderr.read_text()
        return await asyncio.to_thread(check, self.address) is None

    async def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await self.process.wait()

    async def kill(self) -> None:
        await self.end(signal.SIGKILL)

    def lines(self) -> list[dict[str, Any]]:
        whole, _, _ = self.stderr.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    @contextlib.asynccontextmanager
    async def calling(self) -> AsyncIterator[Stub]:
        async with grpc.aio.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            yield self.stub(channel)

    def who(self, *roles: str, account: str = "someone") -> tuple[tuple[str, str], ...]:
        """Metadata of a caller with these roles."""
        return (("authorization", f"Bearer {mint(account, roles, 60, load_private_key(self.keys_dir))}"),)


Process = TypeVar("Process", bound=ServiceProcess[Any])


@contextlib.asynccontextmanager
async def process_of(
    kind: Callable[[str, Path, RedisEventLog], Process], url: str, folder: Path
) -> AsyncIterator[Process]:
    """A process that was not started yet, and a log of our own, initialised."""
    folder.mkdir(exist_ok=True)
    log = await RedisEventLog.connect(url)
    await log.initialise()
    service = kind(url, folder, log)
    try:
        yield service
    finally:
        if service.process is not None and service.process.returncode is None:
            await service.kill()
        await log.close()

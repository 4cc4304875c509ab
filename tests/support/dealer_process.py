"""A real dealer: `python -m dealer_service` on a real server, with keys of its own."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc

from stud.dealer.v1 import dealer_service_pb2_grpc as rpc
from stud_cli.local.ports import Port
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from stud_service.keyring import FOLDERS, KeyRing, ensure_dev_keys
from stud_service.tokens import load_private_key, mint

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0


async def until(what: Callable[[], Awaitable[Any]], why: str) -> Any:
    """Ask until the answer is true; returns it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while not (answer := await what()):  # noqa: ASYNC110  (another process cannot tell us)
                await asyncio.sleep(0.01)
            return answer
    raise AssertionError(f"it did not come about: {why}")


class DealerProcess:
    """Keeps its keys, address and standard error over restarts."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.keys_dir = folder / "keys"
        self.stderr = folder / "stderr"
        self.port = Port()
        self.address = self.port.address
        self.process: asyncio.subprocess.Process | None = None
        ensure_dev_keys(self.keys_dir)

    @property
    def ring(self) -> KeyRing:
        return KeyRing.load(self.keys_dir, *FOLDERS)

    async def start(self, *flags: str, ready: bool = True) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "GRPC_"))}
        environ |= {"STUD_REDIS_URL": self.url, "STUD_KEYS_DIR": str(self.keys_dir), "STUD_LOG_LEVEL": "debug"}
        with self.stderr.open("ab") as stderr:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "dealer_service", "--listen", self.address, *flags),
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
    async def calling(self) -> AsyncIterator[rpc.DealerServiceStub]:
        async with grpc.aio.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            yield rpc.DealerServiceStub(channel)

    def who(self, *roles: str, account: str = "someone") -> tuple[tuple[str, str], ...]:
        """Metadata of a caller with these roles."""
        return (("authorization", f"Bearer {mint(account, roles, 60, load_private_key(self.keys_dir))}"),)


@contextlib.asynccontextmanager
async def dealing(url: str, folder: Path) -> AsyncIterator[tuple[DealerProcess, RedisEventLog]]:
    """A process that was not started yet, and a log of our own, initialised."""
    folder.mkdir(exist_ok=True)
    log = await RedisEventLog.connect(url)
    await log.initialise()
    dealer = DealerProcess(url, folder)
    try:
        yield dealer, log
    finally:
        if dealer.process is not None and dealer.process.returncode is None:
            await dealer.kill()
        await log.close()

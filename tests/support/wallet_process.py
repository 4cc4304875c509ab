"""A real wallet: `python -m wallet_service` on a real server, with keys of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import grpc

from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_cli.local.ports import Port
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from stud_service.keyring import ensure_dev_keys
from stud_service.tokens import load_private_key, mint
from tests.support.wallet import until

ROOT = Path(__file__).parents[2]


class WalletProcess:
    """Keeps its keys, address and standard error over restarts."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.keys_dir = folder / "keys"
        self.stderr = folder / "stderr"
        self.port = Port()
        self.address = self.port.address
        self.process: asyncio.subprocess.Process | None = None
        ensure_dev_keys(self.keys_dir)

    async def start(self, *flags: str) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "GRPC_"))}
        environ |= {"STUD_REDIS_URL": self.url, "STUD_KEYS_DIR": str(self.keys_dir), "STUD_CURRENCIES": "EUR,XTS"}
        with self.stderr.open("ab") as stderr:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "wallet_service", "--listen", self.address, *flags),
                cwd=ROOT,
                env=environ,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
            )
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

    @contextlib.asynccontextmanager
    async def calling(self) -> AsyncIterator[rpc.WalletServiceStub]:
        async with grpc.aio.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            yield rpc.WalletServiceStub(channel)

    def who(self, *roles: str, account: str = "someone") -> tuple[tuple[str, str], ...]:
        """Metadata of a caller with these roles."""
        return (("authorization", f"Bearer {mint(account, roles, 60, load_private_key(self.keys_dir))}"),)


@contextlib.asynccontextmanager
async def banking(url: str, folder: Path) -> AsyncIterator[tuple[WalletProcess, RedisEventLog]]:
    """A process that was not started yet, and a log of our own, initialised."""
    folder.mkdir(exist_ok=True)
    log = await RedisEventLog.connect(url)
    await log.initialise()
    wallet = WalletProcess(url, folder)
    try:
        yield wallet, log
    finally:
        if wallet.process is not None and wallet.process.returncode is None:
            await wallet.kill()
        await log.close()

"""A real referee: `python -m rules_service` on a real server, for tables that a rig plays."""

from __future__ import annotations

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

from stud.rules.v1 import rules_service_pb2_grpc as rpc
from stud_cli.local.ports import Port
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from stud_service.keyring import ensure_dev_keys
from stud_service.tokens import load_private_key, mint
from stud_wire.commits import decode_commit
from tests.support.referee_hands import REFEREE_KEY, Rig, config_of

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


class RulesProcess:
    """Keeps its keys, address and standard error over restarts."""

    def __init__(self, url: str, folder: Path, log: RedisEventLog) -> None:
        self.url = url
        self.log = log
        self.keys_dir = folder / "keys"
        self.stderr = folder / "stderr"
        self.port = Port()
        self.address = self.port.address
        self.process: asyncio.subprocess.Process | None = None
        self.keys_dir.mkdir(parents=True)
        self.give_key(bytes(REFEREE_KEY))
        ensure_dev_keys(self.keys_dir)

    def give_key(self, key: bytes) -> None:
        (self.keys_dir / "referee.key").write_bytes(key)

    async def start(self) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "GRPC_"))}
        environ |= {"STUD_REDIS_URL": self.url, "STUD_KEYS_DIR": str(self.keys_dir), "STUD_LOG_LEVEL": "debug"}
        with self.stderr.open("ab") as stderr:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "rules_service", "--listen", self.address),
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

    def lines(self) -> list[dict[str, Any]]:
        whole, _, _ = self.stderr.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    @contextlib.asynccontextmanager
    async def calling(self) -> AsyncIterator[rpc.RulesServiceStub]:
        async with grpc.aio.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            yield rpc.RulesServiceStub(channel)

    def who(self, *roles: str, account: str = "someone") -> tuple[tuple[str, str], ...]:
        """Metadata of a caller with these roles."""
        return (("authorization", f"Bearer {mint(account, roles, 60, load_private_key(self.keys_dir))}"),)

    # --- tables ------------------------------------------------------------------------------------------------------

    async def table(self, table_id: str, seed: int = 0) -> Rig:
        """A table with three players."""
        rig = Rig(self.log, config_of(table_id=table_id), seed)
        await rig.open((10_000, 10_000, 10_000))
        return rig

    async def verdicts(self, table_id: str) -> list[tuple[int, Any]]:
        """What the referee's log holds about a table, with versions."""
        stream = keys.verdicts(keys.shard_of(table_id))
        found = []
        async for commit in self.log.read_all(stream):
            found += [(commit.version, e) for e in decode_commit(commit.body).events if e.table == table_id]
        return found

    async def verdict(self, rig: Rig) -> tuple[int, Any]:
        """Wait for the verdict on the table's last hand."""

        async def there() -> tuple[int, Any] | None:
            found = await self.verdicts(rig.config.table_id)
            return found[-1] if found and found[-1][1].hand_no == rig.state.ended_hand else None

        answer: tuple[int, Any] = await until(there, f"a verdict: {self.stderr.read_text()[-3000:]}")
        return answer


@contextlib.asynccontextmanager
async def judging(url: str, folder: Path) -> AsyncIterator[RulesProcess]:
    """A process that was not started yet, and a log of our own, initialised."""
    folder.mkdir(exist_ok=True)
    log = await RedisEventLog.connect(url)
    await log.initialise()
    referee = RulesProcess(url, folder, log)
    try:
        yield referee
    finally:
        if referee.process is not None and referee.process.returncode is None:
            await referee.kill()
        await log.close()

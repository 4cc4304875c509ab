"""A real referee on a real server, for tables that a rig plays."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from stud.rules.v1 import rules_service_pb2_grpc as rpc
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_wire.commits import decode_commit
from tests.support.referee_hands import REFEREE_KEY, Rig, config_of
from tests.support.service_process import ServiceProcess, process_of
from tests.support.waiting import until


class RulesProcess(ServiceProcess[rpc.RulesServiceStub]):
    name = "rules"

    def __init__(self, url: str, folder: Path, log: RedisEventLog) -> None:
        super().__init__(url, folder, log, rpc.RulesServiceStub)
        self.give_key(bytes(REFEREE_KEY))

    def give_key(self, key: bytes) -> None:
        (self.keys_dir / "referee.key").write_bytes(key)

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
    async with process_of(RulesProcess, url, folder) as referee:
        yield referee

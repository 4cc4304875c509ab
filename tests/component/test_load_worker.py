"""A driver in a process of its own that waits for the others: it ends when it is told to, and when nobody is left."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from stud_cli.load.worker import INTERRUPTED, Job, Message
from stud_load import LoadPlan
from stud_service.keyring import ensure_dev_keys
from tests.support.load_house import open_house

WAITS_S = 20
"""For what takes a moment; a driver that is held up takes half a minute."""


@asynccontextmanager
async def seated(keys_dir: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A driver whose players sit, and who has not been told to begin."""
    ensure_dev_keys(keys_dir)
    plan = LoadPlan(tables=1, players=2, seconds=1.0, ramp_s=0.1, warm_s=0.1, channels=1)
    async with open_house() as target:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "stud_cli.load.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            job = Job(plan, "driver 1", dict(target.endpoints), str(keys_dir), {})
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            while not (message := msgspec.json.decode(await process.stdout.readline(), type=Message)).seated:
                assert not message.failed
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def test_a_driver_that_waits_to_begin_stops_at_once(tmp_path: Path):
    async with seated(tmp_path) as process, asyncio.timeout(WAITS_S):
        process.terminate()
        assert await process.wait() == INTERRUPTED


async def test_a_driver_that_waits_for_nobody_says_so(tmp_path: Path):
    async with seated(tmp_path) as process, asyncio.timeout(WAITS_S):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        said = [msgspec.json.decode(line, type=Message).failed async for line in process.stdout]
        assert said[-1] == "whoever started this is gone"
        assert await process.wait() == 2

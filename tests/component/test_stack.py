"""The system as one: what cannot be started is said, stops what was started, and what dies is reported once."""

import asyncio
from pathlib import Path

import pytest

from stud_cli.stack import Stack, StackError
from tests.support.kit import until

pytestmark = pytest.mark.xdist_group("system")


async def test_a_service_that_ends_at_its_start_is_told_with_the_end_of_its_log(tmp_path: Path):
    stack = Stack(tmp_path, environ={"STUD_CURRENCIES": "no currency"})
    with pytest.raises(StackError, match=r"wallet ended with \d+ at start: .*currenc"):
        async with stack:
            raise AssertionError("it must not be ready")
    assert not stack.server.running
    assert stack.processes == {}


async def test_a_directory_that_another_server_uses_is_refused(tmp_path: Path):
    first, second = Stack(tmp_path), Stack(tmp_path)
    await first.server.start()
    try:
        with pytest.raises(StackError, match="the log's server: "):
            await second.start()
    finally:
        await second.stop()
        await first.stop()


async def test_the_end_of_the_logs_server_is_reported_once(tmp_path: Path):
    told: list[str] = []
    stack = Stack(tmp_path, report=told.append)
    await stack.server.start()
    watcher = asyncio.create_task(stack.watch())
    try:
        await stack.server.kill()
        await until(lambda: bool(told))
    finally:
        await stack.stop()
    await asyncio.wait_for(watcher, 10)
    assert told == ["the log's server died; services wait for it"]

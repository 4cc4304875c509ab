"""The system as one: what cannot be started is said, stops what was started, and what dies is reported once."""

import asyncio
from pathlib import Path

import pytest

from stud_cli.stack import Stack, StackError
from tests.support.kit import until
from tests.support.valkey import command

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


async def test_a_torn_file_is_told_with_its_way_out(tmp_path: Path):
    stack = Stack(tmp_path)
    await stack.server.start()
    await command(stack.server.url, "SET", "key", "value")
    await stack.server.stop()
    (file,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(StackError, match=f"`stud up --data {tmp_path} --cut-torn-tail` keeps a copy"):
        await stack.start()
    assert not stack.server.running


async def test_where_the_log_is_gone_no_empty_one_takes_its_place(tmp_path: Path):
    (tmp_path / "initialised").touch()
    kept = tmp_path / "redis" / "appendonlydir" / "appendonly.aof.1.base.rdb"
    kept.parent.mkdir(parents=True)
    kept.write_text("of the lost log")
    with pytest.raises(StackError, match=r"is gone: put .*appendonlydir back from a copy"):
        await Stack(tmp_path).start()
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    assert kept.read_text() == "of the lost log"


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

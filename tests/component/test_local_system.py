"""The system as one: what cannot be started is said, stops what was started, and what dies is reported once."""

import asyncio
import io
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from rich.console import Console

from stud_cli.local.supervisor import keep
from stud_cli.local.system import LocalSystem, LocalSystemError, last_lines
from tests.support.runtime import until
from tests.support.valkey import command


async def test_a_service_that_ends_at_its_start_is_told_with_the_end_of_its_log(tmp_path: Path):
    stack = LocalSystem(tmp_path, environ={"STUD_CURRENCIES": "no currency"})
    with pytest.raises(LocalSystemError, match=r"(wallet|dealer|rules|table) ended with \d+ at start: .*currenc"):
        async with stack:
            raise AssertionError("it must not be ready")
    assert not stack.server.running
    assert stack.processes == {}


async def test_a_directory_that_another_server_uses_is_refused(tmp_path: Path):
    first, second = LocalSystem(tmp_path), LocalSystem(tmp_path)
    await first.server.start()
    try:
        with pytest.raises(LocalSystemError, match="the log's server: "):
            await second.start()
    finally:
        await second.stop()
        await first.stop()


async def test_a_torn_file_is_told_with_its_way_out(tmp_path: Path):
    stack = LocalSystem(tmp_path)
    await stack.server.start()
    await command(stack.server.url, "SET", "key", "value")
    await stack.server.stop()
    (file,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(LocalSystemError, match=f"`stud up --data {tmp_path} --cut-torn-tail` keeps a copy"):
        await stack.start()
    assert not stack.server.running


async def test_where_the_log_is_gone_no_empty_one_takes_its_place(tmp_path: Path):
    (tmp_path / "initialised").touch()
    kept = tmp_path / "redis" / "appendonlydir" / "appendonly.aof.1.base.rdb"
    kept.parent.mkdir(parents=True)
    kept.write_text("of the lost log")
    with pytest.raises(LocalSystemError, match=r"is gone: put .*appendonlydir back from a copy"):
        await LocalSystem(tmp_path).start()
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    assert kept.read_text() == "of the lost log"


class SlowWallet(LocalSystem):
    """A stack whose wallet takes long to start, told by its environment how."""

    def _module(self, name: str) -> str:
        return "tests.support.system_slow" if name == "wallet" else super()._module(name)


SILENT_S = 8.0
"""Long enough for Python to start beside other tests."""


async def test_a_start_takes_as_long_as_it_gets_on_and_shows_it(tmp_path: Path):
    said = io.StringIO()
    environ = {"STUD_TEST_SLOW_S": "12", "PYTHONPATH": os.pathsep.join(sys.path), "STUD_LOG_LEVEL": "error"}
    stack = SlowWallet(tmp_path, environ=environ, console=Console(file=said))
    stack.silent_s = SILENT_S
    async with stack:
        assert len(stack.processes) == 4
    assert re.search(r"wallet   reads its log: [1-9]\d* commits \(\d+ s\)", said.getvalue())


async def test_a_start_that_gets_on_no_more_is_given_up(tmp_path: Path):
    environ = {"STUD_TEST_SILENT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    stack = SlowWallet(tmp_path, environ=environ)
    stack.silent_s = SILENT_S
    with pytest.raises(
        LocalSystemError, match=r"(?s)wallet is not healthy and has made no progress for 8 s .*NOT_SERVING, 1 c.*"
    ):
        await stack.__aenter__()
    assert not stack.server.running
    assert stack.processes == {}


async def test_a_start_does_not_blame_a_service_for_the_end_of_the_logs_server(tmp_path: Path):
    environ = {"STUD_TEST_SILENT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    stack = SlowWallet(tmp_path, environ=environ)
    starting = asyncio.create_task(stack.start())
    await until(lambda: bool(stack.processes))
    assert stack.server.pid is not None
    os.kill(stack.server.pid, signal.SIGKILL)
    with pytest.raises(LocalSystemError, match="the log's server died: the server ended with -9"):
        await starting
    await stack.stop()


async def test_a_stop_is_no_death(tmp_path: Path):
    told: list[str] = []
    stack = LocalSystem(tmp_path, report=told.append)
    await stack.server.start()
    keeper = asyncio.create_task(keep(stack))
    await asyncio.sleep(0)
    await stack.stop()
    await asyncio.wait_for(keeper, 10)
    assert told == []


def test_the_end_of_a_log_is_read_and_not_all_of_it(tmp_path: Path):
    large, device, pipe = tmp_path / "large", tmp_path / "device", tmp_path / "pipe"
    with large.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write("\n".join(["", *(f"line {number}" for number in range(7))]).encode())
    device.symlink_to("/dev/full")
    os.mkfifo(pipe)
    assert last_lines(large) == [f"line {number}" for number in range(2, 7)]
    assert [last_lines(path) for path in (device, pipe, tmp_path / "none")] == [[], [], []]

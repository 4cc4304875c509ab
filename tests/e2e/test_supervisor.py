"""What `stud up` started lives as long as it does: what dies is started again, and nothing outlives it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stud_cli.local.pid_file import UP, read_running
from stud_cli.local.system import PORTS, SERVICES
from tests.e2e.test_signals import COMMANDS, started_below
from tests.support.up import STUD, Up, environ, free_ports, stud, up

pytestmark = pytest.mark.timeout(300)


@contextlib.contextmanager
def in_the_background(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command whose two outputs go to files of their own."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen([STUD, *words], cwd=folder, env=environ(), stdout=out, stderr=err)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def until(what: object, seconds: float = 60) -> None:
    assert callable(what)
    give_up_at = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def kill(system: Up, name: str) -> None:
    """Kill one of its processes, and wait until there is another one."""
    killed = system.running["pids"][name]
    os.kill(killed, signal.SIGKILL)
    until(lambda: system.running["pids"].get(name, killed) != killed)


@pytest.mark.traced
def test_whatever_dies_is_started_again_and_goes_on_with_its_data(tmp_path: Path):
    with up(tmp_path) as system:
        before = system.running
        for name in PORTS:
            who = "the log's server" if name == PORTS[0] else name
            kill(system, name)
            system.wait_for(rf"{who} died\b")
            system.wait_for(rf"{who} is started again in 0.25 s")
            system.wait_for(rf"{who} is back after ")
        after = system.running
        assert {name for name in PORTS if after["pids"][name] != before["pids"][name]} == set(PORTS)
        assert after["endpoints"] == before["endpoints"]
        until(lambda: system.asked("audit")[0] == 0)
        until(lambda: system.asked("tables") == (0, {"tables": []}))
        assert system.end() == 0
    assert not list(started_below(tmp_path, os.getpid()))


@pytest.mark.traced
@pytest.mark.parametrize("name", ["dealer", PORTS[0]])
def test_who_dies_five_times_within_a_minute_ends_everything(name: str, tmp_path: Path):
    with in_the_background(tmp_path, "up", "--port", str(free_ports()), "--json") as process:
        until((tmp_path / "out").read_text, 120)
        for _ in range(4):
            running = json.loads((tmp_path / "var" / "stud.json").read_text())
            os.kill(running["pids"][name], signal.SIGKILL)
            until(lambda known=running: json.loads((tmp_path / "var" / "stud.json").read_text()) != known)
        os.kill(json.loads((tmp_path / "var" / "stud.json").read_text())["pids"][name], signal.SIGKILL)
        assert process.wait(60) == 2
        (line,) = (tmp_path / "out").read_text().splitlines()
        assert json.loads(line)["ready"]
        told = (tmp_path / "err").read_text()
        who = "the log's server" if name == PORTS[0] else name
        assert f"error {who} died 5 times within a minute, everything is stopped. It died" in told
        assert [told.count(f"{who} is started again in {wait} s") for wait in ("0.25", "0.5", "1", "2")] == [1] * 4
        assert not (tmp_path / "var" / "stud.json").exists()
        assert not list(started_below(tmp_path, process.pid))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("once_there_is", ["wallet.log", "table.log"])
def test_nothing_outlives_a_command_that_was_killed(name: str, once_there_is: str, tmp_path: Path):
    """`kill -9` in the middle of its start, and when all of it runs."""
    words = ["up", "--json", "--port", str(free_ports())] if name == "up" else COMMANDS[name]
    process = subprocess.Popen(
        [STUD, *words],
        cwd=tmp_path,
        env=environ() | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: list(tmp_path.rglob(once_there_is)), 120)
        assert list(started_below(tmp_path, process.pid))
        process.kill()
        process.wait()
        until(lambda: not list(started_below(tmp_path, process.pid)), 20)
        (log,) = tmp_path.rglob("server.log")
        assert "User requested shutdown" in log.read_text()
    finally:
        process.kill()
        process.wait()
        for pid in started_below(tmp_path, process.pid):
            os.kill(pid, signal.SIGKILL)


def test_after_a_kill_the_next_start_needs_nothing(tmp_path: Path):
    with up(tmp_path, "--json") as system:
        system.end(signal.SIGKILL)
        with up(tmp_path, "--port", str(system.first_port)) as again:
            assert again.asked("audit")[0] == 0
            assert again.end() == 0


def test_a_number_that_is_another_process_by_now_stops_no_start(tmp_path: Path):
    with up(tmp_path) as system:
        path = tmp_path / "var" / "stud.json"
        written = read_running(path)
        assert written is not None
        assert set(written.marks) == {UP, PORTS[0], *SERVICES}
        system.end(signal.SIGKILL)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        numbers = dict.fromkeys(written.pids, stranger.pid)
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(written, pid=stranger.pid, pids=numbers)))
        with up(tmp_path, "--port", str(system.first_port)) as again:
            assert again.running["pid"] == again.process.pid
            second = stud(tmp_path, "up", "--port", str(free_ports()))
            assert second.exit_code == 2
            assert f"already up (process {again.process.pid})" in " ".join(second.stderr.split())
        stranger.communicate(b"\n")


@pytest.mark.parametrize("end", ["closed", "full"])
def test_what_dies_is_started_again_also_where_nobody_can_be_told(tmp_path: Path, end: str):
    """A line that cannot be written must end nothing, and a pipe that nobody reads must hold up nothing."""
    read, write = os.pipe()
    process = subprocess.Popen(
        [STUD, "up", "--port", str(free_ports())], cwd=tmp_path, env=environ(), stdout=write, stderr=write
    )
    os.set_blocking(read, False)
    try:
        said = bytearray()

        def is_ready() -> bool:
            with contextlib.suppress(BlockingIOError):
                said.extend(os.read(read, 65_536))
            return b"ready" in said

        until(is_ready)
        if end == "closed":
            os.close(read)
        else:
            os.set_blocking(write, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(write, b"x" * 512)
            os.set_blocking(write, True)
        running = tmp_path / "var" / "stud.json"
        for _ in range(2):
            wallet = json.loads(running.read_text())["pids"]["wallet"]
            os.kill(wallet, signal.SIGKILL)
            until(lambda gone=wallet: json.loads(running.read_text())["pids"].get("wallet", gone) != gone)
        process.terminate()
        assert process.wait(60) == 0
        assert list(started_below(tmp_path, process.pid)) == []
    finally:
        process.kill()
        process.wait()

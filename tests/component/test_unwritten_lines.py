"""A service whose log lines cannot be written serves on, however that comes about, and ends in order."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stud_service.healthcheck import check
from tests.support.runtime_process import ROOT, Running, get_table, log_url, start
from tests.support.valkey import session_server, valkey_server

__all__ = ["log_url", "session_server", "start", "valkey_server"]

SERVES_S = 2.0


@contextmanager
def full_device() -> Iterator[int]:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


@contextmanager
def closed_pipe() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@contextmanager
def full_pipe() -> Iterator[int]:
    """Nobody reads it, and nothing fits in any more."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    while True:
        try:
            os.write(writer, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    yield writer
    os.close(reader)
    os.close(writer)


@contextmanager
def full_pipe_that_does_not_block() -> Iterator[int]:
    with full_pipe() as writer:
        os.set_blocking(writer, False)
        yield writer


WAYS = [full_device, closed_pipe, full_pipe, full_pipe_that_does_not_block]


def serves(service: Running) -> None:
    until = time.monotonic() + SERVES_S
    while time.monotonic() < until:
        assert get_table(service.address).update.table == "t"
        assert check(service.address) is None
        time.sleep(0.02)


@pytest.mark.parametrize("way", WAYS)
def test_it_serves_and_stops_in_order(start, log_url, way: Callable[[], Any]):
    with way() as stderr:
        service = start(log_url, stderr=stderr, STUD_TEST_FAULT="talks")
        service.until_serving()
        serves(service)
        began = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - began < 8
    assert service.out.read_bytes() == b""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", ["task", "task returns", "task meets a cancellation", "start"])
def test_a_task_that_must_live_ends_the_process_also_where_nothing_can_be_told(start, log_url, way, fault):
    with way() as stderr:
        assert start(log_url, stderr=stderr, STUD_TEST_FAULT=fault).end() == 1


@pytest.mark.parametrize("way", WAYS)
def test_what_keeps_it_from_starting_is_in_its_exit_code(start, log_url, way):
    with way() as stderr:
        assert start(log_url, stderr=stderr, STUD_KEYS_DIR="/nonexistent").end() == 2


@pytest.mark.parametrize("fault", ["task returns", "task meets a cancellation"])
def test_which_task_ended_is_told(start, log_url, fault):
    service = start(log_url, STUD_TEST_FAULT=fault)
    assert service.end() == 1
    assert service.line("task_crashed")["task"] == "shaky task"
    assert "shaky task ended" in str(service.line("task_crashed")["exception"])
    assert service.events()[-1] == "stopped"


def test_a_disk_that_was_full_hears_how_much_is_missing(start, log_url, tmp_path: Path):
    """A file that may not grow further refuses the rest of a line as a full disk does; then somebody makes room."""
    path = tmp_path / "service.log"
    path.write_bytes(b"x" * 4096 + b"\n")
    service = start(log_url, stderr=path, first="import stud_service; " + limit(4096 + 700), STUD_TEST_FAULT="talks")
    service.until_serving()
    serves(service)
    os.truncate(path, 0)
    service.until(lambda: re.search(rb"lines_dropped.*\n", path.read_bytes()))
    whole, _, _ = path.read_bytes().rpartition(b"\n")  # it is full again soon, maybe within a line
    told = [json.loads(line) for line in whole.splitlines() if b"lines_dropped" in line]
    missing = sum((Counter(line["why"]) for line in told), Counter())
    assert missing["File too large"] > 10
    assert missing.total() == sum(line["count"] for line in told)
    assert service.stop() == 0


def limit(size: int) -> str:
    number = resource.RLIMIT_FSIZE
    return f"import resource; resource.setrlimit({number}, ({size}, resource.getrlimit({number})[1])); "


def test_a_pipe_is_read_after_all(start, log_url):
    reader, writer = os.pipe()
    service = start(log_url, stderr=writer, STUD_TEST_FAULT="talks")
    os.close(writer)
    service.until_serving()
    serves(service)
    read = b""
    while b'"lines_dropped"' not in read:
        chunk = os.read(reader, 1 << 20)
        assert chunk
        read += chunk
    service.process.send_signal(signal.SIGTERM)
    while chunk := os.read(reader, 1 << 20):
        read += chunk
    os.close(reader)
    assert service.end() == 0
    lines = [json.loads(line) for line in read.splitlines()]
    assert lines[-1]["event"] in {"stopped", "lines_dropped"}
    whys = {why for line in lines if line["event"] == "lines_dropped" for why in line["why"]}
    assert any(why.startswith("ValueError at runtime_app.py") for why in whys)
    assert any("nobody reads" in why for why in whys)
    assert {line["text"] for line in lines if line["event"] == "stdout"} == {"talk"}


def test_what_python_itself_tells_is_json_too(start, log_url):
    """Warnings, exceptions that nobody caught, prints: in lines, and no card in them."""
    service = start(log_url, STUD_TEST_FAULT="strays")
    service.until_serving()
    assert service.stop() == 0
    lines = service.lines()
    (warned,) = [line for line in lines if line.get("logger") == "py.warnings"]
    assert "RuntimeWarning: the coroutine was never awaited" in warned["event"]
    assert [line["text"] for line in lines if line["event"] == "stderr"] == ["half a line, of the # and the rest"]
    assert [line["text"] for line in lines if line["event"] == "stdout"] == ["a library's print"]
    assert service.line("uncaught")["thread"] == "shaky thread"
    told = [line for line in lines if "exception" in line]
    assert {line["event"] for line in told} > {"uncaught", "unraisable"}
    assert {line["exception"][0]["exc_value"] for line in told} == {"#"}
    assert service.out.read_bytes() == b""


def test_an_exception_that_nobody_caught_is_told_as_the_last(start):
    service = start("unix:///nowhere", first="import stud_service.run as r; r.Process.run = None; ")
    assert service.end() == 1
    assert service.events() == ["uncaught"]


@pytest.mark.parametrize("way", [full_device, closed_pipe])
def test_the_health_check_says_by_its_exit_code_what_it_cannot_write(way):
    asked = [sys.executable, "-m", "stud_service.healthcheck"]
    with way() as stderr:
        assert subprocess.run([*asked, "127.0.0.1:1"], cwd=ROOT, stderr=stderr, check=False).returncode == 1
        assert subprocess.run(asked, cwd=ROOT, stderr=stderr, check=False).returncode == 2

"""Lines are written by a thread of their own; what cannot be written is dropped, counted and told."""

import gc
import json
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from stud_service import lines as module
from stud_service.lines import FULL, MAX_WAITING_BYTES, MAX_WHYS, OTHERS, Lines
from tests.support.runtime import logged
from tests.support.runtime_app import Silent

logger = structlog.get_logger("tests")


@pytest.fixture
def opened() -> Iterator[Callable[[int], Lines]]:
    made: list[Lines] = []

    def begin(descriptor: int) -> Lines:
        made.append(Lines(descriptor, "table"))
        return made[-1]

    yield begin
    for lines in made:
        lines.close(0.1)


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_lines_are_written_in_order(opened, tmp_path: Path):
    lines = opened(os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT))
    for number in range(1000):
        lines.put(f"line {number} ü \ud800")
    assert lines.flush(10)
    assert (tmp_path / "out").read_text() == "".join(f"line {number} ü \\ud800\n" for number in range(1000))


def test_closing_writes_what_waits_and_later_lines_are_dropped(tmp_path: Path):
    lines = Lines(os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT), "table")
    lines.put("a")
    lines.close()
    lines.put("b")
    assert (tmp_path / "out").read_text() == "a\n"


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """A disk that is full for this process: a write past the limit fails with EFBIG, after a first part of it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_once_there_is_room_again_also_where_nothing_else_is_said(opened, tmp_path: Path):
    path = tmp_path / "out"
    lines = opened(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    lines.put("before")
    lines.flush(10)
    with file_size_limit(path.stat().st_size + 3):
        for number in range(7):
            lines.put(f"lost {number}")
        assert lines.flush(10)
    until(lambda: "lines_dropped" in path.read_text())
    lines.put("after")
    lines.flush(10)
    before, torn, told, after = path.read_text().splitlines()
    assert (before, torn, after) == ("before", "los", "after")
    line = json.loads(told)
    assert line == line | {"event": "lines_dropped", "level": "error", "service": "table", "count": 7}
    assert line["why"] == {"File too large": 7}
    assert line["since"] <= line["timestamp"]


def test_a_closed_pipe_and_a_device_without_room_cost_lines_only(opened):
    reader, writer = os.pipe()
    os.close(reader)
    for descriptor in (writer, os.open("/dev/full", os.O_WRONLY)):
        lines = opened(descriptor)
        for _ in range(100):
            lines.put("x")
        assert lines.flush(10)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_pipe_nobody_reads_keeps_nobody_waiting(opened, blocking: bool):
    reader, writer = os.pipe()
    os.set_blocking(writer, blocking)
    lines = opened(writer)
    line = "x" * 10_000
    sent = 2 * MAX_WAITING_BYTES // len(line)
    began = time.monotonic()
    for _ in range(sent):
        lines.put(line)
    assert time.monotonic() - began < 5
    assert not lines.flush(0.1)
    began = time.monotonic()
    lines.close(0.1)
    assert time.monotonic() - began < 1
    # Somebody reads after all.
    read = b""
    while chunk := os.read(reader, 1 << 20):
        read += chunk
    os.close(reader)
    whole = [told for told in read.decode().splitlines() if told == line]
    reports = [json.loads(told) for told in read.decode().splitlines() if told != line]
    assert {why for report in reports for why in report["why"]} == {FULL}
    assert sum(report["count"] for report in reports) == sent - len(whole)
    assert MAX_WAITING_BYTES * 0.9 < len(whole) * len(line) < MAX_WAITING_BYTES * 1.1


def test_reasons_are_counted_apart_within_reason(opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TELL_EVERY_S", 0.02)
    path = tmp_path / "out"
    lines = opened(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    with file_size_limit(0):
        for number in range(3 * MAX_WHYS):
            lines.lose(f"reason {number}")
        time.sleep(0.1)  # meanwhile it is tried to say so, more than once
    until(path.read_text)  # type: ignore[arg-type]
    (line,) = [json.loads(told) for told in path.read_text().splitlines()]
    assert line["count"] == 3 * MAX_WHYS
    assert len(line["why"]) == MAX_WHYS + 1
    assert line["why"][OTHERS] == 2 * MAX_WHYS


def test_a_finalizer_may_say_something_while_something_is_said():
    class Says:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            logger.info("finalizer")

    before = gc.get_threshold()
    with logged() as told:
        gc.set_threshold(1)
        try:
            for _ in range(200):
                Says()
                logger.info("said")
        finally:
            gc.set_threshold(*before)
            gc.collect()
    events = [line["event"] for line in told()]
    assert (events.count("said"), events.count("finalizer")) == (200, 200)


# A line that cannot be made


def broken(_: Any, __: str, ___: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("the Ah")


@pytest.mark.parametrize(
    "say",
    [
        lambda: logger.info("x", value={Silent(): 1}),
        lambda: logger.info("x %s", Silent()),
        lambda: logger.info("x %d", "no number"),
        lambda: logger.bind(inner=[{Silent(): 1}]).error("x"),
        lambda: logger.info("x", number=10**5000),
        lambda: logging.getLogger("lib").warning("x %s", Silent()),
        lambda: logging.getLogger("lib").warning("x %d", "no number"),
        lambda: logging.getLogger("lib").warning(Silent()),
    ],
)
def test_what_cannot_be_told_is_counted_and_hurts_nobody(say: Callable[[], None]):
    with logged() as told:
        say()
        logger.info("goes on")
        lines = told()
    assert [line["event"] for line in lines] == ["lines_dropped", "goes on"]
    ((why, count),) = lines[0]["why"].items()
    assert count == 1
    assert " at " in why
    assert "37" not in why.partition(" at ")[0]


def test_a_processor_that_fails_is_counted():
    with logged() as told:
        processors = structlog.get_config()["processors"]
        processors.insert(0, broken)
        for level in ("debug", "info", "warning", "error", "critical", "exception"):
            getattr(logger, level)("x")
        logger.log(logging.INFO, "x")
        processors.remove(broken)
        logger.info("goes on")
        lines = told()
    assert [line["event"] for line in lines if line["event"] != "lines_dropped"] == ["goes on"]
    assert sum(line["count"] for line in lines if line["event"] == "lines_dropped") == 6  # debug is not told anyway


def test_a_fault_that_does_not_say_what_it_is_is_told_as_far_as_it_goes():
    class Shy(Exception):
        def __str__(self) -> str:
            raise ValueError

    with logged() as told:
        logger.error("x", exc_info=Shy())
        logging.getLogger("lib").error("y", exc_info=Shy())
        first, second = told()
    assert (first["event"], second["event"]) == ("x", "y")
    assert first["exception"][0]["exc_type"] == second["exception"][0]["exc_type"] == "Shy"


def test_numbers_that_json_does_not_have_are_text():
    with logged() as told:
        logger.info("x", a=float("inf"), b=[float("nan")], c="\ud800")
        (line,) = told()
    assert (line["a"], line["b"], line["c"]) == ("inf", ["nan"], "\ud800")


# Standard error


def run_with_closed(*numbers: int) -> subprocess.CompletedProcess[bytes]:
    """A process without some of its standard files: the next file or socket that it opens gets such a number."""
    code = (
        "import os, socket; a, b = socket.socketpair(); c, d = socket.socketpair()\n"
        "from stud_service import logging, stray\n"
        "lines = logging.configure('table'); stray.take_over()\n"
        "import structlog; structlog.get_logger().info('x'); print('y', flush=True)\n"
        "assert lines.flush(5)\n"
        "for s in (a, b, c, d):\n"
        "    s.setblocking(False)\n"
        "    try: raise SystemExit(f'{s.recv(10)}')\n"
        "    except BlockingIOError: pass\n"
        "os._exit(0)"
    )

    def close() -> None:
        for number in numbers:
            os.close(number)

    return subprocess.run([sys.executable, "-c", code], preexec_fn=close, check=False, timeout=60)


@pytest.mark.process
@pytest.mark.parametrize("numbers", [(2,), (1, 2), (0, 1, 2)])
def test_where_standard_error_is_closed_no_socket_gets_the_lines(numbers: tuple[int, ...]):
    assert run_with_closed(*numbers).returncode == 0

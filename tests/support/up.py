"""`stud up` as somebody runs it: a process of its own in a directory of its own, on ports that are free."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from stud_cli.local.system import ROW
from stud_cli.main import app

STUD = Path(sys.executable).with_name("stud")
READY_WITHIN_S = 120


def free_ports() -> int:
    """The first of as many ports in a row as `stud up` takes, and nobody listens on now; tests that run at the same
    time look elsewhere.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    lowest = 20_000 + 4_000 * (worker % 10)
    for first in range(lowest + 7 * (os.getpid() % 100), lowest + 3_980, ROW):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + ROW):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise AssertionError("no ports")


def listens(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


def environ() -> dict[str, str]:
    """Ours, without anything that names another system or changes how Python behaves (unbuffered, say)."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "PYTHON"))} | {
        "COLUMNS": "200",
        "LINES": "60",
    }


def stud(folder: Path, *words: str) -> Result:
    """Run a command in a directory, in this process."""
    unset = {name: None for name in os.environ if name.startswith("STUD_")}
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, list(words), env={**unset, "COLUMNS": "200"})


def in_a_terminal(folder: Path, *words: str) -> tuple[int, str]:
    """Run a command as people see it, to its end: the exit code, and the text without its colours."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([STUD, *words], cwd=folder, env=environ() | {"TERM": "xterm"}, stdout=theirs)
    os.close(theirs)
    seen = bytearray()
    with contextlib.suppress(OSError):  # raised once the other end is closed
        while more := os.read(ours, 65_536):
            seen += more
    os.close(ours)
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


class Up:
    """A running `stud up`. What it says goes to a file, so that nobody has to read it in time."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.first_port = free_ports()
        self._out = folder / "up.out"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [STUD, "up", "--port", str(self.first_port), *words],
                cwd=folder,
                env=environ(),
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self._out.read_text()

    def wait_for(self, pattern: str) -> str:
        """Wait until it has said something."""
        for _ in range(READY_WITHIN_S * 10):
            found = re.search(pattern, self.said)
            if found:
                return found[0]
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"ended with {self.process.wait(0.1)}: {self.said}")
        raise AssertionError(f"it never said {pattern!r}: {self.said}")

    @property
    def running(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.folder / "var" / "stud.json").read_text())
        return value

    def asked(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Another command beside it: its exit code, and the object on its last line."""
        ended = stud(self.folder, *words, "--json")
        assert ended.stdout, (words, ended.stderr, ended.exception)
        value: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return ended.exit_code, value

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


@contextlib.contextmanager
def up(folder: Path, *words: str) -> Iterator[Up]:
    """Ready when the body begins; ended when it ends."""
    running = Up(folder, *words)
    try:
        running.wait_for("ready")
        yield running
    finally:
        running.end()

"""`stud up` as somebody runs it: a process of its own in a directory of its own, on ports that are free."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STUD = Path(sys.executable).with_name("stud")
READY_WITHIN_S = 90


def five_free_ports() -> int:
    """The first of five ports in a row that nobody listens on now."""
    for first in range(20_000 + os.getpid() % 5_000, 60_000, 7):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + 5):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise AssertionError("no ports")


def environ() -> dict[str, str]:
    """Ours, without anything that names another system."""
    return {name: value for name, value in os.environ.items() if not name.startswith("STUD_")} | {"COLUMNS": "200"}


def stud(folder: Path, *words: str, within_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory to its end."""
    return subprocess.run(
        [STUD, *words], cwd=folder, env=environ(), capture_output=True, text=True, timeout=within_s, check=False
    )


class Up:
    """A running `stud up`. What it says goes to files, so that nobody has to read it in time."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.first_port = five_free_ports()
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

    def wait_for(self, pattern: str, within_s: float = READY_WITHIN_S) -> str:
        """Wait until it has said something; while it runs, asking costs next to nothing."""
        for _ in range(int(within_s / 0.1)):
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

    def asked(self, *words: str, within_s: float = 60) -> tuple[int, dict[str, Any]]:
        """Another command beside it: its exit code, and the object on its last line."""
        ended = stud(self.folder, *words, "--json", within_s=within_s)
        assert ended.stdout, (words, ended.stderr)
        value: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return ended.returncode, value

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

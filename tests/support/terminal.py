"""A command at a terminal of a given size: what it wrote, without its colours, and keys pressed at it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Self

from tests.support.up import STUD, environ

WITHIN_S = 90.0
_CODES = re.compile(r"\x1b(?:\[[0-9;?<>=]*[A-Za-z]|[()][A-Z0-9]|[=>])|\x1b\][^\x07]*\x07")


class Terminal:
    """One command, from its start to its end."""

    def __init__(self, folder: Path, *words: str, size: tuple[int, int] = (80, 24)) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = {name: value for name, value in environ().items() if name not in {"COLUMNS", "LINES"}}
        self.process = subprocess.Popen(
            [STUD, *words],
            cwd=folder,
            env=environment | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._written = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(WITHIN_S)
        os.close(self._ours)

    @property
    def text(self) -> str:
        """Everything that was written so far."""
        return _CODES.sub("", self._written.decode(errors="replace"))

    def _read(self, within_s: float) -> None:
        if select.select([self._ours], [], [], within_s)[0]:
            with contextlib.suppress(OSError):  # raised once the other end is closed
                self._written += os.read(self._ours, 65_536)

    def wait_for(self, *texts: str, after: int = 0) -> str:
        """Read until one of these was written, behind so much of the text; return which."""
        give_up_at = time.monotonic() + WITHIN_S
        while True:
            found = [text for text in texts if text in self.text[after:]]
            if found:
                return found[0]
            ended = self.process.poll() is not None
            assert not ended, f"{texts} never came, it ended with {self.process.returncode}: {self.text[-3000:]}"
            assert time.monotonic() < give_up_at, f"{texts} never came: {self.text[-3000:]}"
            self._read(0.1)

    def press(self, keys: str) -> int:
        """Press keys; return how much had been written before."""
        before = len(self.text)
        os.write(self._ours, keys.encode())
        return before

    def end(self) -> int:
        """Read until it has ended; return the exit code."""
        give_up_at = time.monotonic() + WITHIN_S
        while self.process.poll() is None:
            assert time.monotonic() < give_up_at, f"it does not end: {self.text[-3000:]}"
            self._read(0.1)
        for _ in range(20):
            self._read(0.05)
        return self.process.wait()

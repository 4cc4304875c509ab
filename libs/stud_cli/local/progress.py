"""How long to wait for what is started, and what is shown meanwhile: as long as it makes progress.

A log grows for years, and reading it takes as long as it takes; a number of seconds that is enough today gives up on
sound data some day. What makes no more progress is given up after a bounded silence.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

SHOWN_AFTER_S = 2.0
TOLD_EVERY_S = 5.0


class Patience:
    """Lasts as long as there is progress, and ``silent_s`` longer."""

    def __init__(self, silent_s: float) -> None:
        self.silent_s = silent_s
        self.progress = -1.0
        self._until = time.monotonic() + silent_s

    def heard(self, progress: float) -> bool:
        """Take in how far it is, by any measure that only grows; return whether that is progress."""
        if progress <= self.progress:
            return False
        self.progress = progress
        self._until = time.monotonic() + self.silent_s
        return True

    @property
    def is_over(self) -> bool:
        """Whether it has been silent for too long."""
        return time.monotonic() > self._until


class Waiting:
    """Shows what is waited for once it takes longer than two seconds: a bar where somebody is watching, else a line
    from time to time. Without a console nothing is shown.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._began = time.monotonic()
        self._told = 0.0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        self._began = self._told = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show(self, text: str, share: float | None = None) -> None:
        """Say what is going on, and how much of it is done (0 to 1) where that is known."""
        now = time.monotonic()
        if self._console is None or now - self._began < SHOWN_AFTER_S:
            return
        if self._console.is_terminal:
            self._draw(self._console, text, share)
        elif now - self._told >= TOLD_EVERY_S:
            self._told = now
            done = "" if share is None else f" {share:.0%}"
            self._console.print(f"{text}{done} ({now - self._began:.0f} s)", markup=False, soft_wrap=True)

    def _draw(self, console: Console, text: str, share: float | None) -> None:
        if self._bar is None:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
            self._bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
            self._bar.add_task(text, total=None)
            self._bar.start()
        (task,) = self._bar.task_ids
        self._bar.update(task, description=text, total=None if share is None else 1.0, completed=share or 0.0)

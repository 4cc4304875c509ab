"""Shows how far the reading of all logs is, for whoever waits for `stud verify` and `stud audit` on long ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

T = TypeVar("T")


class Watch:
    """Bars with hands a second, where the console is a terminal. ``hands`` is counted up by the reader."""

    def __init__(self, console: Console | None = None) -> None:
        self.hands = 0
        self._console = console

    def over(self, things: Sequence[T], what: str = "tables") -> Iterator[T]:
        """Yield things that are to be read, each when the one before it was."""
        speed = TextColumn("{task.fields[speed]}")
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
        hidden = self._console is None or not self._console.is_terminal
        began, before = time.monotonic(), self.hands
        with Progress(*columns, console=self._console, disable=hidden, transient=True) as bar:
            task = bar.add_task(what, total=len(things), speed="")
            for thing in things:
                yield thing
                hands = self.hands - before
                said = f"{hands / max(time.monotonic() - began, 0.001):,.0f} hands/s" if hands else ""
                bar.update(task, advance=1, speed=said)

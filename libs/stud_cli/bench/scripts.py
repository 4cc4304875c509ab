"""Runs the script of a part in a process of its own and returns its figures; shows how far it is."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final, Self

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stud_cli.bench.parts import BENCHES, Part
from stud_cli.exit_codes import CouldNotRun
from stud_cli.local.children import end
from stud_cli.local.parent_death import bound_to_us

LAST_WORDS: Final = 8
TICK_S: Final = 0.25
ENDS_WITHIN_S: Final = 30.0
"""It stops the system that it has started."""


async def figures_of(part: Part, arguments: Sequence[str]) -> dict[str, float]:
    """Run a script to its end and return what its last line says. Raises CouldNotRun."""
    process = await asyncio.create_subprocess_exec(
        *bound_to_us([sys.executable, str(BENCHES / part.script), *arguments]),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for us; we end it
    )
    try:
        out, err = await process.communicate()
    finally:
        await end(process, ENDS_WITHIN_S)
    if process.returncode:
        words = "\n".join(err.decode(errors="replace").splitlines()[-LAST_WORDS:])
        raise CouldNotRun(f"{part.name}: {part.script} ended with {process.returncode}: {words}")
    try:
        return msgspec.json.decode(out.splitlines()[-1], type=dict[str, float])
    except (IndexError, msgspec.DecodeError) as error:
        raise CouldNotRun(f"{part.name}: the last line of {part.script} holds no figures ({error})") from None


class Shown:
    """A bar over all parts, by the time that they take; lines where nobody is watching."""

    def __init__(self, console: Console, total_s: float) -> None:
        self._console = console
        self._passed_s = 0.0
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=total_s)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @contextlib.asynccontextmanager
    async def during(self, part: Part, takes_s: float) -> AsyncIterator[None]:
        """Show one part."""
        if not self._console.is_terminal:
            self._console.print(f"{part.name}: {part.said} (about {takes_s:.0f} s)", markup=False, soft_wrap=True)
        self._bar.update(self._task, description=f"{part.name}: {part.said}")
        moving = asyncio.get_running_loop().create_task(self._move(takes_s))
        try:
            yield
        finally:
            moving.cancel()
            self._passed_s += takes_s
            self._bar.update(self._task, completed=self._passed_s)

    async def _move(self, takes_s: float) -> None:
        began = time.monotonic()
        while True:
            passed_s = min(takes_s, time.monotonic() - began)
            self._bar.update(self._task, completed=self._passed_s + passed_s)
            await asyncio.sleep(TICK_S)

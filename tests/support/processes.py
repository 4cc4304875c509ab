"""Only tests that say so start processes, so that `make quick` needs no server and stays quick.

Tests of the folders `WITH_PROCESSES` may start what they like; elsewhere a test that cannot do without a process has
the mark `process`, and `make quick` leaves both out. Whoever starts one without the mark fails, in every run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WITH_PROCESSES = {"component", "e2e"}

ALLOWED = {"git"}
"""The tests of the repository ask it for the files there are; it ends at once."""

STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"}
"""Audit events of Python; asyncio's processes are `subprocess.Popen` too."""

_without: list[str] = []
"""The tests that run now and start none: one, or several where a test runs pytest itself."""


@contextmanager
def none_started(test: str) -> Iterator[None]:
    """Whatever starts a process meanwhile fails, with an exception that no `except Exception` takes for its own."""
    _without.append(test)
    try:
        yield
    finally:
        _without.pop()


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if not _without or event not in STARTS:
        return
    words = [os.fsdecode(word) for word in next((arg for arg in args if isinstance(arg, list | tuple)), args)]
    if not words or Path(words[0]).name not in ALLOWED:
        pytest.fail(
            f"{_without[-1]} starts a process: {event} {' '.join(words)[:200]}\n"
            "`make quick` starts none. A test with a server or a service belongs to tests/component, one with the "
            "whole system to tests/e2e; a test elsewhere that needs a short process is marked @pytest.mark.process",
            pytrace=False,
        )


sys.addaudithook(_watch)

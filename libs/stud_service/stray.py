"""Whatever else Python would write to standard error or standard output goes the way of the log lines: warnings,
exceptions that nobody caught, a library's print. Written past them it could fail, wait for a reader, or show a card.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from types import TracebackType
from typing import Any

import structlog

from stud_service.logging import MAX_TEXT, masked

logger = structlog.get_logger(__name__)


def take_over() -> None:
    """For a process that runs nothing but a service, once its logging is configured."""
    logging.captureWarnings(True)
    sys.stderr, sys.stdout = Stray("stderr"), Stray("stdout")
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread
    sys.unraisablehook = _unraisable


class Stray(io.TextIOBase):
    """A text file whose lines are log lines."""

    encoding = "utf-8"

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        if len(self._begun) > MAX_TEXT:
            whole, self._begun = [*whole, self._begun], ""
        for line in whole:
            if line.strip():
                logger.warning(self.name, text=masked(line))
        return len(text)


def _uncaught(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    logger.critical("uncaught", exc_info=(kind, fault, trace))


def _uncaught_in_thread(what: threading.ExceptHookArgs) -> None:
    if what.exc_value is not None and not isinstance(what.exc_value, SystemExit):
        name = what.thread.name if what.thread is not None else ""
        logger.critical("uncaught", thread=name, exc_info=(what.exc_type, what.exc_value, what.exc_traceback))


def _unraisable(what: Any) -> None:
    logger.error("unraisable", of=what.object, exc_info=(what.exc_type, what.exc_value, what.exc_traceback))

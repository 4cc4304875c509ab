"""How the start of any process of ours goes on standard error, and ends where it cannot: in one line that says why."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable

import structlog

from stud_service import logging, stray
from stud_service.metrics_port import MetricsPort, bind

logger = structlog.get_logger(__name__)

LAST_LINES_S = 1.0
"""For what still waits to be logged at the end, if nobody reads it."""


class CannotStart(Exception):
    """What is wrong and what would help, in one line."""


def log_to_standard_error(name: str, level: str) -> None:
    """Logs from here on, for the rest of the process."""
    lines = logging.configure(name, level)
    stray.take_over()
    # After an exception that nobody caught was reported, and before the interpreter ends what still runs.
    atexit.register(lines.flush, LAST_LINES_S)


def cannot_start(why: Exception) -> int:
    """Says why, and returns the exit code."""
    logger.error("cannot_start", why=str(why))
    return 2


def bind_metrics(host: str, port: int, text: Callable[[], bytes]) -> MetricsPort | None:
    """Serves what there is to tell; port 0 = nowhere. Raises CannotStart."""
    if not port:
        return None
    try:
        listener = bind(host, port)
    except OSError as why:
        problem = os.strerror(why.errno or 0)
        raise CannotStart(
            f"cannot serve metrics on {host}:{port} ({problem}): set STUD_METRICS_PORT, 0 for none, or "
            "STUD_METRICS_HOST"
        ) from None
    metrics = MetricsPort(listener, text)
    metrics.start()
    return metrics

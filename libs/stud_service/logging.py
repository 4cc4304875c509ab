"""Logs: one JSON object per line on standard error, for our own loggers and those of libraries alike.

A line has `event`, `level`, `timestamp` (UTC), `service`, and what is bound: `method`, `request_id`, `table`, `hand`,
`version`, `account`. Cards and secrets cannot get in by accident: only plain values pass, bytes are shown as their
length and objects as the name of their type, fields with telling names are hidden, tracebacks have no locals, and all
numbers and cards are masked in the text of an exception that may quote a value.

Logging never fails and never waits: a line that cannot be made is dropped and counted like one that cannot be written
(`lines`).
"""

from __future__ import annotations

import functools
import logging
import math
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from stud_service.lines import Lines, standard_error

HIDDEN = frozenset(
    {
        *(
            "burns",
            "card",
            "cards",
            "community",
            "deck",
            "down",
            "down_cards",
            "hole",
            "order",
            "river_rank",
            "shown",
            "up",
        ),
        *("authorization", "entropy", "key", "master", "password", "private", "seed", "secret", "token"),
    }
)
"""Names of fields whose value is never written, whatever it is."""

SAFE_FAULTS = frozenset(
    {
        *("ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "FileNotFoundError", "OSError"),
        *("PermissionError", "TimeoutError"),
        *("ChainBroken", "LogBehind", "LogUnavailable", "NotInitialised", "UnsafeServer", "VersionConflict"),
        *("KeyFileError", "Poison", "Refused", "UnknownEventError"),
    }
)
"""Exceptions from places without cards; their texts stay whole."""

_CARD_OR_NUMBER = re.compile(r"\b(?:10|[2-9TJQKA])[shdcSHDC]\b|\d+")

MAX_ITEMS = 50
MAX_TEXT = 2_000


def configure(service: str, level: str = "info", lines: Lines | None = None) -> Lines:
    """Sets up structlog and the standard library's logging for this process; returns where the lines go."""
    lines = Lines(standard_error(), service) if lines is None else lines
    shared = _processors(service)
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=_never_failing(structlog.make_filtering_bound_logger(number), lines),
        logger_factory=lambda *_: _Sink(lines),
        cache_logger_on_first_use=False,  # else a logger used before this call would keep its old ways
    )
    handler = _Handler(lines)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    logging.getLogger("asyncio").setLevel(max(number, logging.WARNING))
    return lines


class _Sink:
    """What structlog hands finished lines to."""

    def __init__(self, lines: Lines) -> None:
        self.debug = self.info = self.warning = self.error = self.critical = lines.put


class _Handler(logging.Handler):
    """The standard library's own ones write at once, and what goes wrong with it to standard error."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put(self.format(record))
        except Exception as fault:  # noqa: BLE001  (of whatever is to be told)
            self._lines.lose(place_of(fault))


def _never_failing(logger_class: type[Any], lines: Lines) -> type[Any]:
    """Returns the class with methods that count what goes wrong in them, from the first formatting to the last."""

    def guarded(method: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(method)
        def say(*args: Any, **values: Any) -> None:
            try:
                method(*args, **values)
            except Exception as fault:  # noqa: BLE001  (of whatever is to be told)
                lines.lose(place_of(fault))

        return say

    names = ("debug", "info", "warning", "error", "critical", "exception", "log")
    return type(logger_class.__name__, (logger_class,), {name: guarded(getattr(logger_class, name)) for name in names})


def place_of(fault: BaseException) -> str:
    """Returns the type of a fault and where it was raised, without its text, which might quote a card."""
    places = [f"{Path(frame.f_code.co_filename).name}:{line}" for frame, line in traceback.walk_tb(fault.__traceback__)]
    return " at ".join([type(fault).__name__, *places[-1:]])


def _processors(service: str) -> list[Processor]:
    def add_service(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        event.setdefault("service", service)
        return event

    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_service,
        structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
        only_plain_values,
        mask_faults,
    ]


def only_plain_values(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replaces everything that is not text, a number or a collection of these; hides fields with telling names."""
    return {name: "<hidden>" if name.lower() in HIDDEN else _plain(value) for name, value in event.items()}


def mask_faults(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Masks what the text of an exception may quote: `KeyError: 37` was a card."""
    if isinstance(chain := event.get("exception"), list):
        _mask(chain)
    return event


def _mask(chain: list[Any]) -> None:
    for fault in chain:
        if fault.get("exc_type") not in SAFE_FAULTS:
            fault["exc_value"] = masked(str(fault.get("exc_value", "")))
            fault["exc_notes"] = [masked(str(note)) for note in fault.get("exc_notes") or ()]
        for inner in fault.get("exceptions") or ():
            _mask(inner)


def masked(text: str) -> str:
    """Returns somebody else's text with all that could be a card hidden."""
    return _CARD_OR_NUMBER.sub("#", text)


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # which JSON has no number for
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value)} bytes>"
    if depth < 8 and isinstance(value, dict):
        return {
            str(name): "<hidden>" if str(name).lower() in HIDDEN else _plain(inner, depth + 1)
            for name, inner in list(value.items())[:MAX_ITEMS]
        }
    if depth < 8 and isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner, depth + 1) for inner in list(value)[:MAX_ITEMS]]
    return f"<{type(value).__name__}>"


@contextmanager
def bound(**values: object) -> Iterator[None]:
    """Adds values, such as table and hand, to every line logged inside, in this task and those that it starts."""
    with structlog.contextvars.bound_contextvars(**values):
        yield

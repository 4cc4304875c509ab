"""Whether what a file says can be. A file was edited, cut off or written by another program until its numbers say not:
one that cannot be is refused by its name, before it is added up or compared with anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

Bounds = Sequence[tuple[str, float, float]]
"""Patterns of places such as ``usage.*.cpu_s``, and the least and the most that may stand there; the first that fits
counts.
"""

MOST: Final = 1e15
"""What no count of anything reaches; the most where no pattern fits. The least is 0 there."""


def parsed(data: bytes, kind: type[T], bounds: Bounds) -> T:
    """Return what JSON says, as a value of a kind. Raises ValueError that names the first field that cannot be.

    NaN and Infinity are no JSON, but Python writes and reads them; read, they can be named.
    """
    try:
        value = msgspec.convert(json.loads(data), kind)
    except RecursionError:
        raise ValueError("lists in lists without end") from None
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(str(error)) from None
    for problem in _problems("", msgspec.to_builtins(value), bounds):
        raise ValueError(problem)
    return value


def _problems(place: str, value: Any, bounds: Bounds) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _problems(f"{place}.{name}" if place else name, below, bounds)
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _problems(f"{place}[{number}]", below, bounds)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        least, most = next(((least, most) for pattern, least, most in bounds if fnmatchcase(place, pattern)), (0, MOST))
        if not least <= value <= most:  # NaN is neither
            yield f"{place} is {value:g}: want {least:g} to {most:g}"

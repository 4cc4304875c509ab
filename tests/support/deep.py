"""How far tests of chance go: the numbers of ``make test``, or far larger ones when ``STUD_DEEP`` is set."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

DEEP = bool(os.environ.get("STUD_DEEP"))


def either(usual: T, deep: T) -> T:
    """The usual number, or the one of a deep run."""
    return deep if DEEP else usual

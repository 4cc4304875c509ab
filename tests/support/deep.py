"""How much a test does: the numbers of ``make test``, or far larger ones when STUD_DEEP=1 (``make deep``)."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

DEEP = os.environ.get("STUD_DEEP") == "1"


def either(usual: T, deep: T) -> T:
    """The usual number, or the one of a deep run."""
    return deep if DEEP else usual

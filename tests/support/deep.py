"""How much a test does: the numbers of ``make test``, or larger ones when STUD_DEEP=1 (``make deep``)."""

from __future__ import annotations

import os

DEEP = os.environ.get("STUD_DEEP") == "1"


def deeper(number: int, factor: int = 20) -> int:
    """``number`` in ``make test``, ``factor`` times as much in ``make deep``."""
    return number * factor if DEEP else number

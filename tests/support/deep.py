"""How much a test does: the numbers of ``make test``, far larger ones with STUD_DEEP=1 (``make deep``), smaller ones
with STUD_QUICK=1 (``make quick``).
"""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

T = TypeVar("T")

DEEP = os.environ.get("STUD_DEEP") == "1"
QUICK = os.environ.get("STUD_QUICK") == "1"


def either(usual: T, deep: T, quick: T | None = None) -> T:
    """The usual number, or the one of a deep or a quick run; what does not take long needs none for a quick one."""
    if QUICK and quick is not None:
        return quick
    return deep if DEEP else usual


def not_quick(why: str) -> pytest.MarkDecorator:
    """For what a quick run is too short for; ``why`` is told by each run that leaves it out."""
    return pytest.mark.skipif(QUICK, reason=f"{why}: make test")

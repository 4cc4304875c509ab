"""How often the garbage collector looks for cycles in a service process.

Nearly everything is freed when its last reference goes; what forms cycles are exceptions and calls that were cancelled.
With the usual thresholds an eighth of a loaded table process went into looking for them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""Objects that are new since the last look: some 2 MB."""

YOUNG_LOOKS, MIDDLE_LOOKS = 20, 20
"""Looks at the new ones for each at those that have survived one, and of these for each at all."""


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Keep the collector from looking, again and again, at modules that are being loaded: that takes a fifth of the
    time. What has been loaded stays, and is not looked at later either.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def settle_memory() -> None:
    """Leave out for good what was there when the service began to serve (code, classes, loaded tables), and look less
    often for the rest.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, YOUNG_LOOKS, MIDDLE_LOOKS)

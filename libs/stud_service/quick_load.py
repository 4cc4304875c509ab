"""Loading the modules of a service, which is most of what its start costs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Keep the garbage collector from looking, again and again, at modules that are being loaded: that takes a fifth of
    the time. What has been loaded stays, and is not looked at later either.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()

"""Ctrl-C while modules are loaded ends the process at once: nothing was begun that would have to be ended in order, and
the place where loading was interrupted says nothing to anybody. Loads next to nothing itself.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

INTERRUPTED: Final = 130
"""As shells have it."""


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Whoever ignores Ctrl-C, as what runs in the background does, or has a handler of their own keeps it."""
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

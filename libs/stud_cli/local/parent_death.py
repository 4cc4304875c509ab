"""Processes that end when whoever started them is killed: no part of a system runs on that nobody watches any more.

Linux tells a process when its parent has gone, however it went, if the process itself asked for that before. Neither
the log's server nor Python asks, and between fork and exec no code may run where there are threads: so a few lines of
Python ask and then become the program that is meant, with the same number. Elsewhere the program is started as it is.
The signal is SIGTERM, on which each of them stops in order.

The parent is the thread that started the process: only one that lives as long as its process may do so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

_SET_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of <linux/prctl.h>."""

_ASK: Final = f"""
import os, signal, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl({_SET_DEATH_SIGNAL}, int(signal.SIGTERM))
except (ImportError, OSError, AttributeError):
    pass  # then it is as elsewhere
if os.getppid() != int(sys.argv[1]):
    sys.exit("whoever started this is gone")
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores, and others would inherit
os.execv(sys.argv[2], sys.argv[2:])
"""


def bound_to_us(command: Sequence[str]) -> list[str]:
    """Return how to start a program (its whole path, and its arguments) so that it is told when we are gone."""
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _ASK, str(os.getpid()), *command]

"""No copy of this process's memory: it holds keys that open down cards and decks, and the log's password.

A core file would keep them on a disk, or give them to whoever the machine hands cores to. A process that is not
dumpable also cannot be looked into by others of the same user: debuggers, /proc/<pid>/mem, /proc/<pid>/environ.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid() -> None:
    """For the rest of the process's life; what it starts inherits the limit alone. Raises OSError."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # Also where the machine hands cores to a program, for which the limit does not count.
        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

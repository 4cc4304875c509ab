"""Gives measured processes the priority that this one was started with, so that `nice -n -19 stud bench` means them.

Services run in sessions of their own, and Linux with `sched_autogroup_enabled` weighs sessions, not processes: without
this a nice value changes nothing between two of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


def hand_on(pids: Iterable[int]) -> None:
    """Give the sessions of these processes, and our own, our nice value; where the system has no such thing, or does
    not allow it, nothing happens.
    """
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    if nice == 0:
        return
    for pid in [os.getpid(), *pids]:
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/autogroup").write_text(str(nice))

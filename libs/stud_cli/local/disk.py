"""Whether a disk still takes what is written: tested by writing, since quotas and missing inodes show nowhere else."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

ROOM_BYTES = 1 << 20
"""What must fit for a log to be begun or carried on: less is gone within seconds."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def full_disk(folder: Path) -> str | None:
    """Return what to say when nothing more can be written in a folder, None when it can. A folder that is not
    there yet is judged by the nearest one above it that is.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    try:
        with tempfile.TemporaryFile(dir=there, buffering=0) as file:
            left = bytes(ROOM_BYTES)
            while left:
                left = left[file.write(left) or len(left) :]
            os.fsync(file.fileno())
    except OSError as error:
        return is_full(folder) if error.errno in FULL else None
    return None


def is_full(folder: Path) -> str:
    """Return the sentence for a folder whose disk is full."""
    return f"the disk of {folder} is full: make room there, what was acknowledged is safe"

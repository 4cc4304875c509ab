"""The files that commands write where they were told to: whole or not at all, and what was there stays until then."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from stud_cli.exit_codes import could_not_run, said_as

NEW: Final = 0o666
"""Rights of a new file, less what the process's umask takes away."""


def require_places(*paths: Path | None) -> None:
    """Say now, and not after a long run, that a file cannot be kept. Raises CouldNotRun."""
    wanted = [path for path in paths if path is not None]
    for path in wanted:
        if not _can_be_written(path):
            could_not_run(f"{path} cannot be written: name a file in a directory that can")
    if len({os.path.realpath(path) for path in wanted}) < len(wanted):
        could_not_run(f"{wanted[0]} is named twice: want a file for each")


def write_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file beside its place and put it there once the disk has all of it. Raises CouldNotRun.

    On a full disk, a kill or a power failure what was there is there. ``mode``: the rights it has then; None = those
    of the file that is replaced, for a new one those that any new file has. A pipe or a device is written to as it is.
    """
    with said_as(f"{path} cannot be written: {{}}", OSError):
        there = Path(os.path.realpath(path))  # of a link the file that it names is replaced
        before = _status(path)
        if before is not None and not stat.S_ISREG(before.st_mode):
            path.write_bytes(data)
            return
        half = there.with_name(f".stud-{os.getpid()}-{secrets.token_hex(4)}")
        try:
            with os.fdopen(
                os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, NEW if mode is None else mode), "wb"
            ) as file:
                if before is not None and mode is None:
                    os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            half.replace(there)
        finally:
            with contextlib.suppress(OSError):
                half.unlink(missing_ok=True)


def _can_be_written(path: Path) -> bool:
    there = Path(os.path.realpath(path))
    before = _status(path)
    if before is not None and not stat.S_ISREG(before.st_mode):
        return not stat.S_ISDIR(before.st_mode) and os.access(there, os.W_OK)
    is_ours = before is None or os.access(there, os.W_OK)
    return is_ours and there.parent.is_dir() and os.access(there.parent, os.W_OK | os.X_OK)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None

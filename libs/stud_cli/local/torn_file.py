"""A way out when the append-only file ends in the middle of a write, as a power failure may leave it.

The server knows where its last whole write ends and cuts what follows; a copy of the file is made before. Nothing that
anybody was promised is lost by it: an append is acknowledged only after its write is on the disk, so what is torn never
was. Whether the disk kept its word does not show here: all logs are written to one file in one order, so each beginning
of it is a history without a gap.
"""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

import msgspec

from stud_cli.local.log_server import EmbeddedServer, TornFileError

_CUTTING = {
    "aof-load-truncated": "yes",
    # A large file might be rewritten at once, and be gone before anybody has seen how much was cut.
    "auto-aof-rewrite-percentage": "0",
}


class Cut(msgspec.Struct, frozen=True):
    """How much was cut off which file, and where it is kept as it was."""

    file: Path
    size: int
    copy: Path


async def cut_torn_tail(torn: TornFileError, data_dir: Path) -> Cut:
    """Keep a copy, and let a server for this one purpose cut the write that never ended. Raises EmbeddedServerError."""
    copy = _keep(torn.file, data_dir)
    async with EmbeddedServer(data_dir, settings=_CUTTING):
        pass
    return Cut(torn.file, copy.stat().st_size - torn.file.stat().st_size, copy)


def _keep(file: Path, folder: Path) -> Path:
    """Return a copy of a file that is on the disk, under a name that nothing had before."""
    names = (folder / f"{file.name}.torn-{number}" for number in itertools.count(1))
    copy = next(name for name in names if not name.exists())
    try:
        with file.open("rb") as source, copy.open("xb") as sink:
            shutil.copyfileobj(source, sink)
            sink.flush()
            os.fsync(sink.fileno())
    except OSError:
        copy.unlink(missing_ok=True)
        raise
    return copy

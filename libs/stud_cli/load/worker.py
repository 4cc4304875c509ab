"""One of several processes of a run: ``python -m stud_cli.load.worker``, started by `workers` and by nobody else.

The first line of standard input is the `Job`; lines of standard output are `Message`s. It plays once it is told to.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import msgspec

from stud_cli.exit_codes import COULD_NOT_RUN, FINE, CouldNotRun
from stud_cli.load.places import Place
from stud_cli.local.stopping import run_with_one_stop
from stud_client import StudError
from stud_load import LoadPlan, Report, run
from stud_load.running import Progress
from stud_service.event_loop import new_event_loop

GO: Final = b"go\n"
INTERRUPTED: Final = 130


class Job(msgspec.Struct):
    """What one process does; ``name`` is what it is called in the report."""

    plan: LoadPlan
    name: str
    endpoints: dict[str, str]
    keys_dir: str
    pids: dict[str, int]
    tls: dict[str, str] = {}


class Message(msgspec.Struct, omit_defaults=True):
    """What it says; one field is set."""

    progress: Progress | None = None
    seated: bool = False
    report: Report | None = None
    failed: str = ""


def say(message: Message) -> None:
    """Write one line, at once."""
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


async def _seated() -> None:
    say(Message(seated=True))
    # A thread that reads would hold up the end of a process that is told to stop meanwhile.
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        line = await reader.readline()
    finally:
        transport.close()
    if line != GO:
        raise CouldNotRun("whoever started this is gone")


async def _play(job: Job) -> None:
    place = Place(job.endpoints, Path(job.keys_dir), job.pids, tls=job.tls)
    report = await run(
        job.plan,
        place.target(),
        tell=lambda progress: say(Message(progress=progress)),
        gate=_seated,
        driver=job.name,
    )
    say(Message(report=report))


def main() -> int:
    """Play, and say why not."""
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=Job)
    try:
        run_with_one_stop(_play(job), new_event_loop)
    except (StudError, CouldNotRun, ValueError, TimeoutError) as error:
        say(Message(failed=str(error) or type(error).__name__))
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        return INTERRUPTED  # by whoever started this, who says so
    return FINE


if __name__ == "__main__":
    sys.exit(main())

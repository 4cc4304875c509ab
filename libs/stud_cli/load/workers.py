"""One run in one process or in several: they begin together, and their reports are merged."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import msgspec

from stud_cli.exit_codes import CouldNotRun
from stud_cli.load.places import Place
from stud_cli.load.worker import GO, Job, Message
from stud_cli.local.children import end
from stud_cli.local.parent_death import bound_to_us
from stud_load import LoadPlan, Report, run
from stud_load.merging import merged, together
from stud_load.running import Progress, Tell

LINE_LIMIT: Final = 256 * 2**20
"""A whole report is one line."""

ENDS_WITHIN_S: Final = 30.0
"""They close their tables first."""


async def play(plan: LoadPlan, processes: int, place: Place, tell: Tell) -> Report:
    """Play a plan and return what was measured. Raises CouldNotRun, StudError, ValueError."""
    if processes == 1:
        return await run(plan, place.target(), tell=tell)
    crew = _Crew(tell)
    try:
        for number, share in enumerate(plan.shares(processes), 1):
            pids = dict(place.pids) if number == 1 else {}
            job = Job(share, f"driver {number}", place.endpoints, str(place.keys_dir), pids, dict(place.tls))
            await crew.start(job)
        return merged(await crew.reports())
    finally:
        await crew.stop()


class _Crew:
    """The processes of a run."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._processes: list[asyncio.subprocess.Process] = []
        self._progress: dict[int, Progress] = {}
        self._seated = 0

    async def start(self, job: Job) -> None:
        """Start one and hand it its job."""
        process = await asyncio.create_subprocess_exec(
            *bound_to_us([sys.executable, "-m", "stud_cli.load.worker"]),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT,
            start_new_session=True,  # Ctrl-C is for us; we end them
        )
        self._processes.append(process)
        await self._write(process, msgspec.json.encode(job) + b"\n")

    async def reports(self) -> list[Report]:
        """Wait for every report. Raises CouldNotRun as soon as one process cannot go on."""
        listening = [asyncio.create_task(self._listen(number)) for number in range(len(self._processes))]
        try:
            return await asyncio.gather(*listening)
        finally:
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)

    async def _listen(self, number: int) -> Report:
        stdout = self._processes[number].stdout
        while stdout is not None and (line := await stdout.readline()):
            message = msgspec.json.decode(line, type=Message)
            if message.failed:
                raise CouldNotRun(f"driver {number + 1}: {message.failed}")
            if message.report is not None:
                return message.report
            if message.seated:
                await self._one_more_sits()
            if message.progress is not None:
                self._progress[number] = message.progress
                self._tell(_together(list(self._progress.values())))
        raise CouldNotRun(f"driver {number + 1} ended with {await self._processes[number].wait()}")

    async def _one_more_sits(self) -> None:
        self._seated += 1
        if self._seated == len(self._processes):
            await asyncio.gather(*(self._write(process, GO) for process in self._processes))

    async def _write(self, process: asyncio.subprocess.Process, line: bytes) -> None:
        if process.stdin is not None:
            process.stdin.write(line)
            await process.stdin.drain()

    async def stop(self) -> None:
        """End what still runs; who waits to be told to begin hears that nobody will."""
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        await asyncio.gather(*(end(process, ENDS_WITHIN_S) for process in self._processes))


def _together(all_of_them: list[Progress]) -> Progress:
    """Return how far the slowest is, and what they do together."""
    slowest = min(all_of_them, key=lambda progress: progress.share)
    intervals = [progress.interval for progress in all_of_them if progress.interval is not None]
    return Progress(
        slowest.phase,
        slowest.share,
        together(intervals) if intervals else None,
        {name: sample for progress in all_of_them for name, sample in progress.samples.items()},
        sum(progress.violations for progress in all_of_them),
        sum(progress.refused for progress in all_of_them),
    )

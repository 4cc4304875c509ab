"""What came of a run, and the file that later runs are held against."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

import msgspec

from stud_cli.bench.ratios import OF_MACHINE, better
from stud_load.sense import parsed

BOUNDS: Final = (
    ("*.ratios.*", 0.001, 1e9),
    ("*.runs", 1, 1e4),
    ("*.machine.cpus", 1, 1e5),
    ("*.machine.nice", -20, 19),
)
"""What can be recorded, see `stud_load.sense`: a run is held against it, and nothing is worse than 0."""


class Machine(msgspec.Struct, frozen=True):
    """Where it was measured. ``nice``: priority of what was measured, -20 to 19. Loads: processes that wanted to run,
    on average over the last minute; what is more than what was measured is other work.
    """

    cpus: int
    model: str
    system: str
    python: str
    nice: int
    load_before: float = 0.0
    load_after: float = 0.0


class Bench(msgspec.Struct, frozen=True):
    """A run. ``figures`` by part, in the units of their names; ``ratios`` are those among them that compare."""

    brief: bool
    runs: int
    machine: Machine
    seconds: float
    figures: dict[str, dict[str, float]]
    ratios: dict[str, float]


class Recorded(msgspec.Struct, frozen=True):
    """Ratios of one part that were good once, and where and of how many runs they are."""

    machine: Machine
    runs: int
    ratios: dict[str, float]


class Records(msgspec.Struct, frozen=True):
    """By part: those of whole runs and those of brief ones, which measure less and are compared among themselves. Parts
    may be of different runs, so each says where it comes from.
    """

    full: dict[str, Recorded] = {}
    brief: dict[str, Recorded] = {}

    def ratios(self, *, brief: bool, model: str | None = None) -> dict[str, float]:
        """Return those of runs of one kind, by name; for a processor ``model`` without those of another model that say
        something of it alone.
        """
        parts = self.brief if brief else self.full
        return {
            name: value
            for part in parts.values()
            for name, value in part.ratios.items()
            if model in {None, part.machine.model} or name not in OF_MACHINE
        }


def the_better(told: Bench, again: Bench) -> Bench:
    """Return a run with some parts measured again: the better of each ratio, and the figures of the last try."""
    ratios = {name: better(name, value, told.ratios[name]) for name, value in again.ratios.items()}
    return msgspec.structs.replace(
        told,
        machine=msgspec.structs.replace(told.machine, load_after=again.machine.load_after),
        seconds=told.seconds + again.seconds,
        figures=told.figures | again.figures,
        ratios=told.ratios | ratios,
    )


def this_machine() -> Machine:
    """Return this machine as it is now."""
    return Machine(
        cpus=os.cpu_count() or 1,
        model=_model() or platform.machine(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        nice=os.getpriority(os.PRIO_PROCESS, 0),
        load_before=load(),
    )


def load() -> float:
    """Return the load of the last minute."""
    return round(os.getloadavg()[0], 2)


def _model() -> str:
    """Return what Linux calls the processor; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def read_records(path: Path) -> Records:
    """Read what `recorded` wrote. Raises OSError, and ValueError where it is something else."""
    try:
        return parsed(path.read_bytes(), Records, BOUNDS)
    except ValueError as error:
        raise ValueError(f"{path}: not what `stud bench --record` writes ({error})") from None


def recorded(bench: Bench, before: Records) -> Records:
    """Return the records with this run's ratios instead of those of the same kind and part."""
    now: dict[str, Recorded] = {}
    for part in bench.figures:
        ratios = {name: round(value, 3) for name, value in bench.ratios.items() if name.startswith(f"{part}.")}
        if ratios:
            now[part] = Recorded(bench.machine, bench.runs, ratios)
    return Records(before.full, before.brief | now) if bench.brief else Records(before.full | now, before.brief)


def as_json(value: Bench | Records) -> bytes:
    """Return it as it is written: JSON that people read too."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"

"""How long the system takes to start, and what it costs to load.

    .venv/bin/python benches/bench_start.py [--runs N] [--json]

`stud up` on an empty directory until it says that it is ready, in seconds; the CPU of `stud --help`; the CPU of loading
each service's modules. Each is the median of several runs, and is told as a multiple of what Python itself takes to
start with asyncio and gRPC, measured in the same run: that much no service can do without.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from stud_cli.local.parent_death import bound_to_us
from stud_cli.local.ports import Port
from stud_topology.services import NAMES

STUD = str(Path(sys.executable).with_name("stud"))
FLOOR = "import asyncio, grpc.aio"
LOAD = """
from stud_service.garbage import nothing_collected
with nothing_collected():
    import {}_service.app, stud_service.run
"""


def cpu_s(command: Sequence[str]) -> float:
    """Seconds of CPU that a command takes to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ready_s() -> tuple[float, float]:
    """Seconds from `stud up` on an empty directory until it is ready, and the CPU of all its processes to their end."""
    with tempfile.TemporaryDirectory() as directory:
        command = [STUD, "up", "--json", "--data", f"{directory}/data", "--port", str(_row())]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        with subprocess.Popen(
            bound_to_us(command), cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as up:
            assert up.stdout is not None
            line = up.stdout.readline()
            took = time.monotonic() - began
            up.send_signal(signal.SIGINT)
            up.communicate()
        assert json.loads(line)["ready"]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _row() -> int:
    """The first of some free ports in a row; none is held when this returns."""
    for first in range(20_000 + os.getpid() % 10_000, 60_000, 10):
        with contextlib.suppress(OSError):
            held = [Port(number) for number in range(first, first + len(NAMES) + 1)]
            return held[0].number
    raise SystemExit("no row of ports is free")


def measure(runs: int = 3) -> dict[str, float]:
    """Medians; seconds, and multiples of Python's own start."""
    loads = {name: LOAD.format(name) for name in NAMES}
    cpu_s([STUD, "--help"])  # compiles what was not yet
    figures: dict[str, list[float]] = {}
    for _ in range(runs):
        ready, all_cpu = ready_s()
        taken = {
            "floor_cpu_s": cpu_s([sys.executable, "-c", FLOOR]),
            "up_ready_s": ready,
            "up_and_down_cpu_s": all_cpu,
            "help_cpu_s": cpu_s([STUD, "--help"]),
            **{f"load_{name}_cpu_s": cpu_s([sys.executable, "-c", code]) for name, code in loads.items()},
        }
        for name, value in taken.items():
            figures.setdefault(name, []).append(value)
    report = {name: statistics.median(values) for name, values in figures.items()}
    floor = report["floor_cpu_s"]
    report |= {name.removesuffix("_s") + "_of_floor": value / floor for name, value in report.items() if "_cpu" in name}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    report = {name: round(value, 3) for name, value in measure(arguments.runs).items()}
    for name, value in report.items():
        print(f"{name:>32} {value:>8.3f}")
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

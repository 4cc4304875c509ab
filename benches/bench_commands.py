"""What the commands that read a log cost on logs of several sizes: seconds, CPU and peak memory of each.

    .venv/bin/python benches/bench_commands.py DIR… [--json]

Each DIR holds a log that `make_log.py` made; its index of hands, if there is one, is made anew. The server is started
once for each, as a running system would have it: what it needs to load its file is told by itself, since every command
with `--data DIR` waits for that first. A command's own figures are those of its process, Python's start included; the
memory is that of the process at its peak.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil

from stud_cli.index.command import NAME
from stud_cli.index.store import open_store
from stud_cli.inspect.log import VAR
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.stopping import run_with_one_stop

STUD = [sys.executable, "-c", "from stud_cli.main import main; main()"]
TABLE = "table-0001"
HAND = "7"


class Cost(NamedTuple):
    """Of one process."""

    seconds: float
    cpu_s: float
    peak_mib: float


def cost_of(words: list[str], environ: dict[str, str], folder: Path) -> Cost:
    """Run a command to its end; whatever it found is fine, not running is not."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [*STUD, *words], env=environ, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, 1}, f"{' '.join(words)} in {folder} ended with {code}"
    return Cost(round(seconds, 2), round(used.ru_utime + used.ru_stime, 2), round(used.ru_maxrss / 1024, 1))


def forget_some(folder: Path) -> None:
    """Have the index lack a table: as if its hands had been played since."""
    with open_store(folder / VAR / NAME) as store:
        store.forget([TABLE])


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """What is measured, by name."""
    yield "hands, first", ["hands"]
    yield "hands, up to date", ["hands"]
    yield "hands --showdown --min-pot", ["hands", "--showdown", "--min-pot", "5.00"]
    forget_some(folder)
    yield "hands, a table behind", ["hands"]
    yield "replay", ["replay", TABLE]
    yield "replay --json", ["replay", TABLE, "--json"]
    yield "replay --hand", ["replay", TABLE, "--hand", HAND]
    yield "verify", ["verify"]
    yield "audit", ["audit"]
    yield "dead list", ["dead", "list"]


def memory_of(pid: int | None) -> float:
    """MiB that a process has now."""
    return round(psutil.Process(pid).memory_info().rss / 2**20, 1)


async def measure(folder: Path) -> dict[str, Cost]:
    """All commands on one log."""
    shutil.rmtree(folder / VAR, ignore_errors=True)
    start = time.perf_counter()
    async with EmbeddedServer(folder / "redis", environ={"PATH": os.environ.get("PATH", "")}) as server:
        loaded_s = time.perf_counter() - start
        out = {"the server loads its file": Cost(round(loaded_s, 2), 0.0, memory_of(server.pid))}
        environ = {**os.environ, "STUD_REDIS_URL": server.url, "STUD_KEYS_DIR": str(folder / "keys")}
        for name, words in commands(folder):
            out[name] = await asyncio.to_thread(cost_of, words, environ, folder)
            print(
                f"{folder.name:>10} {name:<28} {out[name].seconds:>9.2f} s {out[name].peak_mib:>9.1f} MiB", flush=True
            )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dirs", type=Path, nargs="+", help="data directories with made logs")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    report = {folder.name: run_with_one_stop(measure(folder)) for folder in arguments.dirs}
    if arguments.json:
        print(
            json.dumps({name: {what: cost._asdict() for what, cost in costs.items()} for name, costs in report.items()})
        )


if __name__ == "__main__":
    main()

"""How many version-checked appends a second the event log takes, fsync always, beside XADD in pipelines.

    .venv/bin/python benches/bench_eventlog.py
    .venv/bin/python benches/bench_eventlog.py --streams 64 --seconds 5 --in-flight 4 --json

Every stream has one append in flight, as a table has. The least it could cost is `grouped_xadd.py`: as many streams, as
many bytes, as many pipelines under way, no version, no chain, no outbox. Starts a server of its own unless
STUD_REDIS_URL is set; the client and the server share the machine. Medians of several runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.grouped_xadd import GroupedXadd
from benches.priority import hand_on
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.stopping import run_with_one_stop
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import Append, FeedItem, Head
from stud_service.event_loop import new_event_loop

BODY = b"b" * 300
EVENT = b"e" * 120

Write = Callable[[int, float, list[float]], Awaitable[None]]
"""Writes one stream until a moment, and notes how long each append took."""


def appends_to(log: EventLog) -> Write:
    """One table each: appends one after the other. Every fourth commit has an outbox, about as hands have."""

    async def write(number: int, until: float, waits: list[float]) -> None:
        table = f"bench-{number}-{os.urandom(4).hex()}"
        shard = keys.shard_of(table)
        stream, feed = keys.table_log(shard, table), keys.table_feed(shard)
        head = Head()
        while (start := time.perf_counter()) < until:
            outbox = (FeedItem(feed, EVENT),) if head.version % 4 == 0 else ()
            head = await log.append(Append(stream, head.version, head.hash, os.urandom(16), BODY, outbox))
            waits.append(time.perf_counter() - start)

    return write


def bare_appends_to(log: GroupedXadd) -> Write:
    """The same number of bytes, and nothing that is checked."""

    async def write(number: int, until: float, waits: list[float]) -> None:
        stream = f"bare:{number}:{os.urandom(4).hex()}"
        while (start := time.perf_counter()) < until:
            await log.append(stream, BODY)
            waits.append(time.perf_counter() - start)

    return write


async def measure(write: Write, streams: int, seconds: float) -> dict[str, float]:
    """Appends a second, their latency, and the CPU of this process for each."""
    waits: list[float] = []
    used = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    await asyncio.gather(*(write(n, start + seconds, waits) for n in range(streams)))
    took = time.perf_counter() - start
    spent = resource.getrusage(resource.RUSAGE_SELF)
    cpu = (spent.ru_utime + spent.ru_stime - used.ru_utime - used.ru_stime) / len(waits)
    waits.sort()
    return {
        "appends_per_s": len(waits) / took,
        "p50_ms": waits[len(waits) // 2] * 1e3,
        "p99_ms": waits[len(waits) * 99 // 100] * 1e3,
        "us_cpu": cpu * 1e6,
    }


async def reading(log: EventLog, commits: int) -> float:
    """Microseconds a commit that is read and checked."""
    stream = keys.table_log(0, "bench-read-" + os.urandom(4).hex())
    head, appends = Head(), []
    for _ in range(commits):
        append = Append(stream, head.version, head.hash, os.urandom(16), BODY)
        appends.append(append)
        head = append.head
    await log.append_many(appends)
    start = time.perf_counter()
    read = [commit.version async for commit in log.read_all(stream)]
    took = time.perf_counter() - start
    if read != list(range(1, commits + 1)):
        raise SystemExit("read something else than was written")
    return took / commits * 1e6


async def compare(streams: list[int], in_flight: list[int], seconds: float, commits: int) -> dict[str, float]:
    """One run: each number of streams, ours beside bare appends on the same server."""
    once: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedServer(Path(directory)) as server:
            hand_on([] if server.pid is None else [server.pid])
            for pipelines in in_flight:
                log = await RedisEventLog.connect(server.url, max_in_flight=pipelines)
                bare = GroupedXadd(server.url, pipelines)
                for number in streams:
                    name = f"in_flight_{pipelines}.streams_{number}"
                    ours = await measure(appends_to(log), number, seconds)
                    theirs = await measure(bare_appends_to(bare), number, seconds)
                    once |= {f"{name}.{key}": value for key, value in ours.items()}
                    once |= {f"{name}.xadd_{key}": value for key, value in theirs.items()}
                    once[f"{name}.of_xadd"] = ours["appends_per_s"] / theirs["appends_per_s"]
                once[f"in_flight_{pipelines}.us_per_commit_read"] = await reading(log, commits)
                await bare.close()
                await log.close()
    memory = MemoryEventLog()
    of_memory = await measure(appends_to(memory), 64, seconds)
    await memory.close()
    return once | {f"memory.{key}": value for key, value in of_memory.items()}


async def medians(
    streams: list[int], in_flight: list[int], seconds: float, runs: int, commits: int = 20_000
) -> dict[str, float]:
    """Medians of several runs; a ratio is taken in each."""
    taken: dict[str, list[float]] = {}
    for _ in range(runs):
        for name, value in (await compare(streams, in_flight, seconds, commits)).items():
            taken.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, nargs="*", default=[1, 64, 512])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--in-flight", type=int, nargs="*", default=[2])
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    measuring = medians(arguments.streams, arguments.in_flight, arguments.seconds, arguments.runs)
    figures = run_with_one_stop(measuring, new_event_loop)
    report = {name: round(value, 3) for name, value in figures.items()}
    for name, value in report.items():
        print(f"{name:>44} {value:>12,.3f}")
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

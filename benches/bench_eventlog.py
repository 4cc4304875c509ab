"""How many version-checked appends a second the event log takes, fsync always, on this machine.

    .venv/bin/python benches/bench_eventlog.py
    .venv/bin/python benches/bench_eventlog.py --streams 64 --seconds 5 --in-flight 4

Every stream has one append in flight, as a table has. Starts a server of its own unless STUD_REDIS_URL is set; the
client and the server share the machine. Figures go to docs/capacity.md by hand.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from pathlib import Path

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import Append, FeedItem, Head

BODY = b"b" * 300
EVENT = b"e" * 120


async def write_stream(log: EventLog, number: int, until: float, waits: list[float]) -> None:
    """One table: appends one after the other. Every fourth commit has an outbox, about as hands have."""
    table = f"bench-{number}-{os.urandom(4).hex()}"
    shard = keys.shard_of(table)
    stream, feed = keys.table_log(shard, table), keys.table_feed(shard)
    head = Head()
    while (start := time.perf_counter()) < until:
        outbox = (FeedItem(feed, EVENT),) if head.version % 4 == 0 else ()
        head = await log.append(Append(stream, head.version, head.hash, os.urandom(16), BODY, outbox))
        waits.append(time.perf_counter() - start)


async def measure(log: EventLog, name: str, streams: int, seconds: float) -> None:
    waits: list[float] = []
    used = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    await asyncio.gather(*(write_stream(log, n, start + seconds, waits) for n in range(streams)))
    took = time.perf_counter() - start
    spent = resource.getrusage(resource.RUSAGE_SELF)
    cpu = (spent.ru_utime + spent.ru_stime - used.ru_utime - used.ru_stime) / len(waits)
    waits.sort()
    p50, p99 = waits[len(waits) // 2] * 1e3, waits[len(waits) * 99 // 100] * 1e3
    rate = f"{name:>6} {streams:>7} streams {len(waits) / took:>9.0f} appends/s"
    print(f"{rate}   p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   {cpu * 1e6:6.1f} µs CPU each")


async def measure_reading(log: EventLog, commits: int) -> None:
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
    print(f"read_all {commits} commits, checked: {commits / took:.0f} commits/s, {took / commits * 1e6:.1f} µs each")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, nargs="*", default=[1, 64, 512])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--in-flight", type=int, nargs="*", default=[2])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedServer(Path(directory)) as server:
            for in_flight in arguments.in_flight:
                log = await RedisEventLog.connect(server.url, max_in_flight=in_flight)
                print(f"max_in_flight {in_flight}")
                for streams in arguments.streams:
                    await measure(log, "redis", streams, arguments.seconds)
                await measure_reading(log, 20_000)
                await log.close()
    memory = MemoryEventLog()
    await measure(memory, "memory", 64, arguments.seconds)
    await memory.close()


if __name__ == "__main__":
    asyncio.run(main())

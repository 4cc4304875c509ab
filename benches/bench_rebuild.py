"""What it costs to rebuild a table from its log: in memory beside an aggregate of the `eventsourcing` library with
equal events, and from a real log server.

    .venv/bin/python benches/bench_rebuild.py [--hands N] [--runs N] [--json]

Both sides begin with bytes in memory and end with the same table, which is compared. Ours check the hash chain,
decode, fold, and remember which requests were answered, as a table that is opened does; the library's repository reads
its recorder in memory, its mapper and JSON transcoder decode our events, and its aggregate applies them with the core's
folding functions. Given in CPU. Both sides take turns, and the best turn of each counts: other work on the machine
only ever adds, to CPU too (by medians the same code was told to be 3 and 7 times as fast as the library).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints

import msgspec
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate
from eventsourcing.persistence import DatetimeAsISO, JSONTranscoder, Mapper, Transcoding, UUIDAsHex

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.bench_core import Log, Player
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.stopping import run_with_one_stop
from stud_core import events as table_events
from stud_core import ruleset
from stud_core.evolve import apply
from stud_core.presets import WILLIAM_HILL
from stud_core.state import Table
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import Append, Head
from stud_wire.commits import Meta, encode_commit
from table_service.rebuild import rebuild

PLAYERS = 6


class TableOfTheLibrary(Aggregate):
    """The same table: the library stores, checks and applies our events, and the core's functions fold them."""

    def __init__(self) -> None:
        self.table = Table()

    class Recorded(Aggregate.Event):
        """One event of ours and the version of the commit that it came in."""

        event: Any
        in_version: int

        def apply(self, aggregate: Any) -> None:
            aggregate.table.version = self.in_version
            apply(aggregate.table, self.event)


class StructAsDict(Transcoding):
    """How the library is told to store a struct: as a dictionary of its fields."""

    def __init__(self, kind: type[msgspec.Struct]) -> None:
        self.type = kind
        self.name = kind.__name__
        self._read: list[tuple[str, Callable[[Any], Any]]] = []
        for name, hint in get_type_hints(kind).items():
            for part in (hint, *get_args(hint)):
                if get_origin(part) is tuple:
                    self._read.append((name, tuple))
                elif isinstance(part, type) and issubclass(part, IntEnum) and get_origin(hint) is not tuple:
                    self._read.append((name, part))

    def encode(self, obj: Any) -> dict[str, Any]:
        return {name: getattr(obj, name) for name in obj.__struct_fields__}

    def decode(self, data: dict[str, Any]) -> Any:
        for name, read in self._read:
            if data[name] is not None:
                data[name] = read(data[name])
        return self.type(**data)


class BytesAsHex(Transcoding):
    type = bytes
    name = "bytes_hex"

    def encode(self, obj: bytes) -> str:
        return obj.hex()

    def decode(self, data: str) -> bytes:
        return bytes.fromhex(data)


def mapper_of_the_library() -> Mapper[Any]:
    """The library's mapper with its JSON transcoder, told of all structs that occur in a table's log."""
    transcoder = JSONTranscoder()
    for transcoding in (UUIDAsHex(), DatetimeAsISO(), BytesAsHex()):
        transcoder.register(transcoding)
    for module in (table_events, ruleset):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                transcoder.register(StructAsDict(kind))
    return Mapper(transcoder)


def played(hands: int) -> Log:
    """The log of one table."""
    player = Player(WILLIAM_HILL, PLAYERS, random.Random(0), stack=2_000_000)
    for _ in range(hands):
        player.hand()
    return player.log


async def written(log: CommitLog, commits: Log, stream: str) -> None:
    """Write the commits as a table does."""
    head, appends = Head(), []
    for version, events in commits:
        meta = Meta(1_700_000_000_000 + version, "account-1", f"request-{version}", os.urandom(32), None, "bench")
        append = Append(stream, head.version, head.hash, os.urandom(16), encode_commit(events, meta))
        appends.append(append)
        head = append.head
    for start in range(0, len(appends), 500):
        await log.append_many(appends[start : start + 500])


class ApplicationOfTheLibrary(Application[Any]):
    """The library as it is used: a repository over its recorder in memory."""

    def construct_mapper(self) -> Mapper[Any]:
        return mapper_of_the_library()


def stored_by_the_library(commits: Log) -> Callable[[], Table]:
    """Store equal events; return what rebuilds the table from them."""
    application = ApplicationOfTheLibrary()
    aggregate: Any = TableOfTheLibrary()
    for version, events in commits:
        for event in events:
            aggregate.trigger_event(TableOfTheLibrary.Recorded, event=event, in_version=version)
    application.save(aggregate)

    def again() -> Table:
        found: Any = application.repository.get(aggregate.id)
        return cast("Table", found.table)

    return again


def _took_s(work: Callable[[], Table]) -> tuple[float, Table]:
    """Seconds of CPU, and what was rebuilt."""
    gc.collect()
    start = time.process_time()
    table = work()
    return time.process_time() - start, table


async def _rebuilt_s(log: CommitLog, stream: str) -> tuple[float, float, Table]:
    """Seconds of CPU and of the clock, and what was rebuilt."""
    gc.collect()
    start, cpu = time.perf_counter(), time.process_time()
    found = await rebuild(log, stream)
    return time.process_time() - cpu, time.perf_counter() - start, found.table


TURNS = 8
"""Of a run: of three short ones the luckier side's best was told, and the same code was 1.6 and 3.7 times as fast."""


async def measure(hands: int = 100, runs: int = 3) -> dict[str, float]:
    """The best of several turns: events a second of both sides, their ratio, µs a commit from memory and server."""
    commits = played(hands)
    events = sum(len(events) for _, events in commits)
    stream = keys.table_log(0, "bench")
    library = stored_by_the_library(commits)
    memory = MemoryEventLog()
    await written(memory, commits, stream)
    taken: list[tuple[float, float, float, float]] = []
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedServer(Path(directory)) as server:
            log = await RedisEventLog.connect(server.url)
            await written(log, commits, stream)
            for _ in range(TURNS * runs):
                library_s, theirs = _took_s(library)
                ours_s, _, table = await _rebuilt_s(memory, stream)
                server_s, waited_s, read = await _rebuilt_s(log, stream)
                assert theirs == table == read
                taken.append((library_s, ours_s, server_s, waited_s))
            await log.close()
    await memory.close()
    library_took, ours, from_server, waited = map(min, zip(*taken, strict=True))
    return {
        "commits": len(commits),
        "events_per_commit": events / len(commits),
        "ours_events_per_s": events / ours,
        "library_events_per_s": events / library_took,
        "times_library": library_took / ours,
        "times_library_from_server": library_took / from_server,
        "us_per_commit_in_memory": ours / len(commits) * 1e6,
        "us_per_commit_from_server": from_server / len(commits) * 1e6,
        "us_per_commit_from_server_waiting_too": waited / len(commits) * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hands", type=int, default=100, help="hands in the log (default 100)")
    parser.add_argument(
        "--runs", type=int, default=3, help=f"runs of {TURNS} turns, of which the best counts (default 3)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    report = {
        name: round(value, 2) for name, value in run_with_one_stop(measure(arguments.hands, arguments.runs)).items()
    }
    for name, value in report.items():
        print(f"{name:>28} {value:>12,.2f}")
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

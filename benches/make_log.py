"""Makes a log of as many tables and hands as are asked for, to measure what a command costs after months of play.

    .venv/bin/python benches/make_log.py DIR [--tables N] [--hands N] [--seed N] [--json]

DIR then is a data directory: `stud verify --data DIR` and every other command read it, `stud up --data DIR` goes on
with it. Tables of both rulesets are played in the core (`made_table.py`): commits, hash chains, sealed decks, verdicts
and ledgers are those that the services would have written, and `stud verify` and `stud audit` find nothing. What is
made follows from the seed, keys included, so nothing of it is secret; the marker of the log alone does not.

What a running system would have besides: feeds, and the cursors of their readers. As in a log whose feeds were trimmed
to their ends there is nothing in them. Nobody's call is remembered with its answer's text, and no commit names a build
that was ever released.

Entries are put into the server around the log's own client, which would take ten times as long: there is no other
writer here whose commits could be in the way, and in the end every stream's head is compared with what was made.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benches.made_house import House
from benches.made_table import MadeTable
from stud_cli.local.log_server import EmbeddedServer, holds_log, info_of
from stud_cli.local.stopping import run_with_one_stop
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import TableConfig
from stud_eventlog import keys
from stud_eventlog.entries import LOG_FIELDS, log_id
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import Append, Head
from stud_service.keyring import FOLDERS, KeyRing, ensure_dev_keys
from table_service.views import summary

FIRST_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: when the first table opens."""

NEXT_MS = 420_000
"""The next one opens so much later."""

SMALL_BETS = (50, 100, 200, 500, 1000)
CURRENCIES = ("EUR", "GBP")
SETTINGS = {"appendfsync": "no", "auto-aof-rewrite-percentage": "0"}
"""While it is made. What is kept is on disk when the server has stopped."""


# --- what is made ----------------------------------------------------------------------------------------------------


def config_of(number: int) -> TableConfig:
    """Tables take turns: rulesets, currencies, stakes."""
    ruleset = (PLAYNOW, WILLIAM_HILL)[number % 2]
    currency = CURRENCIES[number // 2 % len(CURRENCIES)]
    small_bet = SMALL_BETS[number // 4 % len(SMALL_BETS)]
    table_id = f"table-{number + 1:04}"
    return table_config(ruleset, table_id=table_id, name=f"Table {number + 1}", currency=currency, small_bet=small_bet)


def write_keys(folder: Path, seed: int) -> KeyRing:
    """The keys of the made system; those of tokens are as `stud up` makes them."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in FOLDERS:
        path = folder / f"{name}.key"
        path.touch(mode=0o600)
        path.write_bytes(hashlib.sha256(f"made log {seed}: {name}".encode()).digest())
    ensure_dev_keys(folder)
    return KeyRing.load(folder, *FOLDERS)


def hands_of(house: House, ring: KeyRing, tables: int, hands: int, seed: int) -> Iterator[MadeTable]:
    """Open all tables, then play a hand at each in turn; yield the table after each hand."""
    accounts = [f"player-{number + 1:05}" for number in range(max(12, 2 * tables))]
    made = [
        MadeTable(house, config_of(number), ring, accounts, seed, FIRST_MS + number * NEXT_MS)
        for number in range(tables)
    ]
    for _ in range(hands):
        for table in made:
            table.play_hand()
            yield table


# --- where it is put -------------------------------------------------------------------------------------------------


class Pipe:
    """Commands to a server that is told not to answer."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._parts: list[bytes] = []
        self.send(b"CLIENT", b"REPLY", b"OFF")

    def send(self, *words: bytes) -> None:
        """Put a command in line."""
        self._parts.append(b"*%d\r\n" % len(words))
        self._parts += [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]

    def flush(self) -> None:
        """Send what is in line."""
        data, self._parts = b"".join(self._parts), []
        self._socket.sendall(data)

    def close(self) -> None:
        self.flush()
        self._socket.close()


def put(pipe: Pipe, append: Append) -> None:
    """A commit as the script of the log's client stores it."""
    hash_name, prev_name, id_name, body_name = LOG_FIELDS
    pipe.send(
        b"XADD", append.stream.encode(), log_id(append.expected_version + 1).encode(), hash_name, append.head.hash,
        prev_name, append.prev_hash, id_name, append.commit_id, body_name, append.body,
    )  # fmt: skip


def put_row(pipe: Pipe, table: MadeTable) -> None:
    """A table's line in the lobby."""
    row = summary(table.state)
    pipe.send(b"HSET", keys.lobby(keys.shard_of(row.table)).encode(), row.table.encode(), row.SerializeToString())


async def compare(log: RedisEventLog, heads: dict[str, Head]) -> None:
    """Raise where a stream does not end as it was made."""
    for stream, head in heads.items():
        found = await log.head(stream)
        if found != head:
            raise AssertionError(f"{stream}: {found} was stored, {head} was made")


async def compact(port: int, silent_s: float = 600) -> None:
    """Have the server write its file anew, as it does by itself from time to time: it is read faster."""
    pipe = Pipe(port)
    pipe.send(b"BGREWRITEAOF")
    pipe.close()
    until = time.monotonic() + silent_s
    await asyncio.sleep(0.5)
    while (await info_of(port)).get("aof_rewrite_in_progress") != "0":
        if time.monotonic() > until:
            raise TimeoutError("the server does not come to an end with its file")
        await asyncio.sleep(0.2)


def size_of(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def make(folder: Path, tables: int, hands: int, seed: int, console: Console | None = None) -> dict[str, Any]:
    """Make a log; return what is in it and how long it took."""
    if holds_log(folder / "redis"):
        raise FileExistsError(f"there is a log in {folder}: want a directory that has none")
    ring = write_keys(folder / "keys", seed)
    house = House(seed)
    start = time.perf_counter()
    async with EmbeddedServer(
        folder / "redis", settings=SETTINGS, environ={"PATH": os.environ.get("PATH", "")}
    ) as server:
        log = await RedisEventLog.connect(server.url, allow_volatile=True)
        await log.initialise()
        pipe = Pipe(server.port)
        for table in _shown(hands_of(house, ring, tables, hands, seed), tables * hands, console):
            for append in house.out.take():
                put(pipe, append)
            put_row(pipe, table)
            pipe.flush()
        pipe.close()
        seconds = time.perf_counter() - start
        await compare(log, house.out.heads)
        await log.close()
        await compact(server.port)
    commits = sum(head.version for head in house.out.heads.values())
    return {
        "tables": tables,
        "hands": tables * hands,
        "commits": commits,
        "bytes": size_of(folder),
        "seconds": round(seconds, 1),
        "hands_per_s": round(tables * hands / seconds, 1),
    }


def _shown(made: Iterable[MadeTable], total: int, console: Console | None) -> Iterator[MadeTable]:
    """Show how far it is, and how fast."""
    speed = TextColumn("{task.fields[speed]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
    with Progress(*columns, console=console, disable=console is None, transient=True) as progress:
        task = progress.add_task("hands", total=total, speed="")
        start = time.perf_counter()
        for number, table in enumerate(made, 1):
            yield table
            progress.update(task, completed=number, speed=f"{number / (time.perf_counter() - start):.0f} hands/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path, help="data directory to make the log in; it must hold none")
    parser.add_argument("--tables", type=int, default=10, help="tables (default 10)")
    parser.add_argument("--hands", type=int, default=100, help="hands at each table (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="what everything follows from (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    gc.freeze()
    work = make(arguments.dir, arguments.tables, arguments.hands, arguments.seed, Console(stderr=True))
    try:
        report = run_with_one_stop(work)
    except FileExistsError as error:
        parser.error(str(error))
    for name, value in report.items():
        print(f"{name:>12} {value:>14,}")
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

"""A short life of the whole system, played in memory and virtual time, and copies of it with something wrong in them.

For tests of what reads logs: a copy has the same bytes up to the first commit that was changed, and a sound chain of
hashes behind it, so that what is found is the change itself; `broken` also leaves the chain as it was.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import structlog

from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.types import Append, Head, StoredCommit
from stud_service.keyring import Key, KeyRing
from stud_wire.commits import Meta, decode_commit, encode_commit
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, VirtualLoop

T = "t-1"
SHARD = keys.shard_of(T)
TABLE, DECK = keys.table_log(SHARD, T), keys.deck_log(SHARD, T)
VERDICTS, LEDGER = keys.verdicts(SHARD), keys.ledger_log("EUR")
Change = Callable[[Any], Any]
"""An event in; the event, another one, several, or None (left out) out."""


@dataclasses.dataclass(frozen=True)
class History:
    """All logs of a system, and the key that opens its closed decks."""

    streams: dict[str, list[StoredCommit]]
    referee_key: Key

    def events(self, stream: str) -> list[Any]:
        return [event for commit in self.streams[stream] for event in decode_commit(commit.body).events]

    def version_of(self, stream: str, kind: type, number: int = 1) -> int:
        """The commit that holds the n-th event of a kind."""
        for commit in self.streams[stream]:
            number -= sum(isinstance(event, kind) for event in decode_commit(commit.body).events)
            if number <= 0:
                return commit.version
        raise AssertionError(kind)

    async def log(self, changes: dict[str, Change] | None = None, drop: Sequence[str] = ()) -> MemoryEventLog:
        """A log of its own, each stream changed as told, without those to drop."""
        log = MemoryEventLog()
        for stream, commits in self.streams.items():
            if stream not in drop:
                await copy(commits, log, (changes or {}).get(stream))
        return log

    async def broken(self, stream: str, version: int) -> MemoryEventLog:
        """A log in which one byte of one commit is another one."""
        log = await self.log()
        rows = log.store.data.logs[stream]
        commit, stored_hash = rows[version - 1]
        body = bytes((commit.body[0] ^ 1,)) + commit.body[1:]
        rows[version - 1] = msgspec.structs.replace(commit, body=body), stored_hash
        return log


async def copy(commits: Sequence[StoredCommit], to: EventLog, change: Change | None = None) -> None:
    """Write commits into another log; those in which nothing is changed keep their bytes."""
    head = Head()
    for commit in commits:
        body = commit.body if change is None else _changed(commit.body, change)
        if body:
            head = await to.append(Append(commit.stream, head.version, head.hash, commit.commit_id, body))


def _changed(body: bytes, change: Change) -> bytes:
    """The commit's new bytes; nothing when no event is left."""
    commit = decode_commit(body)
    events: list[Any] = []
    for event in commit.events:
        new = change(event)
        events += new if isinstance(new, list) else [] if new is None else [new]
    if events == list(commit.events):
        return body
    return encode_commit(events, commit.meta) if events else b""


async def say(log: EventLog, stream: str, *events: Any) -> Head:
    """One more commit at the end of a log."""
    head = await log.head(stream)
    body = encode_commit(list(events), Meta(at_ms=1))
    return await log.append(Append(stream, head.version, head.hash, (head.version + 1).to_bytes(16, "big"), body))


def in_virtual_time(work: Coroutine[Any, Any, History]) -> History:
    """Run in a thread of its own: the caller may have a running loop."""

    def run() -> History:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(work)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


@cache
def closed_table() -> History:
    """Three players, three hands to the river, everybody paid out."""
    return in_virtual_time(_played(closed=True))


@cache
def open_table() -> History:
    """Two hands with their verdicts, and three players still at the table."""
    return in_virtual_time(_played(closed=False))


async def _played(*, closed: bool) -> History:
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    try:
        with TemporaryDirectory() as folder:
            async with MemorySystem(Path(folder)) as system:
                game = Game(system, T)
                await game.begin(3)
                await game.play(3 if closed else 2, STAY)
                await _settled(system, game)
                if closed:
                    await game.close()
                return taken(system.store, KeyRing.load(system.keys_dir, "referee").key("referee"))
    finally:
        structlog.configure(**before)


async def _settled(system: MemorySystem, game: Game) -> None:
    """Waits until the ledger has booked what the referee has verified; the wallet reads a little later."""
    ledger = system.service("wallet").books["EUR"]
    async with asyncio.timeout(1):
        while ledger.state.settled.get(game.id, 0) < game.table.verified_hand:  # noqa: ASYNC110 - in virtual time
            await asyncio.sleep(0.001)


def taken(store: MemoryStore, key: Key) -> History:
    return History({stream: [commit for commit, _ in rows] for stream, rows in store.data.logs.items()}, key)

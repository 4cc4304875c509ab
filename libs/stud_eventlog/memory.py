"""The event log in memory: for unit tests and simulation. The same contract as on a server, without clock, network or
disk.

A `MemoryStore` plays the server. Several `MemoryEventLog` on one store are several processes. `store.stop()` and
`start()` are an outage, `snapshot()` and `restore()` a server that comes back with an older file, `flush()` one that
lost everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import weakref
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stud_eventlog import keys
from stud_eventlog.commits import Commits
from stud_eventlog.entries import (
    Row,
    as_feed_entry,
    check_trimmable,
    id_parts,
    is_log,
    is_relic,
    letter_field,
    log_id,
    stored_position,
)
from stud_eventlog.group_commit import MAX_IN_FLIGHT, Again
from stud_eventlog.keys import ScanKind
from stud_eventlog.log import OnCursorAhead, OnLogBehind
from stud_eventlog.trouble import MEMORY_LIMIT, Memory, Trouble, full, refused, volatile
from stud_eventlog.types import (
    START,
    Append,
    DeadLetter,
    FeedEntry,
    Head,
    LogRefuses,
    LogUnavailable,
    StoredCommit,
)
from stud_eventlog.writing import Elsewhere, WriteAnswer, new_mark


@dataclass(slots=True)
class _Data:
    logs: dict[str, list[Row]] = field(default_factory=dict)
    feeds: dict[str, list[FeedEntry]] = field(default_factory=dict)
    last_ids: dict[str, str] = field(default_factory=dict)
    cursors: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, dict[str, bytes]] = field(default_factory=dict)
    letters: dict[str, dict[bytes, DeadLetter]] = field(default_factory=dict)
    letter_numbers: dict[str, int] = field(default_factory=dict)
    retries: dict[str, set[str]] = field(default_factory=dict)
    initialised: bool = False
    mark: bytes = b"1"


class MemoryStore:
    """What the server holds. `used_ratio` is the share of its memory that is used, `refusal` (code, text) what every
    write is refused with, `refusals` what those of a key are, `problems` are settings under which it may lose what it
    acknowledges.
    """

    def __init__(self) -> None:
        self.data = _Data()
        self.used_ratio = 0.0
        self.refusal: tuple[str, str] | None = None
        self.refusals: dict[str, tuple[str, str]] = {}
        self.problems: list[str] = []
        self.generation = 0
        self.running = True
        self._feed_clock = 0  # never goes back, as a server's clock does not when its data does
        self._changed: asyncio.Event | None = None
        self._logs: weakref.WeakSet[MemoryEventLog] = weakref.WeakSet()

    # Faults

    def stop(self) -> None:
        """The server is gone: reads fail, appends wait."""
        self.running = False
        self._tell("stopped")

    def start(self) -> None:
        self.running = True
        self.generation += 1
        self._tell("started")

    def snapshot(self) -> _Data:
        return copy.deepcopy(self.data)

    def restore(self, data: _Data) -> None:
        """The server restarts with this data instead of its own."""
        self.data = copy.deepcopy(data)
        self.start()

    def flush(self) -> None:
        """All data is lost, and no connection notices."""
        self.data = _Data()

    def attach(self, log: MemoryEventLog) -> None:
        self._logs.add(log)

    def _tell(self, why: str) -> None:
        for log in list(self._logs):
            log.store_changed(why)
        self.wake_readers()

    def check(self) -> _Data:
        if not self.running:
            raise LogUnavailable("the log does not answer: the store is stopped")
        return self.data

    # Writing, as the append script does it

    def refused(self, append: Append) -> tuple[str, str] | None:
        """Returns what an append is refused with."""
        touched = [append.stream, *(item.feed for item in append.outbox)]
        return self.refusal or next((self.refusals[key] for key in touched if key in self.refusals), None)

    def write(self, append: Append) -> WriteAnswer:
        rows = self.data.logs.get(append.stream, [])
        head = Head(rows[-1][0].version, rows[-1][1]) if rows else Head()
        new = append.head
        if head.version == append.expected_version and head.hash == append.prev_hash:
            for index, item in enumerate(append.outbox):
                self._put(item.feed, append.stream, new, index, item.event)
            commit = StoredCommit(append.stream, new.version, append.prev_hash, append.commit_id, append.body)
            self.data.logs.setdefault(append.stream, []).append((commit, new.hash))
            if append.lobby is not None:
                self.data.hashes.setdefault(append.lobby.key, {})[append.lobby.field] = append.lobby.value
            self.wake_readers()
            return new
        if head.version > append.expected_version:
            commit, stored_hash = rows[append.expected_version]
            if commit.commit_id == append.commit_id:
                return Head(new.version, stored_hash)
        return Elsewhere(head.version, head.hash)

    def _put(self, feed: str, stream: str, head: Head, index: int, event: bytes) -> None:
        self._feed_clock += 1
        entry = FeedEntry(feed, f"{self._feed_clock}-0", stream, head.version, index, head.hash, event)
        self.data.feeds.setdefault(feed, []).append(entry)
        self.data.last_ids[feed] = entry.entry_id

    # Feeds

    def last_id(self, feed: str) -> str:
        if is_log(feed):
            rows = self.data.logs.get(feed)
            return log_id(rows[-1][0].version) if rows else START
        return self.data.last_ids.get(feed, START)

    def written(self) -> set[str]:
        """Returns the feeds and logs that hold anything: few of those that a service asks for."""
        return self.data.feeds.keys() | self.data.logs.keys()

    def entries_after(self, feed: str, position: str, limit: int) -> list[FeedEntry]:
        """Without going through the feed: in a simulation four services ask some 400 feeds at every commit."""
        entries = self.data.feeds.get(feed)
        if entries:
            if position == entries[-1].entry_id:
                return []
            at = bisect_right(entries, id_parts(position), key=lambda entry: id_parts(entry.entry_id))
            return entries[at : at + limit]
        if rows := self.data.logs.get(feed):
            after, _ = id_parts(position)
            return [as_feed_entry(row) for row in rows[after : after + limit]]
        return []

    def is_relic(self, feed: str, position: str) -> bool:
        there = any(entry.entry_id == position for entry in self.data.feeds.get(feed, []))
        return is_relic(position, self.last_id(feed), is_there=there, of_a_log=is_log(feed))

    def wake_readers(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def wait_for_change(self, timeout_s: float) -> None:
        if self._changed is None:
            self._changed = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()


class _MemoryBackend:
    """`writing.Backend` and `commits.Reads` over a store."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def write(self, appends: Sequence[Append]) -> list[WriteAnswer]:
        if not self._store.running:
            return [Again("the store is stopped", doubtful=False)] * len(appends)
        return [self._answer(append) for append in appends]

    def _answer(self, append: Append) -> WriteAnswer:
        found = self._store.refused(append)
        return Again(found[1], doubtful=False, refused=found[0]) if found else self._store.write(append)

    async def try_append(self, append: Append) -> None:
        self._store.check()
        found = self._store.refused(append)
        if found is not None:
            raise LogRefuses(*found)

    async def where(self, stream: str) -> Elsewhere:
        rows = self._store.check().logs.get(stream)
        return Elsewhere(rows[-1][0].version, rows[-1][1]) if rows else Elsewhere(0, Head().hash)

    async def hashes_at(self, places: Sequence[tuple[str, int]]) -> list[bytes | None]:
        logs = self._store.check().logs
        return [
            logs[stream][version - 1][1] if version <= len(logs.get(stream, [])) else None for stream, version in places
        ]

    async def mark(self) -> bytes | None:
        data = self._store.check()
        return data.mark if data.initialised else None

    async def ping(self) -> None:
        self._store.check()

    async def head(self, stream: str) -> Head:
        rows = self._store.check().logs.get(stream)
        return Head(rows[-1][0].version, rows[-1][1]) if rows else Head()

    async def rows(self, stream: str, after: int, limit: int) -> list[Row]:
        rows = self._store.check().logs.get(stream, [])
        at = bisect_right(rows, after, key=lambda row: row[0].version)
        return rows[at : at + limit]


class MemoryEventLog(Commits):
    """See `log.EventLog`. Without a store of its own to share it makes one."""

    def __init__(
        self,
        store: MemoryStore | None = None,
        *,
        max_in_flight: int = MAX_IN_FLIGHT,
        on_log_behind: OnLogBehind | None = None,
        on_cursor_ahead: OnCursorAhead | None = None,
    ) -> None:
        self.store = MemoryStore() if store is None else store
        backend = _MemoryBackend(self.store)
        super().__init__(backend, backend, max_in_flight=max_in_flight)
        self.on_log_behind, self.on_cursor_ahead = on_log_behind, on_cursor_ahead
        self.memory: Memory | None = None
        self._checked: set[str] = set()
        self._checked_generation = -1
        self.store.attach(self)

    def store_changed(self, why: str) -> None:
        self._availability.lost(why)

    # Feeds

    async def read_feeds(self, positions: Mapping[str, str], limit: int = 256, block_ms: int = 1000) -> list[FeedEntry]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + block_ms / 1000
        while True:
            self.store.check()
            sound = self._sound_positions(positions)
            there = self.store.written()
            found = [self.store.entries_after(feed, at, limit) for feed, at in sound.items() if feed in there]
            entries = list(itertools.chain(*found))[:limit]
            left = deadline - loop.time()
            if entries or left <= 0:
                return entries
            await self.store.wait_for_change(left)

    def _sound_positions(self, positions: Mapping[str, str]) -> dict[str, str]:
        if self._checked_generation != self.store.generation:
            self._checked.clear()
            self._checked_generation = self.store.generation
        sound = dict(positions)
        unchecked = positions.keys() - self._checked
        for feed in [feed for feed in positions if feed in unchecked] if unchecked else []:
            if self.store.is_relic(feed, positions[feed]):
                if self.on_cursor_ahead is not None:
                    self.on_cursor_ahead(feed, positions[feed], self.store.last_id(feed))
                sound[feed] = START
            self._checked.add(feed)
        return sound

    async def last_id(self, feed: str) -> str:
        self.store.check()
        return self.store.last_id(feed)

    async def load_cursors(self, service: str, feeds: Sequence[str]) -> dict[str, str]:
        return {feed: self._cursor(service, feed) for feed in feeds}

    def _cursor(self, service: str, feed: str) -> str:
        key = keys.cursor(service, feed)
        return stored_position(key, self.store.check().cursors.get(key))

    async def store_cursors(self, service: str, cursors: Mapping[str, str]) -> None:
        stored = self.store.check().cursors
        if self.store.refusal is not None:
            raise LogRefuses(*self.store.refusal)
        for feed, at in cursors.items():
            key = keys.cursor(service, feed)
            old = self._cursor(service, feed)
            if id_parts(at) >= id_parts(old) or self.store.is_relic(feed, old):
                stored[key] = at

    async def trim_feed(self, feed: str, readers: Sequence[str]) -> int:
        check_trimmable(feed, readers)
        cursors = [self._cursor(service, feed) for service in readers]
        least = min(cursors, key=id_parts)
        if least == START or self.store.is_relic(feed, least) or self.store.is_relic(feed, max(cursors, key=id_parts)):
            return 0
        before = self.store.data.feeds.get(feed, [])
        kept = [entry for entry in before if id_parts(entry.entry_id) >= id_parts(least)]
        self.store.data.feeds[feed] = kept
        return len(before) - len(kept)

    # Dead letters

    async def park(self, service: str, shard: int, table_id: str, entry: FeedEntry, reason: str) -> bool:
        keys.check_table_id(table_id)
        data, key = self.store.check(), keys.dead(service, shard)
        letters = data.letters.setdefault(key, {})
        name = letter_field(table_id, entry)
        if name in letters:
            return False
        number = data.letter_numbers[key] = data.letter_numbers.get(key, 0) + 1
        letters[name] = DeadLetter(service, shard, table_id, number, reason, entry)
        return True

    async def parked_tables(self, service: str, shard: int) -> set[str]:
        return {letter.table_id for letter in self._letters(service, shard)}

    def _letters(self, service: str, shard: int) -> list[DeadLetter]:
        return list(self.store.check().letters.get(keys.dead(service, shard), {}).values())

    async def dead_list(self, service: str | None = None) -> list[DeadLetter]:
        every = [letter for letters in self.store.check().letters.values() for letter in letters.values()]
        chosen = [letter for letter in every if service in (None, letter.service)]
        return sorted(chosen, key=lambda letter: (letter.shard, letter.service, letter.number))

    async def dead_take(self, service: str, shard: int, table_id: str) -> list[DeadLetter]:
        return [letter for letter in self._letters(service, shard) if letter.table_id == table_id]

    async def dead_discard(self, service: str, shard: int, table_id: str, up_to: int | None = None) -> int:
        gone = [
            letter
            for letter in self._letters(service, shard)
            if letter.table_id == table_id and (up_to is None or letter.number <= up_to)
        ]
        for letter in gone:
            del self.store.data.letters[keys.dead(service, shard)][letter_field(table_id, letter.entry)]
        return len(gone)

    async def request_retry(self, service: str, shard: int, table_id: str) -> None:
        keys.check_table_id(table_id)
        self.store.check().retries.setdefault(keys.retry(service, shard), set()).add(table_id)

    async def retry_requests(self, service: str, shard: int) -> set[str]:
        return set(self.store.check().retries.get(keys.retry(service, shard), set()))

    async def clear_retry(self, service: str, shard: int, table_id: str) -> None:
        self.store.check().retries.get(keys.retry(service, shard), set()).discard(table_id)

    # The rest

    async def lobby(self, shard: int) -> dict[str, bytes]:
        return dict(self.store.check().hashes.get(keys.lobby(shard), {}))

    async def scan_streams(self, kind: ScanKind) -> list[str]:
        return keys.names_of(kind, self.store.check().logs)

    async def trouble(self, service: str) -> Trouble | None:
        self.store.check()
        keys.probe(service)
        self.memory = Memory(int(self.store.used_ratio * 1_000_000), 1_000_000)
        if self.store.refusal is not None:
            return refused(*self.store.refusal)
        if self.store.problems:
            return volatile(self.store.problems)
        return full(self.store.used_ratio) if self.store.used_ratio >= MEMORY_LIMIT else None

    async def initialise(self) -> bool:
        data = self.store.check()
        was, data.initialised = data.initialised, True
        data.mark = data.mark if was else new_mark().encode()
        return not was

    async def close(self) -> None:
        await self._close(1.0 if self.store.running else 0.0)

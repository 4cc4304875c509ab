"""Reading feeds: one ordered reader per service, by cursor, effects before the cursor.

A batch of entries is grouped by table; each table's entries are handed to the service in order, all tables at once, so
that their appends share a pipeline. The cursor moves past a batch only when every effect of it is durable, so an entry
may be handled twice (after a crash) but never not at all: handlers are idempotent by numbers in their own state.

What may go wrong, and what then happens:

    the log is away, version conflicts     the same entries again, until it works; never held against them
    one entry fails deterministically      it and all later entries of its table are parked, in order; the other tables
                                           run on. `stud dead retry` replays the line, `stud dead discard` drops it
    an event of a newer build              its feed stands still, with an alarm, until this build is replaced
    nobody can tell whose an entry is      the same
    the verdict log of its shard is broken the same, until operators have put it right
    no log of a feed can have sent it      an alarm, and it is passed
    the feed went back in time             an alarm, and the feed is read from its start again
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog
from structlog.contextvars import bind_contextvars

from stud_eventlog import keys
from stud_eventlog.cancelling import stop_if_cancelled
from stud_eventlog.log import Feeds
from stud_eventlog.types import START, EventLogError, FeedEntry
from stud_service.feed_lag import FeedLag
from stud_service.meters import Value
from stud_service.metrics import FEED_ENTRIES, FEED_LAG, FEEDS_STALLED, PARKED_LINES, Metric
from stud_service.parking import Parking
from stud_service.retrying import STANDS_STILL, Backoff, Poison, poisons, settle
from stud_service.runtime import Runtime, for_ever
from stud_topology.services import SERVICES, Service, followed_by, service_called, trimmed_by
from stud_wire.codec import UnknownEventError

__all__ = ["Counts", "FeedReader", "Poison"]

logger = structlog.get_logger(__name__)

LIMIT = 256
"""Entries of one batch; handling this many at a time has seven times the throughput of one at a time."""

BLOCK_MS = 1_000
TRIM_EVERY_S = 60.0
STALL_RETRY_S = 5.0
LAST_SAVE_S = 1.0

SAVE_WITHIN_S = 0.2
SAVE_EVERY = 64
"""So late, and after so many entries, a cursor is stored: each costs the log a script. What is behind it is handled
again after a crash, and waits a little longer to be trimmed.
"""

Handle = Callable[[Sequence[FeedEntry]], Awaitable[None]]
Key = Callable[[FeedEntry], str | None]
OnPoison = Callable[[str, str], Awaitable[None]]
"""(table, reason): called before the table's line is parked; returns when whoever waits for that line knows."""


@dataclass(slots=True)
class Counts:
    """What the reader has done since it was made."""

    read: int = 0
    skipped: int = 0
    parked: int = 0
    replayed: int = 0
    stalls: int = 0


class FeedReader:
    """Reads what its service follows, and drops from the feeds that it writes what all their readers have passed:
    who they are is said in one table (`stud_topology.services`). A process has one reader: reads of one log wait for
    each other.
    """

    def __init__(
        self,
        runtime: Runtime,
        handle: Handle,
        key: Key,
        *,
        feeds: Sequence[str] | None = None,
        services: Sequence[Service] = SERVICES,
        limit: int = LIMIT,
        block_ms: int = BLOCK_MS,
        trim_every_s: float = TRIM_EVERY_S,
        on_poison: OnPoison | None = None,
        gather_s: float = 0.0,
    ) -> None:
        """`handle` gets entries of one table and returns when their effects are durable; `key` returns the table's id,
        or None for an entry to skip. `feeds`: some of those that it follows, instead of all. Raises ValueError for one
        that the table of services does not name: its writer would drop what has not been read here. Between two reads
        there are at least `gather_s` seconds, so that one brings what many tables have said meanwhile: for a service
        that no player waits for.
        """
        service = service_called(runtime.name, services)
        currencies = runtime.settings.currencies
        feeds = followed_by(service, currencies) if feeds is None else feeds
        _check_followed(service, feeds)
        self.counts = Counts()
        self._log: Feeds = runtime.log
        self._service = service.name
        self._key = key
        self._limit = limit
        self._block_ms = block_ms
        self._trim_readers = trimmed_by(service, currencies, services)
        self._trim_every_s = trim_every_s
        self._gather_s = gather_s
        self._positions = dict.fromkeys(feeds, START)
        self._stalled_until: dict[str, float] = {}
        self._unsaved: dict[str, str] = {}
        self._save_is_due = asyncio.Event()
        self._save_is_urgent = asyncio.Event()
        self._unsaved_entries = 0
        self._next_read_at = 0.0
        self._handle = handle
        self._on_poison = on_poison
        self._parking = Parking(runtime.log, service.name, feeds)
        self._in_hand: frozenset[str] = frozenset()
        self._lag = FeedLag(runtime.clock, feeds)
        runtime.meters.source(self._told)
        self._next_on_cursor_ahead = runtime.log.on_cursor_ahead
        runtime.log.on_cursor_ahead = self._rewind

    def _told(self) -> Mapping[Metric, Value]:
        return {
            FEED_ENTRIES: self.counts.read,
            FEED_LAG: self._lag.by_shard(),
            FEEDS_STALLED: len(self._stalled_until),
            PARKED_LINES: self._parking.lines,
        }

    def caught_up_to(self, feed: str) -> str:
        """Returns the id of the last entry of a feed whose effects are durable; "0-0" before the first."""
        return self._positions[feed]

    @property
    def stalled(self) -> frozenset[str]:
        """Feeds that stand still."""
        return frozenset(self._stalled_until)

    @property
    def held(self) -> frozenset[str]:
        """Tables with messages that are parked, or being handled just now."""
        return self._parking.tables | self._in_hand

    @property
    def parked(self) -> frozenset[str]:
        """Tables whose line is parked, as far as is known here."""
        return self._parking.tables

    def replay(self, table: str) -> None:
        """Have a table's parked line replayed, as if operators had asked for it."""
        self._parking.ask(table)

    async def run(self) -> None:
        """Reads until cancelled."""
        await self._recover()
        try:
            async with asyncio.TaskGroup() as together:
                together.create_task(for_ever(self._read_on, f"{self._service} reads"))
                together.create_task(for_ever(self._save_on, f"{self._service} saves cursors"))
                if self._trim_readers:
                    together.create_task(for_ever(self._trim_on, f"{self._service} trims feeds"))
        finally:
            # Saves the next start some repetition; if it fails nothing is lost.
            with suppress(EventLogError, TimeoutError):
                async with asyncio.timeout(LAST_SAVE_S):
                    await self._save()

    async def _recover(self) -> None:
        """Continues where this service was, whichever process ran it."""

        async def load() -> None:
            self._positions.update(await self._log.load_cursors(self._service, list(self._positions)))
            await self._parking.load()

        await settle(load, self._log, what="load cursors")
        if self._parking.tables:
            logger.warning("tables_are_parked", reader=self._service, parked=sorted(self._parking.tables))

    # Reading

    async def _read_on(self) -> None:
        backoff = Backoff()
        while True:
            stop_if_cancelled()
            try:
                await self._parking.replay_requested(self._replay)
                entries = await self._read()
                backoff = Backoff()
            except EventLogError as why:
                await backoff.wait(self._log, why, what="read feeds")
                continue
            if entries:
                await self._take(entries)

    async def _read(self) -> list[FeedEntry]:
        now = asyncio.get_running_loop().time()
        if self._gather_s and self._next_read_at > now:
            await asyncio.sleep(self._next_read_at - now)
            now = asyncio.get_running_loop().time()
        for feed in [feed for feed, until in self._stalled_until.items() if until <= now]:
            del self._stalled_until[feed]
        positions = {feed: at for feed, at in self._positions.items() if feed not in self._stalled_until}
        if not positions:
            await asyncio.sleep(self._block_ms / 1000)
            return []
        entries = await self._log.read_feeds(positions, self._limit, self._block_ms)
        self._next_read_at = asyncio.get_running_loop().time() + self._gather_s
        return entries

    def _rewind(self, feed: str, cursor: str, last: str) -> None:
        """The log says that a position does not exist: it lost entries that were read. Called while reading, before it
        answers.
        """
        if feed in self._positions:
            logger.critical("cursor_ahead", reader=self._service, feed=feed, cursor=cursor, last=last)
            self._positions[feed] = START
            self._unsaved.pop(feed, None)
        elif self._next_on_cursor_ahead is not None:
            self._next_on_cursor_ahead(feed, cursor, last)

    async def _take(self, entries: Sequence[FeedEntry]) -> None:
        """Handles a batch and moves on: to its end, or in each feed to the first entry that cannot be passed."""
        self.counts.read += len(entries)
        self._lag.taken(entries)
        stops: dict[str, FeedEntry] = {}
        lines: dict[str, list[FeedEntry]] = {}
        for entry in entries:
            if entry.feed not in stops:
                try:
                    table = self._table_of(entry)
                except (*STANDS_STILL, Poison) as why:
                    stops[entry.feed] = entry
                    self._stall(entry, why)
                    continue
                if table is None:
                    self.counts.skipped += 1
                else:
                    lines.setdefault(table, []).append(entry)
        self._in_hand = frozenset(lines)
        handled = await asyncio.gather(*(self._take_line(table, line) for table, line in lines.items()))
        self._in_hand = frozenset()
        for stopped in handled:
            for entry in stopped:
                first = stops.get(entry.feed)
                if first is None or entries.index(entry) < entries.index(first):
                    stops[entry.feed] = entry
        passed: dict[str, str] = {}
        reached: set[str] = set()
        for entry in entries:
            if stops.get(entry.feed) is entry:
                reached.add(entry.feed)
            if entry.feed not in reached:
                passed[entry.feed] = entry.entry_id
        self._lag.passed(stops.values())
        self._positions.update(passed)
        self._unsaved.update(passed)
        self._unsaved_entries += len(entries)
        self._save_is_due.set()
        if self._unsaved_entries >= SAVE_EVERY:
            self._save_is_urgent.set()

    def _table_of(self, entry: FeedEntry) -> str | None:
        """Returns whose entry it is, if need be by its stream alone: handling it will then fail and park it.

        What no log of that feed can have sent is nobody's. A ledger's feed tells which log counts, whatever it names.
        """
        feed = keys.parse_stream(entry.feed)
        if not keys.may_speak_in(entry.feed, entry.stream) and (feed is None or feed.kind != "ledger-feed"):
            logger.critical("not_of_its_feed", feed=entry.feed, entry=entry.entry_id, stream=entry.stream)
            return None
        try:
            return self._key(entry)
        except UnknownEventError:
            raise
        except Exception as why:
            name = keys.parse_stream(entry.stream)
            if name is None or name.table_id is None:
                raise Poison(f"nobody can tell whose it is: {type(why).__name__}: {why}") from why
            return name.table_id

    def _stall(self, entry: FeedEntry, why: Exception) -> None:
        self.counts.stalls += 1
        self._stalled_until[entry.feed] = asyncio.get_running_loop().time() + STALL_RETRY_S
        logger.critical(
            "feed_stalls",
            reader=self._service,
            feed=entry.feed,
            entry=entry.entry_id,
            stream=entry.stream,
            version=entry.version,
            why=str(why),
        )

    # One table's line

    async def _take_line(self, table: str, line: Sequence[FeedEntry]) -> list[FeedEntry]:
        """Handles entries of one table, or parks them. Returns those that their feeds must not pass."""
        bind_contextvars(table=table)  # this runs as a task of its own, so it is bound for this line only
        if await self._parking.is_parked(line[0].feed, table):
            await self._park(table, line, "behind a parked message")
            return []
        if len(line) > 1:
            try:
                await self._handle_settled(table, line)
            except (Poison, *STANDS_STILL):
                pass  # one by one then, to find out which; what succeeded before it is recognised as done
            else:
                return []
        return await self._take_singly(table, line)

    async def _take_singly(self, table: str, line: Sequence[FeedEntry]) -> list[FeedEntry]:
        stopped: list[FeedEntry] = []
        for at, entry in enumerate(line):
            if any(entry.feed == other.feed for other in stopped):
                continue
            try:
                await self._handle_settled(table, [entry])
            except STANDS_STILL as why:
                self._stall(entry, why)
                stopped.append(entry)
            except Poison as why:
                held = {other.feed for other in stopped}
                rest = [later for later in line[at + 1 :] if later.feed not in held]
                logger.exception("poison", reader=self._service, stream=entry.stream, version=entry.version)
                await self._tell(table, why)
                await self._park(table, [entry], str(why))
                await self._park(table, rest, "behind a parked message")
                return stopped
        return stopped

    async def _handle_settled(self, table: str, line: Sequence[FeedEntry]) -> None:
        """Has entries handled, again and again while something is merely in the way. Raises Poison, STANDS_STILL."""

        async def handle() -> None:
            await self._handle(line)

        await settle(handle, self._log, what=f"handle entries of {table}", poisons=poisons(table))

    async def _tell(self, table: str, why: Poison) -> None:
        on_poison = self._on_poison
        if on_poison is None:
            return

        async def tell() -> None:
            await on_poison(table, why.reason)

        await settle(tell, self._log, what=f"say that a message of {table} cannot be handled")

    async def _park(self, table: str, line: Sequence[FeedEntry], reason: str) -> None:
        for entry in line:
            await self._parking.park(entry, table, reason)
        self.counts.parked += len(line)

    async def _replay(self, table: str, entry: FeedEntry) -> bool:
        """Handles one parked entry; False when it still cannot be handled."""
        try:
            await self._handle_settled(table, [entry])
        except (Poison, *STANDS_STILL) as why:
            logger.exception("poison_again", reader=self._service, table=table, version=entry.version)
            if isinstance(why, Poison):
                await self._tell(table, why)
            return False
        self.counts.replayed += 1
        return True

    # Cursors and trimming, beside the reading

    async def _save_on(self) -> None:
        while True:
            await self._save_is_due.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(SAVE_WITHIN_S):
                    await self._save_is_urgent.wait()
            self._save_is_due.clear()
            await settle(self._save, self._log, what="store cursors")

    async def _save(self) -> None:
        saving = dict(self._unsaved)
        self._unsaved_entries = 0
        self._save_is_urgent.clear()
        if not saving:
            return
        await self._log.store_cursors(self._service, saving)
        for feed, at in saving.items():
            if self._unsaved.get(feed) == at:
                del self._unsaved[feed]

    async def _trim_on(self) -> None:
        while True:
            await asyncio.sleep(self._trim_every_s)
            for feed, readers in self._trim_readers.items():
                with suppress(EventLogError):  # the next round will do
                    await self._log.trim_feed(feed, readers)


def _check_followed(service: Service, feeds: Sequence[str]) -> None:
    for feed in feeds:
        name = keys.parse_stream(feed)
        if name is None or name.kind not in service.follows:
            raise ValueError(
                f"{service.name} follows {', '.join(service.follows)}, not {feed}: name its kind in the service's line "
                "in stud_topology.services, else its entries are dropped before they are read"
            )

"""The parked lines of a service's reader: tables with a message that could not be handled.

Only the reader parks, and it replays between two batches, so nothing can overtake what is parked. Operators ask for a
replay or drop a line from outside; that is noticed by looking, about once a second, and only while something is parked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from stud_eventlog import keys
from stud_eventlog.log import DeadLetters
from stud_eventlog.types import FeedEntry
from stud_service.retrying import settle

logger = structlog.get_logger(__name__)

LOOK_EVERY_S = 1.0

Replay = Callable[[str, FeedEntry], Awaitable[bool]]
"""(table, entry) -> whether it could be handled."""


class Parking:
    def __init__(self, log: DeadLetters, service: str, feeds: Sequence[str]) -> None:
        self._log = log
        self._service = service
        self._shards = sorted({_shard_of(feed) for feed in feeds})
        self._parked: dict[int, set[str]] = {}
        self._asked: set[tuple[int, str]] = set()
        """Lines to be replayed."""
        self._look_at = 0.0

    @property
    def tables(self) -> frozenset[str]:
        return frozenset(table for tables in self._parked.values() for table in tables)

    @property
    def lines(self) -> int:
        """How many tables."""
        return sum(map(len, self._parked.values()))

    async def load(self) -> None:
        for shard in self._shards:
            await self._look(shard)

    async def _look(self, shard: int) -> None:
        tables = await self._log.parked_tables(self._service, shard)
        if tables:
            self._parked[shard] = tables
        else:
            self._parked.pop(shard, None)

    async def is_parked(self, feed: str, table: str) -> bool:
        """Returns whether the table's line is parked. Believes a yes only after looking: it may have been dropped."""
        shard = _shard_of(feed)
        if table not in self._parked.get(shard, ()):
            return False

        async def look() -> None:
            await self._look(shard)

        await settle(look, self._log, what="look at parked tables")
        return table in self._parked.get(shard, ())

    async def park(self, entry: FeedEntry, table: str, reason: str) -> None:
        """Puts an entry at the end of its table's line; one that is there, from before a crash, keeps its place."""
        shard = _shard_of(entry.feed)

        async def write() -> None:
            await self._log.park(self._service, shard, table, entry, reason)

        await settle(write, self._log, what=f"park an entry of {table}")
        self._parked.setdefault(shard, set()).add(table)

    def ask(self, table: str) -> None:
        """Have a table's line replayed, if it is parked: what it waited for is mended."""
        self._asked |= {(shard, table) for shard, tables in self._parked.items() if table in tables}

    async def replay_requested(self, replay: Replay) -> None:
        """Replays the lines that operators asked for. Raises EventLogError; what was replayed stays replayed."""
        if not self._parked or asyncio.get_running_loop().time() < self._look_at:
            return
        self._look_at = asyncio.get_running_loop().time() + LOOK_EVERY_S
        for shard in list(self._parked):
            await self._look(shard)
            for table in sorted(await self._log.retry_requests(self._service, shard)):
                # Before the replay: whoever asks while it runs may have mended what it did not see, and gets another.
                await self._log.clear_retry(self._service, shard, table)
                self._asked.add((shard, table))
        for shard, table in sorted(self._asked):
            await self._replay_line(shard, table, replay)
            self._asked.discard((shard, table))
            await self._look(shard)

    async def _replay_line(self, shard: int, table: str, replay: Replay) -> None:
        line = await self._log.dead_take(self._service, shard, table)
        logger.info("replaying", reader=self._service, table=table, messages=len(line))
        for letter in line:
            if not await replay(table, letter.entry):
                return
            # One by one: a crash in between repeats one message, which is recognised, and loses none.
            await self._log.dead_discard(self._service, shard, table, up_to=letter.number)


def _shard_of(feed: str) -> int:
    name = keys.parse_stream(feed)
    if name is None or name.shard is None:
        raise ValueError(f"{feed!r} is not a feed of a shard")
    return name.shard

"""Feeds and dead letters as commands of the server: reading by cursor, storing cursors, trimming, parking.

A shard's letters of a service are one hash; each carries its number.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from stud_eventlog import keys
from stud_eventlog.entries import (
    check_trimmable,
    feed_entry,
    id_parts,
    is_log,
    is_relic,
    letter_field,
    pack_letter,
    stored_position,
    unpack_letter,
)
from stud_eventlog.log import OnCursorAhead
from stud_eventlog.lua import PARK, STORE_CURSOR
from stud_eventlog.redis_wire import (
    Command,
    Packed,
    Refusal,
    Wire,
    answered,
    call,
    call_all,
    call_one,
    is_missing_key,
    packed,
    scan,
    text_map,
)
from stud_eventlog.types import START, DeadLetter, FeedEntry, LogRefuses

logger = logging.getLogger(__name__)

LEAST_COUNT = 8
"""Entries asked of each feed at least, however many feeds share a read."""

TELL_EVERY_S = 60.0
"""So often it is told that a feed cannot be read."""

COUNTER = b"#"
"""The field that counts the letters of a shard; all others are letters."""


class RedisFeeds:
    """`log.Feeds`. `reader` is a connection for reads that wait, `longest_block_ms` is how long they may."""

    def __init__(self, wire: Wire, reader: Wire, longest_block_ms: int) -> None:
        self.on_cursor_ahead: OnCursorAhead | None = None
        self._wire = wire
        self._reader = reader
        self._longest_block_ms = longest_block_ms
        self._reading = asyncio.Lock()
        self._checked: set[str] = set()
        self._checked_generation = -1
        self._turn = 0
        self._lively = 1
        self._refused_told_at: dict[str, float] = {}
        self._encoded: dict[str, tuple[str, bytes, bytes]] = {}
        """Each feed's position, its name and that position as they go over the wire."""

    # Reading

    async def read_feeds(self, positions: Mapping[str, str], limit: int = 256, block_ms: int = 1000) -> list[FeedEntry]:
        async with self._reading:
            if not positions:
                await asyncio.sleep(block_ms / 1000)  # the caller loops; without feeds it must not spin
                return []
            while True:
                sound = await self._sound_positions(positions)
                generation = self._reader.generation
                try:
                    entries = await self._xread(sound, limit, block_ms)
                except LogRefuses as why:
                    # A read of many is refused for one: the others must not wait for it.
                    entries = await self._read_rest(sound, limit, block_ms, why)
                # A new connection in between may lead to another life of the server, where the positions mean
                # something else.
                if self._reader.generation == generation:
                    return entries

    async def _read_rest(
        self, positions: Mapping[str, str], limit: int, block_ms: int, why: LogRefuses
    ) -> list[FeedEntry]:
        """Reads those feeds that the server lets us read alone. Raises `why` where that is all of them, or none."""
        replies = await self._reader.pipeline(
            [("XREAD", "COUNT", 1, "STREAMS", feed, at) for feed, at in positions.items()]
        )
        rest = dict(positions)
        for feed, reply in zip(positions, replies, strict=True):
            if isinstance(reply, Refusal):
                del rest[feed]
                self._tell_refused(feed, reply)
        if not rest or len(rest) == len(positions):
            raise why
        return await self._xread(rest, limit, block_ms)

    def _tell_refused(self, feed: str, reply: Refusal) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._refused_told_at.get(feed, -TELL_EVERY_S) >= TELL_EVERY_S:
            self._refused_told_at[feed] = now
            logger.critical("%s cannot be read: %s %s", feed, reply.code, reply.text)

    async def _xread(self, positions: Mapping[str, str], limit: int, block_ms: int) -> list[FeedEntry]:
        # The count is per feed, the limit for all: feeds take turns at the front so that none is cut off for ever.
        feeds = list(positions)
        self._turn = (self._turn + 1) % len(feeds)
        feeds = feeds[self._turn :] + feeds[: self._turn]
        count = min(limit, max(LEAST_COUNT, -(-limit // self._lively)))
        reply = await call_one(self._reader, self._xread_command(feeds, positions, count, block_ms))
        found = {name.decode("ascii"): entries for name, entries in dict(reply or {}).items()}
        self._lively = max(1, len(found))
        out = [feed_entry(feed, entry_id, fields) for feed in feeds for entry_id, fields in found.get(feed, ())]
        return out[:limit]

    def _xread_command(self, feeds: Sequence[str], positions: Mapping[str, str], count: int, block_ms: int) -> Packed:
        """A read names up to 192 feeds, and few of them have moved since the last: what was encoded stays."""
        known = self._encoded
        names, places = [], []
        for feed in feeds:
            at = positions[feed]
            found = known.get(feed)
            if found is None or found[0] != at:
                found = known[feed] = (at, packed(feed), packed(at))
            names.append(found[1])
            places.append(found[2])
        block = ("BLOCK", min(block_ms, self._longest_block_ms)) if block_ms > 0 else ()
        words = ("XREAD", "COUNT", count, *block, "STREAMS")
        head = b"*%d\r\n" % (len(words) + 2 * len(feeds))
        return Packed(b"".join([head, *map(packed, words), *names, *places]))

    async def _sound_positions(self, positions: Mapping[str, str]) -> Mapping[str, str]:
        """Looks once per connection whether each position is one that its feed can have; rewinds those that are not."""
        if self._checked_generation != self._reader.generation:
            self._checked.clear()
        doubtful = [feed for feed in positions if feed not in self._checked]
        if not doubtful:
            return positions
        commands: list[Command] = []
        for feed in doubtful:
            commands += (("XINFO", "STREAM", feed), ("XRANGE", feed, positions[feed], positions[feed]))
        replies = await self._reader.pipeline(commands)
        sound = dict(positions)
        checked = set(doubtful)
        for feed, info, there in zip(doubtful, replies[::2], replies[1::2], strict=True):
            if isinstance(there, Refusal):
                checked.discard(feed)  # the read itself says that it cannot be read
                continue
            last = last_id_in(info)
            if is_relic(positions[feed], last, bool(answered(there)), is_log(feed)):
                logger.error(
                    "%s: the position %s is not in it, its last is %s; read from the start", feed, positions[feed], last
                )
                if self.on_cursor_ahead is not None:
                    self.on_cursor_ahead(feed, positions[feed], last)
                sound[feed] = START
        self._checked |= checked
        self._checked_generation = self._reader.generation
        return sound

    async def last_id(self, feed: str) -> str:
        return last_id_in((await self._wire.pipeline([("XINFO", "STREAM", feed)]))[0])

    # Cursors

    async def load_cursors(self, service: str, feeds: Sequence[str]) -> dict[str, str]:
        return dict(zip(feeds, await self._cursors([keys.cursor(service, feed) for feed in feeds]), strict=True))

    async def _cursors(self, names: Sequence[str]) -> list[str]:
        replies = await self._wire.pipeline([("GET", name) for name in names]) if names else []
        wrong = [isinstance(reply, Refusal) and reply.code == "WRONGTYPE" for reply in replies]
        return [
            stored_position(name, reply if broken else answered(reply))
            for name, reply, broken in zip(names, replies, wrong, strict=True)
        ]

    async def store_cursors(self, service: str, cursors: Mapping[str, str]) -> None:
        commands = []
        for feed, at in cursors.items():
            id_parts(at)
            commands.append(
                STORE_CURSOR.command([keys.cursor(service, feed)], (at, feed, "1" if is_log(feed) else "0"))
            )
        if commands:
            for reply in await STORE_CURSOR.run_all(self._wire, commands):
                answered(reply)

    # Trimming: plain commands and no script, since a script would need write permission on the readers' cursors

    async def trim_feed(self, feed: str, readers: Sequence[str]) -> int:
        check_trimmable(feed, readers)
        cursors = await self._cursors([keys.cursor(service, feed) for service in readers])
        least = min(cursors, key=id_parts)
        if least == START:
            return 0
        info, there = await self._wire.pipeline([("XINFO", "STREAM", feed), ("XRANGE", feed, least, least)])
        last = last_id_in(info)
        if any(id_parts(at) > id_parts(last) for at in cursors) or not answered(there):
            return 0  # a relic counts as zero, until its reader has rewound it
        return int(await call(self._wire, "XTRIM", feed, "MINID", least))


def last_id_in(info: Any) -> str:
    if is_missing_key(info):
        return START
    return text_map(answered(info))["last-generated-id"].decode("ascii")


class RedisDeadLetters:
    """`log.DeadLetters`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def park(self, service: str, shard: int, table_id: str, entry: FeedEntry, reason: str) -> bool:
        keys.check_table_id(table_id)
        args = (letter_field(table_id, entry), pack_letter(reason, entry))
        return bool(await PARK.run(self._wire, [keys.dead(service, shard)], args))

    async def parked_tables(self, service: str, shard: int) -> set[str]:
        fields = await call(self._wire, "HKEYS", keys.dead(service, shard))
        return {field.split(b" ")[0].decode("ascii") for field in fields if field != COUNTER}

    async def dead_list(self, service: str | None = None) -> list[DeadLetter]:
        services = [service] if service is not None else await self._services()
        places = [(name, shard) for shard in range(keys.SHARDS) for name in services]
        replies = await call_all(self._wire, [("HGETALL", keys.dead(name, shard)) for name, shard in places])
        letters: list[DeadLetter] = []
        for (name, shard), reply in zip(places, replies, strict=True):
            letters += _letters(name, shard, reply)
        return letters

    async def _services(self) -> list[str]:
        names: set[str] = set()
        for key in await scan(self._wire, "{s[0-9][0-9]}:dead:*", "hash"):
            names.add(key.rpartition(":")[2])
        return sorted(names)

    async def dead_take(self, service: str, shard: int, table_id: str) -> list[DeadLetter]:
        reply = await call(self._wire, "HGETALL", keys.dead(service, shard))
        return [letter for letter in _letters(service, shard, reply) if letter.table_id == table_id]

    async def dead_discard(self, service: str, shard: int, table_id: str, up_to: int | None = None) -> int:
        line = await self.dead_take(service, shard, table_id)
        fields = [letter_field(table_id, letter.entry) for letter in line if up_to is None or letter.number <= up_to]
        if not fields:
            return 0
        return int(await call(self._wire, "HDEL", keys.dead(service, shard), *fields))

    async def request_retry(self, service: str, shard: int, table_id: str) -> None:
        await call(self._wire, "SADD", keys.retry(service, shard), keys.check_table_id(table_id))

    async def retry_requests(self, service: str, shard: int) -> set[str]:
        return {table.decode("ascii") for table in await call(self._wire, "SMEMBERS", keys.retry(service, shard))}

    async def clear_retry(self, service: str, shard: int, table_id: str) -> None:
        await call(self._wire, "SREM", keys.retry(service, shard), table_id)


def _letters(service: str, shard: int, reply: Any) -> Sequence[DeadLetter]:
    found = [unpack_letter(service, shard, field, value) for field, value in dict(reply).items() if field != COUNTER]
    return sorted(found, key=lambda letter: letter.number)

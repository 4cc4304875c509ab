"""Dead letters and requests to replay them, as commands of the server. A shard's letters of a service are one hash;
each carries its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stud_eventlog import keys
from stud_eventlog.entries import letter_field, pack_letter, unpack_letter
from stud_eventlog.lua import PARK
from stud_eventlog.redis_wire import Wire, call, call_all
from stud_eventlog.types import DeadLetter, FeedEntry

COUNTER = b"#"


class RedisDeadLetters:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def park(self, service: str, shard: int, table_id: str, entry: FeedEntry, reason: str) -> bool:
        keys.check_table_id(table_id)
        args = (letter_field(table_id, entry), pack_letter(reason, entry))
        return bool(await PARK.run(self._wire, [keys.dead(service, shard)], args))

    async def parked_tables(self, service: str, shard: int) -> set[str]:
        fields = await call(self._wire, "HKEYS", keys.dead(service, shard))
        return {field.split(b" ")[0].decode("ascii") for field in fields if field != COUNTER}

    async def list_all(self, service: str | None) -> list[DeadLetter]:
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

    async def take(self, service: str, shard: int, table_id: str) -> list[DeadLetter]:
        reply = await call(self._wire, "HGETALL", keys.dead(service, shard))
        return [letter for letter in _letters(service, shard, reply) if letter.table_id == table_id]

    async def discard(self, service: str, shard: int, table_id: str, up_to: int | None) -> int:
        line = await self.take(service, shard, table_id)
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


async def scan(wire: Wire, pattern: str, kind: str) -> list[str]:
    """Returns all keys of a type that match a pattern, by walking the whole key space."""
    found: set[str] = set()
    at: bytes | str = "0"
    while True:
        at, names = await call(wire, "SCAN", at, "MATCH", pattern, "COUNT", 1000, "TYPE", kind)
        found.update(name.decode() for name in names)
        if at in (b"0", "0"):
            return sorted(found)

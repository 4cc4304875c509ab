"""Everything a server holds, read around all our code, and every card that anybody can see in it without a key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import redis.asyncio
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_eventlog import keys
from stud_eventlog.entries import unpack_letter
from stud_wire.commits import encode_event

CARD = "stud.common.v1.Card"
BOXES = {"sealed": 17, "box": 48}
"""Fields that hold a ciphertext, and its length: one card or 32 bytes of seed, and 16 bytes of tag."""


@dataclass(frozen=True)
class Value:
    """One value of one key; `stream` is the log that an entry of a feed comes from, `version` its commit there."""

    key: str
    name: str
    data: bytes
    stream: str = ""
    version: int = 0


async def everything(url: str) -> list[Value]:
    """Every value of every key of whatever type."""
    found: list[Value] = []
    async with redis.asyncio.Redis.from_url(url) as client:
        async for raw in client.scan_iter(count=1000):
            found += [value async for value in _values(client, raw.decode())]
    return found


async def _values(client: Any, key: str) -> Any:
    kind = (await client.type(key)).decode()
    if kind == "string":
        yield Value(key, "", await client.get(key))
    elif kind == "hash":
        for name, data in (await client.hgetall(key)).items():
            if ":dead:" in key and name != b"#":
                letter = unpack_letter("dead", 0, name, data)
                yield Value(key, "e", letter.entry.event, letter.entry.stream, letter.entry.version)
                yield Value(key, "reason", letter.reason.encode())
            else:
                yield Value(key, name.decode(errors="replace"), data)
    elif kind == "set":
        for data in await client.smembers(key):
            yield Value(key, "", data)
    elif kind == "stream":
        for entry_id, fields in await client.xrange(key):
            stream = fields.get(b"s", key.encode()).decode()
            version = int(fields[b"v"]) if b"v" in fields else int(entry_id.split(b"-")[0])
            for name, data in fields.items():
                yield Value(key, name.decode(), data, stream, version)
    elif kind != "none":  # gone meanwhile
        raise AssertionError(f"{key} is a {kind}: nobody looks into it for cards")


_PUT_BODY = """
local entries = redis.call('XRANGE', KEYS[1], '-', '+')
redis.call('DEL', KEYS[1])
for _, entry in ipairs(entries) do
  for i = 1, #entry[2], 2 do
    if entry[1] == ARGV[1] and entry[2][i] == 'b' then entry[2][i + 1] = ARGV[2] end
  end
  redis.call('XADD', KEYS[1], entry[1], unpack(entry[2]))
end
"""


async def put_body(url: str, stream: str, version: int, body: bytes) -> None:
    """Puts other bytes into a commit that is there, in one step, and leaves everything else as it is."""
    async with redis.asyncio.Redis.from_url(url) as client:
        evaluate: Any = client.eval
        await evaluate(_PUT_BODY, 1, stream, f"{version}-0", body)


async def put_message(url: str, feed: str, stream: str, event: Any, version: int | str, head_hash: bytes) -> None:
    """Puts an entry at the end of a feed that no commit has sent."""
    fields: Any = {"s": stream, "v": version, "i": 0, "h": head_hash, "e": encode_event(event)}
    async with redis.asyncio.Redis.from_url(url) as client:
        await client.xadd(feed, fields)


def message_in(value: Value) -> Message | None:
    """What a value says, decoded without any key; None for what is a plain text, number, hash or id."""
    name = keys.parse_stream(value.key)
    if name is not None and value.name == "b":
        return commit_pb2.Commit.FromString(value.data)
    if value.name == "e" and (name is not None or ":dead:" in value.key):
        return commit_pb2.Event.FromString(value.data)
    if value.key.endswith(":lobby"):
        return pb.TableSummary.FromString(value.data)
    return None


def fields_in(message: Message) -> Iterator[tuple[FieldDescriptor, Any]]:
    """Every field that is set, however deep; repeated ones one by one."""
    for field, value in message.ListFields():
        for item in _items(field, value):
            if isinstance(item, Message):
                yield from fields_in(item)
            else:
                yield field, item


def _items(field: FieldDescriptor, value: Any) -> list[Any]:
    if isinstance(value, (str, bytes, int, float, Message)):
        return [value]
    return list(value.values()) if hasattr(value, "values") else list(value)


def cards_in(message: Message) -> set[int]:
    """Every card in clear, 0..51."""
    return {
        int(item) - 1
        for field, item in fields_in(message)
        if field.enum_type is not None and field.enum_type.full_name == CARD and item
    }


def bytes_in(message: Message) -> list[tuple[str, bytes]]:
    return [(field.name, item) for field, item in fields_in(message) if isinstance(item, bytes)]

"""Logs that an earlier build has left, as the server held them: every key, in a file that needs no server to be read.

Each line is a key's part: an entry of a stream, a field of a hash, or a string. The names of fields are those that were
written then, so what reads a golden log reads the stored form of that build, not today's. No key file is kept beside
it: the keys of a golden system are made of words, for nothing but these files.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import redis.asyncio

from stud_eventlog import entries, keys
from stud_eventlog.memory import MemoryStore
from stud_service.keyring import FOLDERS, Key

FOLDER = Path(__file__).parents[1] / "golden" / "logs"
PLAYED = FOLDER / "played.jsonl.gz"
RUNNING = FOLDER / "running.jsonl.gz"


def material(name: str) -> bytes:
    """The 32 bytes of a golden system's key."""
    return hashlib.sha256(f"golden logs: {name}".encode()).digest()


def write_keys(folder: Path) -> None:
    """The three key files of a golden system."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FOLDERS:
        (folder / f"{name}.key").write_bytes(material(name))


def referee_key() -> Key:
    return Key("referee", material("referee"))


class Part(msgspec.Struct, frozen=True):
    """What one line says: an entry (``at``: its id), a field (``at``: its name) or a whole string (``at`` empty)."""

    key: str
    kind: str
    at: str
    fields: dict[str, bytes]


# --- files -------------------------------------------------------------------


def save(path: Path, parts: list[Part]) -> None:
    lines = []
    for part in parts:
        fields = {name: base64.b64encode(value).decode() for name, value in part.fields.items()}
        lines.append(json.dumps([part.key, part.kind, part.at, fields], separators=(",", ":")))
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def parts_of(path: Path) -> Iterator[Part]:
    for line in gzip.decompress(path.read_bytes()).splitlines():
        key, kind, at, fields = json.loads(line)
        yield Part(key, kind, at, {name: base64.b64decode(value) for name, value in fields.items()})


# --- taken from memory ---------------------------------------------------------


def taken(store: MemoryStore) -> list[Part]:
    """What a server would hold in the place of this store."""
    data = store.data
    assert not any((data.letters, data.retries)), "a golden log holds no parked messages"
    parts = [Part(keys.INITIALISED, "string", "", {"": b"1"})]
    for stream, rows in sorted(data.logs.items()):
        for commit, stored_hash in rows:
            values = {b"h": stored_hash, b"p": commit.prev_hash, b"c": commit.commit_id, b"b": commit.body}
            parts.append(_entry(stream, entries.log_id(commit.version), values))
    for feed, lines in sorted(data.feeds.items()):
        for line in lines:
            told = (line.stream, str(line.version), str(line.index))
            values = dict(zip((b"s", b"v", b"i"), [text.encode() for text in told], strict=True))
            parts.append(_entry(feed, line.entry_id, {**values, b"h": line.head_hash, b"e": line.event}))
    for name, at in sorted(data.cursors.items()):
        parts.append(Part(name, "string", "", {"": at.encode()}))
    for name, rows_by_field in sorted(data.hashes.items()):
        parts += [Part(name, "hash", field, {"": value}) for field, value in sorted(rows_by_field.items())]
    return parts


def _entry(key: str, entry_id: str, values: dict[bytes, bytes]) -> Part:
    return Part(key, "stream", entry_id, {name.decode(): value for name, value in values.items()})


# --- put into a store, or a server -----------------------------------------------


def into_memory(path: Path, store: MemoryStore) -> None:
    """Fill an empty store."""
    data = store.data
    for part in parts_of(path):
        if part.kind == "stream":
            _stream_entry(store, part)
        elif part.kind == "hash":
            data.hashes.setdefault(part.key, {})[part.at] = part.fields[""]
        elif part.key == keys.INITIALISED:
            data.initialised = True
        else:
            data.cursors[part.key] = part.fields[""].decode()


def _stream_entry(store: MemoryStore, part: Part) -> None:
    fields = [word for name, value in part.fields.items() for word in (name.encode(), value)]
    name = keys.parse_stream(part.key)
    assert name is not None, part.key
    if name.is_log:
        row = entries.log_row(part.key, part.at.encode(), fields)
        store.data.logs.setdefault(part.key, []).append(row)
    else:
        entry = entries.feed_entry(part.key, part.at.encode(), fields)
        store.data.feeds.setdefault(part.key, []).append(entry)
        store.data.last_ids[part.key] = part.at
        store._feed_clock = max(store._feed_clock, entries.id_parts(part.at)[0])


async def into_server(path: Path, url: str) -> None:
    """Fill an empty server, around all our code."""
    async with redis.asyncio.Redis.from_url(url) as client:
        pipeline: Any = client.pipeline(transaction=False)
        for part in parts_of(path):
            if part.kind == "stream":
                pipeline.xadd(part.key, part.fields, id=part.at)
            elif part.kind == "hash":
                pipeline.hset(part.key, part.at, part.fields[""])
            else:
                pipeline.set(part.key, part.fields[""])
        await pipeline.execute()

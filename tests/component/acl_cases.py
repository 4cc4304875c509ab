"""Who owns which key, from the one table of services and independently of users.acl; test_acl.py tries it out."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from stud_eventlog import keys
from stud_topology.services import NAMES
from stud_topology.services import SERVICES as ALL

REDIS_FILES = Path(__file__).resolve().parents[2] / "deploy" / "redis"
SHARD = 7
CURRENCY = "EUR"
SERVICES = NAMES
USERS = (*SERVICES, "operator")


class Key(NamedTuple):
    name: str
    kind: str  # stream, string, hash, set
    writer: str
    readers: frozenset[str]
    removable: bool
    """Whether its owner may delete or overwrite it: never a log, never a feed."""


def _key(name: str, kind: str, writer: str, readers: str = "", *, removable: bool = False) -> Key:
    return Key(name, kind, writer, frozenset({writer, "operator", *readers.split()}), removable)


def _own(service: str) -> list[Key]:
    table_cursor = keys.cursor(service, keys.table_feed(SHARD))
    everybody = " ".join(SERVICES)
    return [
        _key(table_cursor, "string", service, everybody, removable=True),
        _key(keys.lease(service, SHARD), "string", service, removable=True),
        _key(keys.dead(service, SHARD), "hash", service),
        _key(keys.retry(service, SHARD), "set", service),
    ]


STREAMS: dict[keys.Kind, str] = {
    "table": keys.table_log(SHARD, "t-1"),
    "deck": keys.deck_log(SHARD, "t-1"),
    "verdicts": keys.verdicts(SHARD),
    "ledger": keys.ledger_log(CURRENCY),
    "table-events": keys.table_feed(SHARD),
    "dealer-events": keys.dealer_feed(SHARD),
    "ledger-feed": keys.ledger_feed(CURRENCY, SHARD),
}


def _stream(kind: keys.Kind, writer: str) -> Key:
    readers = [service.name for service in ALL if kind in {*service.follows, *service.looks_up}]
    return _key(STREAMS[kind], "stream", writer, " ".join(readers))


KEYS = [
    *(_stream(service.log, service.name) for service in ALL if service.log is not None),
    *(_stream(service.feed, service.name) for service in ALL if service.feed is not None),
    _key(keys.lobby(SHARD), "hash", "table"),
    _key(
        keys.cursor("table", keys.ledger_feed(CURRENCY, SHARD)),
        "string",
        "table",
        " ".join(SERVICES),
        removable=True,
    ),
    _key(keys.INITIALISED, "string", "operator", " ".join(SERVICES)),
    # Names close to real ones: a pattern that is too wide would let them through.
    _key("{s07}:tablecloth", "stream", "nobody"),
    _key("{s7}:table:t-1", "stream", "nobody"),
    _key("{ledger:EURO}:transfers", "stream", "nobody"),
    _key("stud:other", "string", "nobody"),
    *(key for service in SERVICES for key in _own(service)),
]
LOGS_AND_FEEDS = [key for key in KEYS if key.kind == "stream" and key.writer != "nobody"]
FEEDS = {STREAMS[service.feed] for service in ALL if service.feed is not None}
"""What its owner may trim."""


def write_commands(key: Key) -> list[tuple[str, ...]]:
    """Commands that would change a key, each in its own way; the first is the natural one."""
    natural = {
        "stream": ("XADD", key.name, "*", "f", "v"),
        "string": ("SET", key.name, "1-0"),
        "hash": ("HSET", key.name, "f", "v"),
        "set": ("SADD", key.name, "m"),
    }[key.kind]
    destructive = [("SET", key.name, "x"), ("DEL", key.name), ("UNLINK", key.name), ("EXPIRE", key.name, "1")]
    if key.kind == "stream":
        destructive += [("XTRIM", key.name, "MAXLEN", "0"), ("XDEL", key.name, "1-0"), ("XSETID", key.name, "9-0")]
    return [natural, *destructive, ("RENAME", key.name, key.name + "x"), ("COPY", key.name, key.name + "x", "REPLACE")]


def read_command(key: Key) -> tuple[str, ...]:
    return {
        "stream": ("XRANGE", key.name, "-", "+"),
        "string": ("GET", key.name),
        "hash": ("HGETALL", key.name),
        "set": ("SMEMBERS", key.name),
    }[key.kind]


def password(user: str) -> str:
    return f"{user}-with a 'quote'"


def url_of(user: str, port: int) -> str:
    return f"redis://{user}:{quote(password(user))}@127.0.0.1:{port}/0"


def rendered_acl() -> str:
    """The access list as the container's start script makes it."""
    passwords = {f"STUD_REDIS_PASSWORD_{user.upper()}": password(user) for user in USERS}
    return subprocess.run(
        [shutil.which("sh") or "sh", REDIS_FILES / "render-acl.sh", REDIS_FILES / "users.acl"],
        env={"PATH": os.environ["PATH"], **passwords},
        check=True,
        capture_output=True,
        text=True,
    ).stdout

"""Every Redis key of the system is named here and nowhere else.

A key begins with a hash tag in braces, so that everything one script touches lies in one slot of a Redis Cluster:

    {s07}:table:<id>               log of a table
    {s07}:deck:<id>                log of a table's decks
    {s07}:table-events             feed, table service -> dealer, wallet
    {s07}:dealer-events            feed, dealer -> table, rules
    {s07}:verdicts                 log of the referee, read as a feed by table and wallet
    {s07}:lobby                    hash, a row per table
    {s07}:lease:<service>          who serves the shard
    {s07}:dead:<service>           hash, parked messages
    {s07}:retry:<service>          set, tables whose parked line an operator wants replayed
    {s07}:cursor:<service>:<feed>  how far a service has read `{s07}:<feed>`
    {ledger:EUR}:transfers         log of a currency's ledger
    {ledger:EUR}:to:s07            feed, wallet -> table, one per shard
    {ledger:EUR}:cursor:<service>:to:s07  how far a service has read `{ledger:EUR}:to:s07`
    {s00}:cursor:<service>:probe   written by a service to see that it can write; says nothing
    stud:initialised               written once by an explicit initialisation, a random name of this log; its absence
                                   means data loss, another one another log

A cursor always lives in the slot *of the feed* it belongs to, under the feed's own name: the wallet's place in
`{s07}:table-events` is `{s07}:cursor:wallet:table-events`, the table's place in `{ledger:EUR}:to:s07` is
`{ledger:EUR}:cursor:table:to:s07`. Whoever trims a feed therefore finds all cursors of its readers beside it, and
storing a cursor can compare it with its feed inside one script.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

SHARDS = 64
INITIALISED = "stud:initialised"

_TABLE_ID = re.compile(r"[a-z0-9-]{1,64}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_SERVICE = re.compile(r"[a-z0-9-]{1,32}")

Kind = Literal["table", "deck", "verdicts", "ledger", "table-events", "dealer-events", "ledger-feed"]

LOG_KINDS: frozenset[Kind] = frozenset({"table", "deck", "verdicts", "ledger"})
"""Logs are the truth: they are never trimmed here."""


def check_table_id(table_id: str) -> str:
    if not _TABLE_ID.fullmatch(table_id):
        raise ValueError(f"table id {table_id!r}: expected 1 to 64 of the characters a-z, 0-9 and '-'")
    return table_id


def check_currency(currency: str) -> str:
    if not _CURRENCY.fullmatch(currency):
        raise ValueError(f"currency {currency!r}: expected three capital letters as in ISO 4217, e.g. EUR")
    return currency


def check_service(service: str) -> str:
    if not _SERVICE.fullmatch(service):
        raise ValueError(f"service {service!r}: expected 1 to 32 of the characters a-z, 0-9 and '-'")
    return service


def check_shard(shard: int) -> int:
    if not 0 <= shard < SHARDS:
        raise ValueError(f"shard {shard}: expected 0 to {SHARDS - 1}")
    return shard


def shard_of(table_id: str) -> int:
    """Returns the shard of a table: the first 8 bytes of SHA-256 of its id, modulo SHARDS. Never changes."""
    digest = hashlib.sha256(check_table_id(table_id).encode("ascii")).digest()
    return int.from_bytes(digest[:8], "big") % SHARDS


def shard_name(shard: int) -> str:
    return f"s{check_shard(shard):02d}"


def _in_shard(shard: int, rest: str) -> str:
    return "{" + shard_name(shard) + "}:" + rest


def _in_ledger(currency: str, rest: str) -> str:
    return "{ledger:" + check_currency(currency) + "}:" + rest


def table_log(shard: int, table_id: str) -> str:
    return _in_shard(shard, "table:" + check_table_id(table_id))


def deck_log(shard: int, table_id: str) -> str:
    return _in_shard(shard, "deck:" + check_table_id(table_id))


def table_feed(shard: int) -> str:
    return _in_shard(shard, "table-events")


def dealer_feed(shard: int) -> str:
    return _in_shard(shard, "dealer-events")


def verdicts(shard: int) -> str:
    return _in_shard(shard, "verdicts")


def ledger_log(currency: str) -> str:
    return _in_ledger(currency, "transfers")


def ledger_feed(currency: str, shard: int) -> str:
    return _in_ledger(currency, "to:" + shard_name(shard))


def lobby(shard: int) -> str:
    return _in_shard(shard, "lobby")


def lease(service: str, shard: int) -> str:
    return _in_shard(shard, "lease:" + check_service(service))


def dead(service: str, shard: int) -> str:
    return _in_shard(shard, "dead:" + check_service(service))


def retry(service: str, shard: int) -> str:
    return _in_shard(shard, "retry:" + check_service(service))


def cursor(service: str, feed: str) -> str:
    """Returns the key of a service's place in a feed (or in a log that is read as a feed); see the module's
    docstring.
    """
    tag = slot_tag(feed)
    return f"{tag}:cursor:{check_service(service)}:{feed[len(tag) + 1 :]}"


def probe(service: str) -> str:
    """Returns the key that a service writes to see whether it can: a cursor of no existing feed."""
    return cursor(service, _in_shard(0, "probe"))


def slot_tag(key: str) -> str:
    """Returns the hash tag with its braces: what two keys must share to be written by one script."""
    end = key.find("}:")
    if not key.startswith("{") or end < 2:
        raise ValueError(f"key {key!r}: expected a hash tag in front, e.g. '{{s07}}:table-events'")
    return key[: end + 1]


@dataclass(frozen=True, slots=True)
class StreamName:
    """What a stream's key says. `shard` is None for a ledger's log, `currency` is None within a shard, `table_id`
    only for logs of tables and decks.
    """

    kind: Kind
    shard: int | None = None
    currency: str | None = None
    table_id: str | None = None

    @property
    def is_log(self) -> bool:
        return self.kind in LOG_KINDS


_SHARD_KEY = re.compile(
    r"\{s(?P<shard>[0-9]{2})\}:(?:(?P<log>table|deck):(?P<id>[a-z0-9-]{1,64})|(?P<kind>verdicts|table-events|dealer-events))"
)
_LEDGER_KEY = re.compile(r"\{ledger:(?P<currency>[A-Z]{3})\}:(?:(?P<log>transfers)|to:s(?P<shard>[0-9]{2}))")


def parse_stream(key: str) -> StreamName | None:
    """Returns what the key of a log or feed names, or None when it is neither."""
    if match := _SHARD_KEY.fullmatch(key):
        kind: Kind = match["log"] or match["kind"]  # type: ignore[assignment]  # the pattern admits only kinds
        return _if_shard_exists(StreamName(kind, shard=int(match["shard"]), table_id=match["id"]))
    if match := _LEDGER_KEY.fullmatch(key):
        if match["log"]:
            return StreamName("ledger", currency=match["currency"])
        return _if_shard_exists(StreamName("ledger-feed", shard=int(match["shard"]), currency=match["currency"]))
    return None


def _if_shard_exists(name: StreamName) -> StreamName | None:
    return name if name.shard is not None and name.shard < SHARDS else None


def may_speak_in(feed: str, stream: str) -> bool:
    """Whether a feed's entries may come from that log: of the same shard or currency, and of its own service."""
    target, source = parse_stream(feed), parse_stream(stream)
    if target is None or source is None:
        return False
    if target.kind == "verdicts":
        return stream == feed
    if target.kind == "ledger-feed":
        return source.kind == "ledger" and source.currency == target.currency
    wanted = {"table-events": "table", "dealer-events": "deck"}.get(target.kind)
    return source.kind == wanted and source.table_id is not None and shard_of(source.table_id) == target.shard


ScanKind = Literal["table", "deck", "ledger", "verdicts"]

SCAN_PATTERNS: dict[ScanKind, str] = {
    "table": "{s[0-9][0-9]}:table:*",
    "deck": "{s[0-9][0-9]}:deck:*",
    "ledger": "{ledger:*}:transfers",
    "verdicts": "{s[0-9][0-9]}:verdicts",
}


def names_of(kind: ScanKind, streams: Iterable[str]) -> list[str]:
    """Returns, sorted, what the logs of one kind among the given keys are called: table ids, currencies or shard
    names.
    """
    names = set()
    for key in streams:
        name = parse_stream(key)
        if name is not None and name.kind == kind:
            shard = "" if name.shard is None else shard_name(name.shard)
            names.add(name.table_id or name.currency or shard)
    return sorted(names)

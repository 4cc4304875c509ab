"""Keys, values, refusals and stored forms of the event log: what they are and what they refuse."""

import hashlib
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stud_eventlog import entries, keys, trouble
from stud_eventlog.entries import is_log, is_relic
from stud_eventlog.redis_wire import Lost, Refusal, answered, pack
from stud_eventlog.types import (
    MAX_APPEND_BYTES,
    NO_HASH,
    Append,
    ChainBroken,
    EventLogError,
    FeedEntry,
    FeedItem,
    Head,
    LobbyRow,
    LogBehind,
    UnsafeServer,
    VersionConflict,
    head_hash,
)

TABLE_IDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=64)
SERVICES = st.sampled_from(["table", "dealer", "rules", "wallet"])
SHARDS = st.integers(0, keys.SHARDS - 1)


class TestKeys:
    def test_they_look_as_the_documents_say(self):
        assert keys.table_log(7, "t-1") == "{s07}:table:t-1"
        assert keys.deck_log(63, "x") == "{s63}:deck:x"
        assert keys.table_feed(0) == "{s00}:table-events"
        assert keys.dealer_feed(7) == "{s07}:dealer-events"
        assert keys.verdicts(7) == "{s07}:verdicts"
        assert keys.lobby(7) == "{s07}:lobby"
        assert keys.lease("table", 7) == "{s07}:lease:table"
        assert keys.dead("wallet", 7) == "{s07}:dead:wallet"
        assert keys.retry("wallet", 7) == "{s07}:retry:wallet"
        assert keys.ledger_log("EUR") == "{ledger:EUR}:transfers"
        assert keys.ledger_feed("EUR", 7) == "{ledger:EUR}:to:s07"

    def test_a_cursor_is_beside_its_feed(self):
        assert keys.cursor("wallet", keys.table_feed(7)) == "{s07}:cursor:wallet:table-events"
        assert keys.cursor("table", keys.verdicts(7)) == "{s07}:cursor:table:verdicts"
        assert keys.cursor("table", keys.ledger_feed("EUR", 7)) == "{ledger:EUR}:cursor:table:to:s07"

    def test_the_shard_of_a_table_never_changes(self):
        # Stored data depends on these: the first 8 bytes of SHA-256, modulo 64.
        assert [keys.shard_of(table) for table in ("t-1", "t-2", "main", "a" * 64)] == [34, 10, 43, 45]

    @given(TABLE_IDS)
    def test_the_shard_is_within_bounds_and_even(self, table_id: str):
        expected = int.from_bytes(hashlib.sha256(table_id.encode()).digest()[:8], "big") % 64
        assert keys.shard_of(table_id) == expected

    def test_tables_spread_over_all_shards(self):
        assert {keys.shard_of(f"table-{n}") for n in range(1000)} == set(range(64))

    @pytest.mark.parametrize("table_id", ["", "A", "t_1", "t 1", "t:1", "{s07}", "ü", "a" * 65, "t\n", "t-1\n"])
    def test_what_is_no_table_id_is_refused(self, table_id: str):
        for make in (keys.shard_of, lambda table: keys.table_log(1, table), lambda table: keys.deck_log(1, table)):
            with pytest.raises(ValueError, match="expected 1 to 64"):
                make(table_id)

    @pytest.mark.parametrize("currency", ["", "EU", "EURO", "eur", "E1R", "EUR\n", "ÄÖÜ"])
    def test_what_is_no_currency_is_refused(self, currency: str):
        with pytest.raises(ValueError, match="three capital letters"):
            keys.ledger_log(currency)
        with pytest.raises(ValueError, match="three capital letters"):
            keys.ledger_feed(currency, 1)

    @pytest.mark.parametrize("shard", [-1, 64, 1000])
    def test_what_is_no_shard_is_refused(self, shard: int):
        with pytest.raises(ValueError, match="expected 0 to 63"):
            keys.table_feed(shard)

    def test_what_is_no_service_or_feed_is_refused(self):
        with pytest.raises(ValueError, match="service"):
            keys.cursor("Table", keys.table_feed(1))
        for feed in ("", "table-events", "{s07}", "{}:x", "s07}:x"):
            with pytest.raises(ValueError, match="expected a hash tag"):
                keys.cursor("table", feed)

    @given(SHARDS, TABLE_IDS, st.sampled_from(["EUR", "XTS"]))
    def test_streams_are_understood_again(self, shard: int, table: str, currency: str):
        name = keys.StreamName
        assert keys.parse_stream(keys.table_log(shard, table)) == name("table", shard=shard, table_id=table)
        assert keys.parse_stream(keys.deck_log(shard, table)) == name("deck", shard=shard, table_id=table)
        assert keys.parse_stream(keys.verdicts(shard)) == name("verdicts", shard=shard)
        assert keys.parse_stream(keys.table_feed(shard)) == name("table-events", shard=shard)
        assert keys.parse_stream(keys.dealer_feed(shard)) == name("dealer-events", shard=shard)
        assert keys.parse_stream(keys.ledger_log(currency)) == name("ledger", currency=currency)
        feed = name("ledger-feed", shard=shard, currency=currency)
        assert keys.parse_stream(keys.ledger_feed(currency, shard)) == feed
        assert not feed.is_log

    @pytest.mark.parametrize("key", ["", "x", "{s07}:lobby", "{s64}:verdicts", "{ledger:EUR}:to:s99", "{s7}:table:t"])
    def test_what_is_neither_log_nor_feed_is_not_understood(self, key: str):
        assert keys.parse_stream(key) is None
        assert not is_log(key)

    @given(SERVICES, SHARDS, TABLE_IDS)
    def test_no_two_things_share_a_key(self, service: str, shard: int, table: str):
        made = [
            keys.table_log(shard, table),
            keys.deck_log(shard, table),
            keys.table_feed(shard),
            keys.dealer_feed(shard),
            keys.verdicts(shard),
            keys.lobby(shard),
            keys.lease(service, shard),
            keys.dead(service, shard),
            keys.retry(service, shard),
            keys.ledger_log("EUR"),
            keys.ledger_feed("EUR", shard),
            keys.cursor(service, keys.table_feed(shard)),
            keys.cursor(service, keys.ledger_feed("EUR", shard)),
            keys.INITIALISED,
        ]
        assert len(set(made)) == len(made)


class TestAppend:
    STREAM = keys.table_log(7, "t-1")

    def make(self, **changes: Any) -> Append:
        parts = {
            "stream": self.STREAM,
            "expected_version": 0,
            "prev_hash": NO_HASH,
            "commit_id": b"i" * 16,
            "body": b"b",
        }
        return Append(**{**parts, **changes})

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"expected_version": -1}, "must be 0 or more"),
            ({"prev_hash": b"short"}, "must have 32"),
            ({"commit_id": b"short"}, "must have 16"),
            ({"stream": "no slot"}, "expected a hash tag"),
            ({"outbox": (FeedItem(keys.table_feed(8), b"x"),)}, "in the slot of"),
            ({"outbox": (FeedItem(keys.ledger_feed("EUR", 7), b"x"),)}, "in the slot of"),
            ({"outbox": (FeedItem(STREAM, b"x"),)}, "must be another key"),
            ({"lobby": LobbyRow(keys.lobby(8), "t-1", b"x")}, "in the slot of"),
            ({"body": bytes(MAX_APPEND_BYTES + 1)}, "must be at most"),
            ({"outbox": (FeedItem(keys.table_feed(7), bytes(MAX_APPEND_BYTES)),)}, "must be at most"),
        ],
    )
    def test_what_cannot_be_written_is_refused_when_made(self, changes: dict[str, Any], message: str):
        with pytest.raises(ValueError, match=message):
            self.make(**changes)

    def test_it_knows_its_size_and_its_head(self):
        append = self.make(
            outbox=(FeedItem(keys.table_feed(7), b"xy"),), lobby=LobbyRow(keys.lobby(7), "t-1", b"abc"), body=b"1234"
        )
        assert append.size == 9
        assert append.head == Head(1, head_hash(NO_HASH, 1, b"i" * 16, b"1234"))

    def test_the_hash_is_what_the_documents_say(self):
        parts = (b"p" * 32, (5).to_bytes(8), b"c" * 16, b"body")
        expected = hashlib.sha256(b"".join(len(part).to_bytes(4) + part for part in parts)).digest()
        assert head_hash(b"p" * 32, 5, b"c" * 16, b"body") == expected


class TestRefusals:
    def test_they_say_what_would_have_been_right(self):
        assert "expect 4" in str(VersionConflict("s", 3, 4))
        assert "read the stream again" in str(VersionConflict("s", 3, 3))
        assert "at least" in str(LogBehind("s", Head(3, b"a" * 32), Head(1, b"b" * 32)))
        assert "broken at version 3" in str(ChainBroken("s", 3))
        assert str(UnsafeServer(["a is b, must be c"])).endswith("a is b, must be c")


class TestServerSettings:
    SAFE: ClassVar = {
        "appendonly": "yes",
        "appendfsync": "always",
        "no-appendfsync-on-rewrite": "no",
        "maxmemory-policy": "noeviction",
        "aof-load-truncated": "no",
    }

    @pytest.mark.parametrize("version", ["7.2.0", "7.2.4", "8.0.1", "10.0.0"])
    def test_a_safe_server_has_no_problems(self, version: str):
        assert trouble.server_problems(self.SAFE, version) == []

    def test_every_problem_is_named_with_what_would_be_right(self):
        problems = trouble.server_problems({"appendonly": "no"}, "7.0.15")
        assert [problem.split(", must be ")[0] for problem in problems] == [
            "version is 7.0.15",
            "appendonly is no",
            "appendfsync is unknown",
            "no-appendfsync-on-rewrite is unknown",
            "maxmemory-policy is unknown",
            "aof-load-truncated is unknown",
        ]

    @pytest.mark.parametrize("version", ["", "x", "7", "7.x", "nightly.build"])
    def test_a_version_that_cannot_be_read_is_a_problem(self, version: str):
        assert "must be at least 7.2" in trouble.server_problems(self.SAFE, version)[0]


class TestStoredForms:
    ENTRY = FeedEntry(keys.dealer_feed(7), "17-3", keys.deck_log(7, "t"), 9, 2, b"h" * 32, b"\x00event")

    @given(st.binary(), st.text(st.characters(codec="utf-8")), st.integers(0, 2**63), st.integers(0, 2**31))
    def test_a_dead_letter_comes_back_as_it_was(self, event: bytes, reason: str, version: int, index: int):
        entry = FeedEntry(keys.dealer_feed(7), "17-3", keys.deck_log(7, "t"), version, index, b"h" * 32, event)
        stored = b"%016d" % 5 + entries.pack_letter(reason, entry)
        letter = entries.unpack_letter("table", 7, entries.letter_field("t-1", entry), stored)
        assert (letter.entry, letter.reason, letter.number, letter.table_id) == (entry, reason, 5, "t-1")

    @pytest.mark.parametrize(
        ("field", "value"), [(b"one-word", b"0" * 40), (b"t f 1-0", b"not a number" * 4), (b"t f 1-0", b"0" * 20)]
    )
    def test_a_malformed_dead_letter_is_told(self, field: bytes, value: bytes):
        with pytest.raises(EventLogError, match="malformed"):
            entries.unpack_letter("table", 7, field, value)

    @pytest.mark.parametrize(
        ("changes", "stream"),
        [
            ({b"s": None}, ""),
            ({b"v": None}, ""),
            ({b"h": None}, ""),
            ({b"v": b"1:"}, ""),
            ({b"i": b"one"}, ""),
            ({b"s": b"\xff"}, ""),
            ({b"e": None}, ""),
            ({b"e": b""}, ""),
            ({b"v": b"-5"}, "x"),
            ({b"v": b"0"}, "x"),
            ({b"v": b"18446744073709551616"}, "x"),
            ({b"i": b"-1"}, "x"),
            ({b"i": b"4294967296"}, "x"),
            ({b"s": None, b"b": b"body", b"c": b"", b"p": b""}, ""),
        ],
    )
    def test_what_is_no_entry_of_a_feed_stops_no_reader(self, changes: dict[bytes, bytes | None], stream: str):
        values = {b"s": b"x", b"v": b"1", b"i": b"0", b"h": b"h" * 32, b"e": b"event"} | changes
        fields = [word for name, value in values.items() if value is not None for word in (name, value)]
        found = entries.feed_entry(keys.table_feed(7), b"3-1", fields)
        assert (found.feed, found.entry_id, found.stream, found.version) == (keys.table_feed(7), "3-1", stream, 0)
        assert entries.pack_letter("it can be parked", found)

    def test_an_entry_of_a_log_read_as_a_feed_that_lacks_something_breaks_the_chain(self):
        with pytest.raises(ChainBroken, match="should have a field"):
            entries.feed_entry(keys.verdicts(7), b"3-0", [b"h", b"", b"p", b""])

    def test_a_log_entry_that_lacks_something_breaks_the_chain(self):
        with pytest.raises(ChainBroken, match="should have a field b'c'"):
            entries.log_row("s", b"3-0", [b"h", b"", b"p", b"", b"b", b""])

    def test_positions_compare_as_numbers(self):
        assert is_relic("10-0", "9-0", is_there=False, of_a_log=True)
        assert not is_relic("9-0", "10-0", is_there=False, of_a_log=True)
        assert is_relic("9-0", "10-0", is_there=False, of_a_log=False)
        assert not is_relic("9-0", "10-0", is_there=True, of_a_log=False)
        assert not is_relic("0-0", "0-0", is_there=False, of_a_log=False)

    def test_commands_are_packed_as_bulk_strings(self):
        assert pack([("SET", "kü", b"\r\n", 17), ("PING",)]) == (
            b"*4\r\n$3\r\nSET\r\n$3\r\nk\xc3\xbc\r\n$2\r\n\r\n\r\n$2\r\n17\r\n*1\r\n$4\r\nPING\r\n"
        )

    def test_no_reply_and_an_error_reply_are_unavailable(self):
        with pytest.raises(EventLogError, match="does not answer: cut"):
            answered(Lost(sent=True, why="cut"))
        with pytest.raises(EventLogError, match="refuses: OOM too much"):
            answered(Refusal("OOM", "too much"))
        assert answered(None) is None

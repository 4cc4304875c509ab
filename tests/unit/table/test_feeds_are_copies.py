"""Whatever the copies in the feeds say, chips go where the logs say (ADR 0005)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as te
from stud_core import verdict_events as ve
from stud_core.ledger import events as le
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import FeedEntry, Head
from stud_wire.commits import Meta, decode_commit, decode_event, encode_commit, encode_event
from tests.support.playing_memory import DEPOSIT, Game
from tests.support.system_memory import MemorySystem, simulated

OTHER: dict[str, Any] = {
    "sitting_no": 77,
    "account": "bea",
    "amount": 7,
    "claim": 1,
    "top_up_no": 9,
    "after_hand": 50,
    "table": "t-2",
}
MONEY = (te.BuyInRequested, te.TopUpRequested, te.CashOutRequested, le.BuyInFunded, le.TopUpFunded, le.CashedOut)


Change = Callable[[FeedEntry, random.Random], FeedEntry]


def fields(*names: str) -> Change:
    """Other values in the event."""

    def change(entry: FeedEntry, _: random.Random) -> FeedEntry:
        event: Any = decode_event(entry.event)
        changes = {name: OTHER[name] for name in names if hasattr(event, name)}
        return replace(entry, event=encode_event(msgspec.structs.replace(event, **changes)))

    return change


def flip(name: str) -> Change:
    """Another bit in a field of the entry."""

    def change(entry: FeedEntry, rng: random.Random) -> FeedEntry:
        flipped = bytearray(getattr(entry, name))
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        changed: dict[str, Any] = {name: bytes(flipped)}
        return replace(entry, **changed)

    return change


def pointer(**to: Any) -> Change:
    return lambda entry, _: replace(entry, **to)


def foreign_log(entry: FeedEntry, _: random.Random) -> FeedEntry:
    """A ledger's answer as of something else; a table's requests without their table are another test's."""
    return replace(entry, stream=keys.deck_log(keys.shard_of("t-1"), "t-1")) if "ledger" in entry.feed else entry


CHANGES: dict[str, Change] = {
    "sitting": fields("sitting_no"),
    "account": fields("account"),
    "amount": fields("amount", "claim"),
    "top-up": fields("top_up_no"),
    "hand": fields("after_hand"),
    "everything": fields(*OTHER),
    "table": fields("table"),
    "bit of the event": flip("event"),
    "bit of the hash": flip("head_hash"),
    "no event": pointer(event=b""),
    "nothing to read": pointer(event=commit_pb2.Event(ignorable=True).SerializeToString()),
    "first version": pointer(version=1),
    "later version": pointer(version=10_000),
    "no version": pointer(version=0),
    "foreign log": foreign_log,
}


class Forger:
    """Changes every message about money on its way to table and wallet."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, system: MemorySystem, change: Change) -> None:
        readers = [system.runtimes[name].log for name in ("table", "wallet")]
        self.change = change
        self.rng = random.Random(7)
        self.forged: set[type] = set()
        real = MemoryEventLog.read_feeds

        async def read_feeds(log: MemoryEventLog, positions: Mapping[str, str], *rest: Any) -> list[FeedEntry]:
            entries = await real(log, positions, *rest)
            return [self.forge(entry) for entry in entries] if log in readers else entries

        monkeypatch.setattr(MemoryEventLog, "read_feeds", read_feeds)

    def forge(self, entry: FeedEntry) -> FeedEntry:
        name = keys.parse_stream(entry.stream)
        if name is None or name.kind not in {"table", "ledger"}:
            return entry
        event = decode_event(entry.event)
        forged = self.change(entry, self.rng) if isinstance(event, MONEY) else entry
        if forged != entry:
            self.forged.add(type(event))
        return forged


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_copy_moves_no_chip(tmp_path, monkeypatch, change):
    @simulated
    async def run():
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            with capture_logs() as lines:
                forger = Forger(monkeypatch, system, change)
                await game.begin(3)
                game.rng = random.Random(1)
                await game.play(2)
                await game.send("ada", pb.AddChipsRequest(amount=500))
                await game.play(2)
                await game.close()
            await only_verdicts_moved_money(system, game)
            assert forger.forged
            assert "feed_differs_from_log" in {line["event"] for line in lines}
            assert "poison" not in {line["event"] for line in lines}

    run()


async def only_verdicts_moved_money(system: MemorySystem, game: Game) -> None:
    book = system.service("wallet").books["EUR"].state
    verified = {"ada": 0, "bea": 0, "cleo": 0}
    for commit in await MemoryEventLog(system.store).read(keys.verdicts(keys.shard_of(game.id))):
        for event in decode_commit(commit.body).events:
            for delta in event.postings:
                verified[delta.account] += delta.delta
    assert any(verified.values())
    assert {name: book.balance(f"player:{name}") for name in verified} == {
        name: DEPOSIT + won for name, won in verified.items()
    }


SHARD = keys.shard_of("t-1")
TABLE, DECK, VERDICTS = keys.table_log(SHARD, "t-1"), keys.deck_log(SHARD, "t-1"), keys.verdicts(SHARD)
GIFT = encode_event(le.TopUpFunded("t-1", 1, 1, "ada", 9_000))
DECIDED = ve.HandResolved(
    "t-1", 1, "EUR", te.ResolutionChoice.REFEREE, (), 0, (te.SeatStack(1, 1, 29_000),), ("op-1", "op-2"), "forged"
)
VERDICT = encode_commit([DECIDED], Meta(1))
PLANTED = {
    "answer in the dealer's feed": (keys.dealer_feed(SHARD), DECK, 1, GIFT),
    "answer of a table": (keys.ledger_feed("EUR", SHARD), TABLE, 1, GIFT),
    "answer of a deck": (keys.ledger_feed("EUR", SHARD), DECK, 1, GIFT),
    "answer of nobody": (keys.ledger_feed("EUR", SHARD), "{ledger:EUR}:transfert", 1, GIFT),
    "answer of no version": (keys.ledger_feed("EUR", SHARD), keys.ledger_log("EUR"), 0, GIFT),
    "verdict in a ledger's feed": (keys.ledger_feed("EUR", SHARD), VERDICTS, 1, VERDICT),
    "verdict in the dealer's feed": (keys.dealer_feed(SHARD), VERDICTS, 1, VERDICT),
    "request of a deck": (keys.table_feed(SHARD), DECK, 1, encode_event(te.CashOutRequested("EUR", 1, "ada", 9, 0))),
    "no entry at all": (keys.table_feed(SHARD), "", 0, b"?"),
    "no entry of the dealer": (keys.dealer_feed(SHARD), "", 0, b"?"),
    "no entry of a ledger": (keys.ledger_feed("EUR", SHARD), "", 0, b"?"),
}


@pytest.mark.parametrize(("feed", "stream", "version", "event"), PLANTED.values(), ids=PLANTED)
def test_what_no_log_of_a_feed_has_sent_moves_nothing_and_stops_nobody(tmp_path, feed, stream, version, event):
    @simulated
    async def run():
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3)
            await game.play(1)
            with capture_logs() as lines:
                system.store._put(feed, stream, Head(version, bytes(32)), 0, event)
                system.store.wake_readers()
                await game.play(3)
                await game.close()
            await only_verdicts_moved_money(system, game)
            told = {line["event"] for line in lines if line["log_level"] == "critical"}
            assert told & {"not_of_its_feed", "feed_differs_from_log"}
            assert "poison" not in {line["event"] for line in lines}

    run()

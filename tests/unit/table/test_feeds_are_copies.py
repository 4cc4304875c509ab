"""Whatever the copies in the feeds say, chips go where the logs say (ADR 0005)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as te
from stud_core.ledger import events as le
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import FeedEntry
from stud_wire.commits import decode_commit, decode_event, encode_event
from tests.support.playing_memory import DEPOSIT, Game
from tests.support.system_memory import MemorySystem, simulated

OTHER: dict[str, Any] = {"sitting_no": 77, "account": "bea", "amount": 7, "claim": 1, "top_up_no": 9, "after_hand": 50}
MONEY = (te.BuyInRequested, te.TopUpRequested, te.CashOutRequested, le.BuyInFunded, le.TopUpFunded, le.CashedOut)


class Forger:
    """Changes fields of every message about money on its way to table and wallet, or without any a bit of it. What the
    entry points to stays.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, system: MemorySystem, fields: tuple[str, ...]) -> None:
        readers = [system.kits[name].log for name in ("table", "wallet")]
        self.fields = fields
        self.rng = random.Random(7)
        self.forged: set[type] = set()
        real = MemoryEventLog.read_feeds

        async def read_feeds(log: MemoryEventLog, positions: Mapping[str, str], *rest: Any) -> list[FeedEntry]:
            entries = await real(log, positions, *rest)
            return [self.change(entry) for entry in entries] if log in readers else entries

        monkeypatch.setattr(MemoryEventLog, "read_feeds", read_feeds)

    def change(self, entry: FeedEntry) -> FeedEntry:
        name = keys.parse_stream(entry.stream)
        if name is None or name.kind not in {"table", "ledger"}:
            return entry
        event = decode_event(entry.event)
        changes = {field: OTHER[field] for field in self.fields if hasattr(event, field)}
        if not isinstance(event, MONEY) or (self.fields and not changes):
            return entry
        self.forged.add(type(event))
        if not self.fields:
            flipped = bytearray(entry.event)
            flipped[self.rng.randrange(len(flipped))] ^= 1 << self.rng.randrange(8)
            return replace(entry, event=bytes(flipped))
        return replace(entry, event=encode_event(msgspec.structs.replace(event, **changes)))


@pytest.mark.parametrize(
    "fields", [("sitting_no",), ("account",), ("amount", "claim"), ("top_up_no",), ("after_hand",), tuple(OTHER), ()]
)
def test_a_changed_copy_moves_no_chip(tmp_path, monkeypatch, fields):
    @simulated
    async def run():
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            with capture_logs() as lines:
                forger = Forger(monkeypatch, system, fields)
                await game.begin(3)
                game.rng = random.Random(1)
                await game.play(2)
                await game.send("ada", pb.AddChipsRequest(amount=500))
                await game.play(2)
                await game.close()
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
            assert forger.forged
            assert "feed_differs_from_log" in {line["event"] for line in lines}
            assert "poison" not in {line["event"] for line in lines}

    run()

"""A feed's entry is a copy of what its log says; the log counts."""

import os
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from stud.events.v1 import commit_pb2
from stud_core.ledger import events as ev
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import START, Append, FeedEntry, FeedItem
from stud_service import entry_check as module
from stud_service.entry_check import is_original, lately
from stud_wire.commits import Meta, encode_commit, encode_event

LEDGER, FEED = keys.ledger_log("EUR"), keys.ledger_feed("EUR", keys.shard_of("t-1"))
FUNDED = ev.BuyInFunded("t-1", 1, "ann", 500)
DECLINED = ev.BuyInDeclined("t-1", 2, "bob", "INSUFFICIENT_FUNDS")


async def write(log: MemoryEventLog, *events: Any, told: bool = False) -> None:
    head = await log.head(LEDGER)
    outbox = (FeedItem(FEED, encode_event(events[-1])),) if told else ()
    await log.append(Append(LEDGER, head.version, head.hash, os.urandom(16), encode_commit(events, Meta(1)), outbox))


async def entry_of(log: MemoryEventLog) -> FeedEntry:
    """Two commits, the second with two events, of which the second is told."""
    await write(log, ev.AccountOpened("ann", "r"))
    await write(log, DECLINED, FUNDED, told=True)
    (entry,) = await log.read_feeds({FEED: START}, 10, 1)
    return entry


async def test_a_copy_that_its_log_has_is_believed():
    log = MemoryEventLog()
    with capture_logs() as lines:
        assert await is_original(log, await entry_of(log))
    assert lines == []


@pytest.mark.parametrize(
    "fields",
    [
        {"event": encode_event(ev.BuyInFunded("t-1", 77, "ann", 500))},
        {"event": encode_event(ev.BuyInFunded("t-1", 1, "bob", 500))},
        {"event": encode_event(ev.BuyInFunded("t-2", 1, "ann", 500))},
        {"event": encode_event(FUNDED)[:-1]},
        {"event": b""},
        {"event": commit_pb2.Event(ignorable=True).SerializeToString()},
        {"event": b"\xff\xff"},
        {"version": 1},
        {"version": 3},
        {"version": 0},
        {"version": -5},
        {"version": 2**70},
        {"head_hash": bytes(32)},
        {"head_hash": b""},
        {"stream": keys.ledger_log("USD")},
        {"stream": "{ledger:EUR}:transfert"},
        {"stream": keys.table_log(keys.shard_of("t-1"), "t-1")},
        {"stream": ""},
        {"feed": keys.dealer_feed(keys.shard_of("t-1"))},
        {"feed": keys.ledger_feed("USD", keys.shard_of("t-1"))},
    ],
)
async def test_another_one_is_told_as_a_fault_and_not_believed(fields: dict[str, Any]):
    log = MemoryEventLog()
    entry = await entry_of(log)
    with capture_logs() as lines:
        assert not await is_original(log, replace(entry, **fields))
    assert [(line["event"], line["log_level"]) for line in lines] == [("feed_differs_from_log", "critical")]


async def test_a_commit_that_cannot_be_read_has_sent_nothing():
    log = MemoryEventLog()
    head = await log.append(Append(LEDGER, 0, bytes(32), bytes(16), b"\xff\xff"))
    assert not await is_original(log, FeedEntry(FEED, "1-0", LEDGER, 1, 0, head.hash, b""))


async def test_what_a_log_said_lately_comes_in_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LATELY", 5)
    log = MemoryEventLog()
    assert await lately(log, LEDGER, (ev.BuyInFunded,)) == []
    for number in range(1, 9):
        await write(log, ev.BuyInFunded("t-1", number, "ann", 500), DECLINED)
    told = await lately(log, LEDGER, (ev.BuyInFunded,))
    assert [(version, event.sitting_no) for version, event in told] == [(n, n) for n in range(4, 9)]
    assert len(await lately(log, LEDGER, (ev.BuyInFunded, ev.BuyInDeclined))) == 10

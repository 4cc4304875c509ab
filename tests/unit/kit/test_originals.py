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
from stud_service.feeds import Poison
from stud_service.originals import originals
from stud_wire.commits import Meta, encode_commit, encode_event

FUNDED = ev.BuyInFunded("t-1", 1, "ann", 500)
DECLINED = ev.BuyInDeclined("t-1", 2, "bob", "INSUFFICIENT_FUNDS")
IGNORABLE = commit_pb2.Event(ignorable=True).SerializeToString()


async def told(log: MemoryEventLog, *events: Any) -> FeedEntry:
    """Write two commits, the second with these events and the last of them in the outbox; return its entry."""
    stream, feed = keys.ledger_log("EUR"), keys.ledger_feed("EUR", keys.shard_of("t-1"))
    for chosen in ([ev.AccountOpened("ann", "r")], events):
        head = await log.head(stream)
        body = encode_commit(chosen, Meta(1))
        outbox = (FeedItem(feed, encode_event(events[-1])),) if chosen is events else ()
        await log.append(Append(stream, head.version, head.hash, os.urandom(16), body, outbox))
    (entry,) = await log.read_feeds({feed: START}, 10, 1)
    return entry


async def test_a_copy_that_its_log_has_is_that_event_alone():
    log = MemoryEventLog()
    entry = await told(log, DECLINED, FUNDED)
    with capture_logs() as lines:
        assert await originals(log, entry) == [FUNDED]
    assert lines == []


@pytest.mark.parametrize(
    "event",
    [
        encode_event(ev.BuyInFunded("t-1", 77, "ann", 500)),
        encode_event(ev.BuyInFunded("t-1", 1, "bob", 500)),
        encode_event(ev.BuyInFunded("t-2", 1, "ann", 500)),
        encode_event(FUNDED)[:-1],
        b"",
        IGNORABLE,
        b"\xff\xff",
    ],
)
async def test_where_the_copy_differs_the_commit_counts(event: bytes):
    log = MemoryEventLog()
    entry = await told(log, DECLINED, FUNDED)
    with capture_logs() as lines:
        assert await originals(log, replace(entry, event=event)) == [DECLINED, FUNDED]
    assert [(line["event"], line["version"], line["log_level"]) for line in lines] == [
        ("feed_differs_from_log", 2, "critical")
    ]


@pytest.mark.parametrize(
    "fields", [{"version": 1}, {"version": 3}, {"head_hash": bytes(32)}, {"stream": keys.ledger_log("USD")}]
)
async def test_an_entry_of_no_commit_is_poison(fields: dict[str, Any]):
    log = MemoryEventLog()
    entry = await told(log, FUNDED)
    with pytest.raises(Poison, match="NOT_IN_ITS_LOG"):
        await originals(log, replace(entry, **fields))

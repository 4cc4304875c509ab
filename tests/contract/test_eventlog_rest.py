"""The mark of initialisation, listing, health, and that both adapters answer alike whatever is asked of them."""

import random

import pytest

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import AnotherLog, Append, EventLogError, FeedItem, Head, LobbyRow, NotInitialised
from tests.support.eventlogs import World, an_append, write

STREAM = keys.table_log(7, "t-1")


async def test_a_log_is_initialised_once_and_explicitly(world: World):
    log, other = await world.open(), await world.open()
    with pytest.raises(NotInitialised, match="initialised once, explicitly"):
        await log.require_initialised()
    assert await log.initialise()
    assert not await other.initialise()
    await log.require_initialised()
    await other.require_initialised()


async def test_when_everything_is_lost_nothing_is_started_over(world: World):
    log = await world.open()
    await log.initialise()
    await log.require_initialised()
    await write(log, STREAM, b"1", b"2")
    await world.flush()
    with pytest.raises(NotInitialised):  # not even by what is still held here
        await log.append(an_append(STREAM, Head(2, b"h" * 32)))
    with pytest.raises(NotInitialised):
        await log.append(an_append(keys.table_log(7, "t-2")))
    with pytest.raises(NotInitialised):
        await log.append_many([an_append(keys.table_log(7, "t-2"))])
    with pytest.raises(NotInitialised):
        await log.ping()
    assert await log.scan_streams("table") == []
    fresh = await world.open()
    with pytest.raises(NotInitialised):
        await fresh.require_initialised()
    await log.initialise()
    with pytest.raises(AnotherLog, match="initialised again"):  # a mark is there, but not that of what is lost
        await log.ping()
    with pytest.raises(NotInitialised):
        await log.append(an_append(keys.table_log(7, "t-2")))
    await fresh.require_initialised()
    assert (await fresh.append(an_append(keys.table_log(7, "t-2")))).version == 1


async def test_ping_notices_that_the_mark_is_gone(world: World):
    log = await world.open()
    await log.initialise()
    await log.ping()
    await log.require_initialised()
    await world.flush()
    with pytest.raises(NotInitialised):
        await log.ping()


async def test_streams_are_listed_by_kind(log: EventLog):
    for table in ("t-2", "t-1", "t-10"):
        await write(log, keys.table_log(keys.shard_of(table), table), b"x", feed=keys.table_feed(keys.shard_of(table)))
    await write(log, keys.deck_log(5, "t-1"), b"x", feed=keys.dealer_feed(5))
    for shard in (63, 0, 7):
        await write(log, keys.verdicts(shard), b"x")
    await write(log, keys.ledger_log("USD"), b"x", feed=keys.ledger_feed("USD", 7))
    await write(log, keys.ledger_log("EUR"), b"x")
    assert await log.scan_streams("table") == ["t-1", "t-10", "t-2"]
    assert await log.scan_streams("deck") == ["t-1"]
    assert await log.scan_streams("ledger") == ["EUR", "USD"]
    assert await log.scan_streams("verdicts") == ["s00", "s07", "s63"]


async def test_a_log_that_can_be_written_has_no_trouble(log: EventLog):
    assert await log.trouble("table") is None


async def test_a_log_that_answers_is_available(log: EventLog):
    assert log.available
    await log.wait_available()
    await log.ping()


async def test_callbacks_can_be_set_later(log: EventLog):
    assert log.on_log_behind is None
    log.on_log_behind = print
    assert log.on_log_behind is print


class _Script:
    """Random calls, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.appends: list[Append] = []

    def append(self, heads: dict[str, Head]) -> Append:
        r = self.random
        if self.appends and r.random() < 0.2:
            return r.choice(self.appends)
        shard = r.randrange(2)
        stream = r.choice([keys.table_log(shard, "a"), keys.table_log(shard, "b"), keys.verdicts(shard)])
        head = heads.get(stream, Head())
        if r.random() < 0.2:
            head = Head(max(0, head.version + r.randrange(-2, 3)), head.hash if r.random() < 0.5 else b"z" * 32)
        feeds = [keys.table_feed(shard), keys.dealer_feed(shard)]
        outbox = tuple(FeedItem(r.choice(feeds), r.randbytes(3)) for _ in range(r.randrange(3)))
        row = LobbyRow(keys.lobby(shard), "abc"[r.randrange(3)], r.randbytes(2)) if r.random() < 0.5 else None
        append = Append(stream, head.version, head.hash, r.randbytes(16), r.randbytes(5), outbox, row)
        self.appends.append(append)
        return append


async def _play(log: EventLog, seed: int) -> list[object]:
    """Plays random calls; returns what they answered, without ids, which are each store's own."""
    script, answers, heads = _Script(seed), list[object](), dict[str, Head]()
    feeds = [keys.table_feed(0), keys.dealer_feed(0), keys.table_feed(1), keys.verdicts(0)]
    cursors = dict.fromkeys(feeds, "0-0")
    for _ in range(150):
        append = script.append(heads)
        try:
            head = await log.append(append)
            answers.append(head)
            if head.version > heads.get(append.stream, Head()).version:
                heads[append.stream] = head
        except EventLogError as refusal:
            answers.append(str(refusal))
        if script.random.random() < 0.1:
            feed = script.random.choice(feeds)
            entries = await log.read_feeds({feed: cursors[feed]}, limit=4, block_ms=0)
            answers.append([(e.stream, e.version, e.index, e.head_hash, e.event) for e in entries])
            if entries:
                cursors[feed] = entries[-1].entry_id
            await log.store_cursors("dealer", {feed: cursors[feed]})
            if feed != keys.verdicts(0):
                answers.append(await log.trim_feed(feed, ["dealer"]))
    for stream in sorted(heads):
        answers.append([commit async for commit in log.read_all(stream)])
    answers.append([await log.lobby(0), await log.lobby(1), await log.scan_streams("table")])
    return answers


@pytest.mark.process
@pytest.mark.parametrize("seed", range(6))
async def test_memory_and_server_answer_alike(valkey_server: EmbeddedServer, seed: int):
    memory, server = MemoryEventLog(), await RedisEventLog.connect(valkey_server.url)
    try:
        assert await _play(memory, seed) == await _play(server, seed)
    finally:
        await memory.close()
        await server.close()

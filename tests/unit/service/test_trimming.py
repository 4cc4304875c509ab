"""Feeds do not grow: who writes one drops what all of its readers have passed."""

import asyncio
from pathlib import Path

from stud_eventlog import keys
from stud_service.feeds import TRIM_EVERY_S
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated


@simulated
async def test_every_feed_of_the_system_is_trimmed_once_it_was_read(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.play(2, STAY)
        written = set(system.store.data.last_ids)
        kinds = {name.kind for feed in written if (name := keys.parse_stream(feed)) is not None}
        assert {"table-events", "dealer-events", "ledger-feed"} <= kinds
        await game.close()
        await asyncio.sleep(2 * TRIM_EVERY_S)
        left = {feed: len(entries) for feed, entries in system.store.data.feeds.items()}
        assert set(left.values()) == {1}  # the last entry stays, so that a cursor can be told from one of a lost log


@simulated
async def test_nothing_is_trimmed_that_a_reader_has_not_passed(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await system.crash("rules")
        while not game.table.ended_hand:
            await game.step(STAY)
        feed = keys.dealer_feed(keys.shard_of(game.id))
        before = list(system.store.data.feeds[feed])
        await asyncio.sleep(2 * TRIM_EVERY_S)
        assert len(before) > 1
        assert system.store.data.feeds[feed][: len(before)] == before

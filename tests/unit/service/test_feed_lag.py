"""How old what a reader has not passed is, by shard."""

from stud_eventlog import keys
from stud_eventlog.types import FeedEntry
from stud_service.feed_lag import FeedLag

FEEDS = [keys.table_feed(3), keys.table_feed(4), keys.verdicts(3)]
NOW_MS = 1_700_000_000_000


class Clock:
    now = NOW_MS

    def __call__(self) -> int:
        return self.now


def entry(feed: str, entry_id: str) -> FeedEntry:
    return FeedEntry(feed, entry_id, "stream", 1, 0, bytes(32), b"")


def test_nothing_waits_where_nothing_was_read():
    assert FeedLag(Clock(), FEEDS).by_shard() == {"s03": 0.0, "s04": 0.0}


def test_a_batch_is_as_old_as_its_oldest_entry_until_it_is_passed():
    clock = Clock()
    lag = FeedLag(clock, FEEDS)
    lag.taken(
        [entry(FEEDS[0], f"{NOW_MS - 2000}-0"), entry(FEEDS[0], f"{NOW_MS - 500}-3"), entry(FEEDS[1], f"{NOW_MS}-0")]
    )
    clock.now += 250
    assert lag.by_shard() == {"s03": 2.25, "s04": 0.25}
    lag.passed([])
    assert lag.by_shard() == {"s03": 0.0, "s04": 0.0}


def test_a_feed_that_stands_still_grows_older_whatever_others_do():
    clock = Clock()
    lag = FeedLag(clock, FEEDS)
    stopped, other = entry(FEEDS[0], f"{NOW_MS - 1000}-0"), entry(FEEDS[1], f"{NOW_MS - 1000}-1")
    lag.taken([stopped, other])
    lag.passed([stopped])
    lag.taken([entry(FEEDS[1], f"{NOW_MS}-0")])
    lag.passed([])
    clock.now += 60_000
    assert lag.by_shard() == {"s03": 61.0, "s04": 0.0}
    lag.taken([stopped])
    lag.passed([])
    assert lag.by_shard()["s03"] == 0.0


def test_a_verdict_is_as_old_as_we_have_had_it_since_its_id_is_a_version():
    clock = Clock()
    lag = FeedLag(clock, FEEDS)
    verdict = entry(FEEDS[2], "7-0")
    lag.taken([verdict])
    clock.now += 3_000
    assert lag.by_shard()["s03"] == 3.0
    lag.passed([verdict])
    clock.now += 5_000
    lag.taken([verdict])
    lag.passed([verdict])
    clock.now += 1_000
    assert lag.by_shard()["s03"] == 9.0


def test_a_servers_clock_that_is_ahead_of_ours_is_no_lag():
    lag = FeedLag(Clock(), FEEDS)
    lag.taken([entry(FEEDS[0], f"{NOW_MS + 9000}-0")])
    assert lag.by_shard()["s03"] == 0.0

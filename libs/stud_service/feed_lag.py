"""How far a reader is behind, shard by shard: the age of the oldest entry that it has and has not passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from stud_eventlog import keys
from stud_eventlog.types import FeedEntry


class FeedLag:
    """Nothing is worked out before somebody asks; a reader tells it of whole batches. `clock`: milliseconds."""

    def __init__(self, clock: Callable[[], int], feeds: Iterable[str]) -> None:
        self._clock = clock
        self._shards = sorted({_shard_of(feed) for feed in feeds})
        self._batch: Sequence[FeedEntry] = ()
        self._taken_ms = 0
        self._stopped: dict[str, tuple[str, int]] = {}
        """By feed: the entry that it cannot pass, and when it was made."""

    def taken(self, batch: Sequence[FeedEntry]) -> None:
        """A batch is being handled."""
        self._batch, self._taken_ms = batch, self._clock()

    def passed(self, stopped: Iterable[FeedEntry]) -> None:
        """The batch is done with, except for entries that their feeds cannot pass."""
        still = {entry.feed: (entry.entry_id, self._made_ms(entry)) for entry in stopped}
        if self._stopped:  # seldom
            moved = {entry.feed for entry in self._batch}
            self._stopped = {feed: place for feed, place in self._stopped.items() if feed not in moved}
        self._stopped |= still
        self._batch = ()

    def by_shard(self) -> dict[str, float]:
        """Return seconds for the name of each shard, 0 where nothing waits."""
        oldest: dict[str, int] = {}
        waiting = [(feed, made_ms) for feed, (_, made_ms) in self._stopped.items()]
        waiting += [(entry.feed, self._made_ms(entry)) for entry in self._batch]
        for feed, made_ms in waiting:
            shard = _shard_of(feed)
            oldest[shard] = min(made_ms, oldest.get(shard, made_ms))
        now = self._clock()
        return {shard: max(0, now - oldest[shard]) / 1000 if shard in oldest else 0.0 for shard in self._shards}

    def _made_ms(self, entry: FeedEntry) -> int:
        """A feed's ids are the server's milliseconds; those of a log that is read as a feed are versions, so its
        entries are as old as we have had them.
        """
        name = keys.parse_stream(entry.feed)
        if name is not None and name.kind == "verdicts":
            known, since_ms = self._stopped.get(entry.feed, ("", 0))
            return since_ms if known == entry.entry_id else self._taken_ms
        return int(entry.entry_id.partition("-")[0])


def _shard_of(feed: str) -> str:
    name = keys.parse_stream(feed)
    return "" if name is None or name.shard is None else keys.shard_name(name.shard)

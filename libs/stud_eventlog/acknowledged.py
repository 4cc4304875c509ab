"""What this process was told is durable: the last acknowledged head of every stream it wrote, and the last few
commits' bytes.

A log that comes back older than that has lost data. With the bytes at hand the very same commits can be written again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence

from stud_eventlog.types import Append, Head, LogBehind

HELD_PER_STREAM = 4
HELD_BYTES = 16 * 1024 * 1024


class Acknowledged:
    """Heads are kept for every stream, bytes only for the most recent commits: at most `held_bytes` in all."""

    def __init__(self, held_per_stream: int = HELD_PER_STREAM, held_bytes: int = HELD_BYTES) -> None:
        self._heads: dict[str, Head] = {}
        self._held: OrderedDict[str, deque[Append]] = OrderedDict()
        self._held_per_stream = held_per_stream
        self._bytes_max = held_bytes
        self.bytes_held = 0
        self._behind: dict[str, LogBehind] = {}

    def streams(self) -> list[str]:
        return list(self._heads)

    def head(self, stream: str) -> Head | None:
        return self._heads.get(stream)

    def record(self, append: Append, head: Head) -> None:
        """Notes that `append` became `head`. An old append that was acknowledged once more changes nothing."""
        stream = append.stream
        last = self._heads.get(stream)
        if last is not None and head.version <= last.version:
            return
        self._heads[stream] = head
        held = self._held.get(stream)
        if held is None:
            held = self._held[stream] = deque()
        else:
            self._held.move_to_end(stream)
        if held and held[-1].expected_version + 1 != append.expected_version:
            self._drop(stream, len(held))  # somebody else's commits are in between: what is held would not connect
        held.append(append)
        self.bytes_held += append.size
        self._drop(stream, len(held) - self._held_per_stream)
        while self.bytes_held > self._bytes_max:
            oldest = next(iter(self._held))
            self._drop(oldest, len(self._held[oldest]))
            del self._held[oldest]

    def _drop(self, stream: str, count: int) -> None:
        held = self._held[stream]
        for _ in range(count):
            self.bytes_held -= held.popleft().size

    def lost(self, stream: str, version: int, found_hash: bytes | None) -> bool:
        """Returns whether a log that ends at this head has lost what was acknowledged. None = the head's hash is not
        known.
        """
        acked = self._heads.get(stream)
        if acked is None or version > acked.version:
            return False
        if version < acked.version:
            return True
        return found_hash is not None and found_hash != acked.hash

    def tail(self, stream: str, found: Head) -> Sequence[Append] | None:
        """Returns the held commits that lead from `found` to the acknowledged head, or None when they do not."""
        tail = [append for append in self._held.get(stream, ()) if append.expected_version >= found.version]
        if not tail or tail[0].expected_version != found.version or tail[0].prev_hash != found.hash:
            return None
        return tail if tail[-1].head == self._heads[stream] else None

    def declare_behind(self, error: LogBehind) -> None:
        self._behind[error.stream] = error

    @property
    def any_behind(self) -> bool:
        return bool(self._behind)

    def behind(self, stream: str) -> LogBehind | None:
        return self._behind.get(stream)

    def forget(self, stream: str) -> None:
        self._behind.pop(stream, None)
        self._heads.pop(stream, None)
        if stream in self._held:
            self._drop(stream, len(self._held[stream]))
            del self._held[stream]

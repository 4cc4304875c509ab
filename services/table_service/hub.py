"""Who watches a table, and the last updates for those who come back.

Publishing never waits: each viewer has a bounded queue, and one that is full loses its viewer, who is told to resume
from the version they have. Players are served before spectators.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable

import structlog

from stud_service.refusals import Refused
from table_service.updates import Outgoing, Step

log = structlog.get_logger()

QUEUE_LIMIT = 256
"""Updates a viewer may be behind: about a hand and a half."""

KEEP = 256
"""Updates kept for resuming from memory."""


class Viewer:
    """One stream. ``account`` decides which private part is appended; ``dropped`` means that nothing more is queued,
    and ``why`` how it ends then: with a refusal, or with OK (None).
    """

    __slots__ = ("account", "dropped", "drops", "queue", "why")

    def __init__(self, account: str, limit: int = QUEUE_LIMIT, *, drops: Counter[str] | None = None) -> None:
        self.account = account
        self.drops: Counter[str] = Counter() if drops is None else drops
        self.queue: asyncio.Queue[Outgoing | bytes | None] = asyncio.Queue(limit + 1)
        self.dropped = False
        self.why: Refused | None = None

    def offer(self, data: Outgoing | bytes) -> None:
        """Queue an update, or the bytes of another message; a full queue drops the viewer (None wakes the stream)."""
        if self.dropped:
            return
        if self.queue.qsize() >= self.queue.maxsize - 1:
            self.drops[""] += 1
            self.finish(Refused("RESUME_FROM_VERSION", "you were too slow: subscribe again with after_version"))
            return
        self.queue.put_nowait(data)

    def finish(self, why: Refused | None = None) -> None:
        """End the stream after what is queued: with OK (the table is closed), or with a refusal (the service stops, its
        client is too slow or sends nonsense).
        """
        if not self.dropped:
            self.dropped, self.why = True, why
            self.queue.put_nowait(None)


PrivatePart = Callable[[str], bytes]
"""Account -> its part of an update, empty for somebody without a seat."""


class Hub:
    """The viewers of one table."""

    def __init__(self, keep: int = KEEP) -> None:
        self._viewers: set[Viewer] = set()
        self._kept: deque[Step] = deque(maxlen=keep)

    def __len__(self) -> int:
        return len(self._viewers)

    def add(self, viewer: Viewer) -> None:
        """Start serving a viewer."""
        self._viewers.add(viewer)

    def remove(self, viewer: Viewer) -> None:
        """Stop serving a viewer."""
        self._viewers.discard(viewer)

    def publish(self, step: Step, private: PrivatePart) -> None:
        """Send an update to everybody and keep it for those who resume.

        It is durable by now, so nothing may fail here: a viewer whose part cannot be made loses the stream.
        """
        self._kept.append(step)
        self._send(step, private, self._viewers)

    def refresh(self, present: Step, private: PrivatePart, account: str | None = None) -> None:
        """Send the present view, to one account's viewers or to all: something changed that is in no commit. Nothing
        may fail here either.
        """
        self._send(present, private, [viewer for viewer in self._viewers if account in {None, viewer.account}])

    def forget(self) -> None:
        """What was kept does not lead to what is there now."""
        self._kept.clear()

    def _send(self, step: Step, private: PrivatePart, viewers: Iterable[Viewer]) -> None:
        spectators = []
        parts: dict[str, bytes | None] = {}
        for viewer in viewers:
            if viewer.account not in parts:
                parts[viewer.account] = _made(private, viewer.account, step.version)
            part = parts[viewer.account]
            if part is None:
                viewer.finish(_cannot_be_shown())
            elif part:
                viewer.offer(Outgoing(step.shared, part))
            else:
                spectators.append(viewer)
        for viewer in spectators:
            viewer.offer(Outgoing(step.shared))

    def since(self, version: int, head_hash: bytes) -> list[Step] | None:
        """Return what was published after ``version``, or None when memory does not reach back or the hash differs."""
        kept = list(self._kept)
        if not kept or version > kept[-1].version or version < kept[0].version:
            return None
        index = version - kept[0].version
        if head_hash and kept[index].hash != head_hash:
            return None
        return kept[index + 1 :]

    def finish(self, why: Refused | None = None) -> None:
        """End every stream."""
        for viewer in self._viewers:
            viewer.finish(why)


def _cannot_be_shown() -> Refused:
    """Return the refusal for a viewer whose own part cannot be made."""
    return Refused("INTERNAL", "your part of the table cannot be shown")


def _made(private: PrivatePart, account: str, version: int) -> bytes | None:
    try:
        return private(account)
    except Exception:
        log.exception("private_part_failed", account=account, version=version)
        return None

"""Who watches a table, and the last updates for those who come back.

Publishing never waits: each viewer has a bounded queue, and one that is full loses its viewer, who is told to resume
from the version they have. Players are served before spectators.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable

import msgspec
import structlog

from stud.table.v1 import table_service_pb2 as pb
from stud_service.refusals import Refused
from table_service.updates import NO_SEAT, Outgoing, Step, result_part

log = structlog.get_logger()

QUEUE_LIMIT = 256
"""Updates a viewer may be behind: about a hand and a half."""

KEEP = QUEUE_LIMIT // 2
"""Updates kept for resuming from memory: as many as one who comes back is sent. They are most of a table's memory."""

BATCH_LIMIT = 64
"""Messages that are sent as one at most: some 60 kB."""

HOLD_S = 0.02
"""How long a step after which nobody is asked for anything waits for the next, where a client takes both at once."""


class Viewer:
    """One stream. ``account`` decides which private part is appended; ``accepts`` is what its client understands beyond
    the first version of the contract; ``awaits`` is the digest of the command that is being done for it: with
    other content, on another stream, its request id is refused. ``dropped`` means that nothing more is queued, and
    ``why`` how it ends: with a refusal, or with OK (None).
    """

    __slots__ = ("_held", "_told", "accepts", "account", "awaits", "dropped", "drops", "queue", "table", "why")

    def __init__(
        self,
        account: str,
        limit: int = QUEUE_LIMIT,
        *,
        accepts: Iterable[int] = (),
        drops: Counter[str] | None = None,
        table: str = "",
    ) -> None:
        """``table`` is what results name, where that may be one of several."""
        self.account = account
        self.accepts = frozenset(accepts)
        self.table = table
        self.awaits = b""
        self.drops: Counter[str] = Counter() if drops is None else drops
        self.queue: asyncio.Queue[Outgoing | bytes | None] = asyncio.Queue(limit + 1)
        self.dropped = False
        self.why: Refused | None = None
        self._held: list[Outgoing] = []
        self._told: bytes | None = None

    def show(self, step: Step, part: bytes, result: bytes = b"") -> None:
        """Queue a step of the table with this viewer's own part, as far as their client wants it."""
        if self.dropped:
            return
        mine = part
        if pb.CAPABILITY_MINE_DELTA in self.accepts:
            if not step.full and part == self._told:
                mine = b""
            elif not part and self._told:
                mine = NO_SEAT
            self._told = part
        data = Outgoing(step.shared, mine, result=result)
        if step.quiet and not result and pb.CAPABILITY_BATCH in self.accepts and not self._is_full():
            self._held.append(data)
        else:
            self.offer(data)

    def offer(self, data: Outgoing | bytes) -> None:
        """Queue an update, or the bytes of another message; a full queue drops the viewer (None wakes the stream)."""
        if self.dropped:
            return
        if self._is_full():
            self.drops[""] += 1
            self.finish(Refused("RESUME_FROM_VERSION", "you were too slow: subscribe again with after_version"))
            return
        self.release()
        self.queue.put_nowait(data)

    def release(self) -> None:
        """Queue what was held back to share a message."""
        if not self.dropped:
            for data in self._held:
                self.queue.put_nowait(data)
        self._held.clear()

    @property
    def holds(self) -> bool:
        """Whether something is held back."""
        return bool(self._held)

    def _is_full(self) -> bool:
        return self.queue.qsize() + len(self._held) >= self.queue.maxsize - 1

    def finish(self, why: Refused | None = None) -> None:
        """End the stream after what is queued: with OK (the table is closed), or with a refusal (the service stops, its
        client is too slow or sends nonsense).
        """
        if not self.dropped:
            self.release()
            self.dropped, self.why = True, why
            self.queue.put_nowait(None)

    async def waiting(self) -> list[Outgoing | bytes]:
        """Return what is to be sent in the next message, once there is something; nothing at the end. It is one thing,
        or as much as there is where the client takes several at once.
        """
        first = await self.queue.get()
        found = [] if first is None else [first]
        if found and pb.CAPABILITY_BATCH in self.accepts:
            while len(found) < BATCH_LIMIT and not self.queue.empty():
                data = self.queue.get_nowait()
                if data is None:
                    self.queue.put_nowait(None)  # it is the last: nothing is queued behind the end
                    break
                found.append(data)
        return found


PrivatePart = Callable[[str], bytes]
"""Account -> its part of an update, empty for somebody without a seat."""


class Done(msgspec.Struct, frozen=True):
    """A command that was written: whose, its request id, and the digest of what was asked."""

    account: str
    request_id: str
    digest: bytes


class Hub:
    """The viewers of one table."""

    def __init__(self, keep: int = KEEP) -> None:
        self._viewers: set[Viewer] = set()
        self._kept: deque[Step] = deque(maxlen=keep)
        self._release_is_due = False

    def __len__(self) -> int:
        return len(self._viewers)

    def add(self, viewer: Viewer) -> None:
        """Start serving a viewer."""
        self._viewers.add(viewer)

    def remove(self, viewer: Viewer) -> None:
        """Stop serving a viewer."""
        self._viewers.discard(viewer)

    def publish(self, step: Step, private: PrivatePart, done: Done | None = None) -> None:
        """Send an update to everybody and keep it for those who resume. ``done`` is whose command led to it: the stream
        that it came from has the result in the same message, where its client understands that.

        It is durable by now, so nothing may fail here: a viewer whose part cannot be made loses the stream.
        """
        self._kept.append(step)
        self._send(step, private, self._viewers, done)

    def refresh(self, present: Step, private: PrivatePart, account: str | None = None) -> None:
        """Send the present view, to one account's viewers or to all: something changed that is in no commit. Nothing
        may fail here either.
        """
        self._send(present, private, [viewer for viewer in self._viewers if account in {None, viewer.account}])

    def forget(self) -> None:
        """What was kept does not lead to what is there now."""
        self._kept.clear()

    def _send(self, step: Step, private: PrivatePart, viewers: Iterable[Viewer], done: Done | None = None) -> None:
        spectators = []
        parts: dict[str, bytes | None] = {}
        for viewer in viewers:
            if viewer.account not in parts:
                parts[viewer.account] = _made(private, viewer.account, step.version)
            part = parts[viewer.account]
            if part is None:
                viewer.finish(_cannot_be_shown())
            elif part:
                viewer.show(step, part, _result(viewer, step, done))
            else:
                spectators.append(viewer)
        for viewer in spectators:
            viewer.show(step, b"", _result(viewer, step, done))
        if step.quiet and not self._release_is_due and any(viewer.holds for viewer in self._viewers):
            self._release_is_due = True
            asyncio.get_running_loop().call_later(HOLD_S, self._release)

    def _release(self) -> None:
        self._release_is_due = False
        for viewer in self._viewers:
            viewer.release()

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


def _result(viewer: Viewer, step: Step, done: Done | None) -> bytes:
    """Return the result of the command that this stream waits for, if this step is what it did."""
    if done is None or not viewer.awaits or (viewer.account, viewer.awaits) != (done.account, done.digest):
        return b""
    viewer.awaits = b""
    return result_part(done.request_id, step.version, viewer.table)


def _cannot_be_shown() -> Refused:
    """Return the refusal for a viewer whose own part cannot be made."""
    return Refused("INTERNAL", "your part of the table cannot be shown")


def _made(private: PrivatePart, account: str, version: int) -> bytes | None:
    try:
        return private(account)
    except Exception:
        log.exception("private_part_failed", account=account, version=version)
        return None

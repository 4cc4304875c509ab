"""Lines on their way to a file descriptor, by a thread of their own: whoever has something to say never waits for the
reader, and never fails because it cannot be written.

Lines that wait are bounded. What does not fit, and what the descriptor refuses (a full disk, a closed pipe), is dropped
and counted; as soon as writing works again a line says how many there were since when, and why.
"""

from __future__ import annotations

import json
import os
import queue
import select
import sys
import threading
from collections import Counter
from datetime import UTC, datetime

MAX_WAITING_BYTES = 4 * 1024 * 1024
MAX_WHYS = 20
"""How many different reasons are counted apart."""

TELL_EVERY_S = 1.0
"""While something has been dropped: how often we try to say so, even where nothing else is said."""

FULL = "more was waiting than is kept: nobody reads as fast as it is written"
OTHERS = "other reasons"

NEWLINE = ord("\n")


def standard_error() -> int:
    """Returns a descriptor of our own for standard error; where that is closed, one that takes everything.

    The number 2 is then not used: a socket may have got it.
    """
    return os.open(os.devnull, os.O_WRONLY) if sys.__stderr__ is None else os.dup(sys.__stderr__.fileno())


class Lines:
    """Takes over the descriptor; ``close`` closes it."""

    def __init__(self, descriptor: int, service: str) -> None:
        self._descriptor = descriptor
        self._service = service
        # Its put may interrupt itself, as when a finalizer logs; that of other queues would wait for itself for ever.
        self._queue: queue.SimpleQueue[bytes | threading.Event] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._waiting = 0
        self._lost: Counter[str] = Counter()
        self._since = ""
        self._within_a_line = False
        self._closed = False
        self._writer = threading.Thread(target=self._work, name="log lines", daemon=True)
        self._writer.start()

    def put(self, line: str) -> None:
        """Has a line written, without its end. Never waits, never fails."""
        data = line.encode(errors="backslashreplace") + b"\n"
        with self._lock:
            fits = self._waiting + len(data) <= MAX_WAITING_BYTES
            if fits:
                self._waiting += len(data)
        if fits:
            self._queue.put(data)
        else:
            self.lose(FULL)

    def lose(self, why: str) -> None:
        """Counts a line that could not be made; ``why`` is reported and must hold no secret."""
        with self._lock:
            is_first = not self._lost
            self._count(Counter({why: 1}), self._since if self._lost else _now())
        if is_first:
            self._queue.put(b"")  # wakes the writer, who says so

    def flush(self, within_s: float) -> bool:
        """Returns whether everything so far was written or counted as lost in time."""
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(within_s)

    def close(self, within_s: float = 1.0) -> None:
        """Writes what waits, if that can be done in time. What comes later is dropped."""
        self._closed = True
        self._queue.put(b"")
        self._writer.join(within_s)

    # The writer

    def _work(self) -> None:
        while not (self._closed and self._queue.empty()):
            try:
                item = self._queue.get(timeout=TELL_EVERY_S if self._lost else None)
            except queue.Empty:
                item = b""
            self._handle(b"" if isinstance(item, threading.Event) else item)
            if isinstance(item, threading.Event):
                item.set()
        os.close(self._descriptor)

    def _handle(self, data: bytes) -> None:
        """Whatever happens, the next line is tried too."""
        with self._lock:
            self._waiting -= len(data)
        try:
            self._tell()
            self._write(data)
        except OSError as why:
            if data:
                self.lose(why.strerror or type(why).__name__)

    def _tell(self) -> None:
        with self._lock:
            lost, since, self._lost = self._lost, self._since, Counter()
        if not lost:
            return
        line = {"event": "lines_dropped", "level": "error", "timestamp": _now(), "service": self._service}
        told = json.dumps({**line, "count": lost.total(), "since": since, "why": dict(lost)})
        try:
            self._write(told.encode() + b"\n")
        except OSError:
            with self._lock:
                self._count(lost, since)
            raise

    def _count(self, lost: Counter[str], since: str) -> None:
        self._since = since
        for why, times in lost.items():
            self._lost[why if why in self._lost or len(self._lost) < MAX_WHYS else OTHERS] += times

    def _write(self, data: bytes) -> None:
        """Writes all of it; waits as long as nobody reads. What an earlier attempt began to write is ended first."""
        left = memoryview(b"\n" + data if data and self._within_a_line else data)
        while left:
            try:
                written = os.write(self._descriptor, left)
            except BlockingIOError:  # whoever shares the pipe may have told it so
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll()
                continue
            self._within_a_line = left[written - 1] != NEWLINE
            left = left[written:]


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")

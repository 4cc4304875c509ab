"""Those who watch the lobby: all that fits, then what changes, gathered so that nobody is told more often than the
settings say.

A line is made and serialised once for all who want it. Nobody has a queue: what changes while somebody reads waits as
one line for each table, as it is by then, so a client that reads slowly costs no more than the lobby is long, and is
never told of the past.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol

from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import HandEnded, HandVoided, SatIn, SatOut
from stud_service.limits import Limit, Places
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from table_service.commits import LOBBY
from table_service.lobby_filter import Wanted
from table_service.updates import delimited

LINES_A_MESSAGE = 100
"""Some 15 kB."""

SEEN_IN_LOBBY = frozenset({*LOBBY, SatOut, SatIn, HandEnded, HandVoided})
"""Events that change what is told of a table: what its row in the log says, who plays, and the figures."""

Write = Callable[[bytes], Awaitable[None]]


class Lines(Protocol):
    """Where the lobby's lines are."""

    def live_names(self, currency: str) -> list[str]:
        """Return the ids of all tables of a currency, or of EVERY, that are not closed, in order."""

    def line(self, table_id: str) -> pb.TableSummary | None:
        """Return a table's line as it is now."""


class _Watcher:
    """One stream: what it was told of, and what waits to be told (None: the table fits no more)."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.known: set[str] = set()
        self.waiting: dict[str, bytes | None] = {}
        self.news = asyncio.Event()
        self.why: Refused | None = None

    def take(self, table_id: str, line: pb.TableSummary | None, data: bytes) -> None:
        """Note a line that has changed; ``data`` is the same, serialised."""
        if line is not None and self.wanted.fits(line):
            self.waiting[table_id] = data
        elif table_id in self.known:
            self.waiting[table_id] = None
        else:
            self.waiting.pop(table_id, None)
            return
        self.news.set()

    def listed(self, table_id: str) -> None:
        """Note that the table's line is being sent as it is."""
        self.known.add(table_id)
        self.waiting.pop(table_id, None)

    def taken(self) -> Iterator[tuple[list[bytes], list[str]]]:
        """Yield what waits, a message at a time: lines, and ids of tables that fit no more."""
        self.news.clear()
        waiting, self.waiting = self.waiting, {}
        changes = iter(waiting.items())
        while some := list(islice(changes, LINES_A_MESSAGE)):
            gone = [table_id for table_id, data in some if data is None]
            self.known.difference_update(gone)
            self.known.update(table_id for table_id, data in some if data is not None)
            yield [data for _, data in some if data is not None], gone


class LobbyWatch:
    """All who watch the lobby of this process."""

    def __init__(self, runtime: Runtime, lines: Lines) -> None:
        settings = runtime.settings
        self._lines = lines
        self._clock = runtime.clock
        self._pause_s = settings.lobby_interval_ms / 1000
        self._places: Places[str] = Places(
            settings.lobby_streams_per_account, settings.lobby_streams, "streams of the lobby", Limit.LOBBY_STREAMS
        )
        self._watchers: set[_Watcher] = set()
        self._changed: dict[str, None] = {}
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watchers)

    def note(self, table_id: str) -> None:
        """A table's line has changed, or may have. On the hot path: it is made later, once for all that happens."""
        if self._watchers:
            self._changed[table_id] = None
            self._news.set()

    async def run(self) -> None:
        """Tell what has changed, now and again. Never returns."""
        while True:
            await self._news.wait()
            self._news.clear()
            changed, self._changed = self._changed, {}
            names = iter(changed)
            while some := list(islice(names, LINES_A_MESSAGE)):
                self._tell(some)
                await asyncio.sleep(0)
            await asyncio.sleep(self._pause_s)

    def _tell(self, names: Iterable[str]) -> None:
        for table_id in names:
            line = self._lines.line(table_id)
            data = b"" if line is None else delimited(1, line.SerializeToString())
            for watcher in self._watchers:
                watcher.take(table_id, line, data)

    async def serve(self, wanted: Wanted, account: str, factor: int, write: Write) -> None:
        """Send somebody the lobby until they go away. Raises Refused: RATE_LIMITED, STOPPING."""
        with self._places.hold(account, factor):
            watcher = _Watcher(wanted)
            self._watchers.add(watcher)
            try:
                await self._list(watcher, write)
                while True:
                    await watcher.news.wait()
                    if watcher.why is not None:
                        raise watcher.why
                    messages = list(watcher.taken())
                    for number, (lines, gone) in enumerate(messages, start=1):
                        await write(self._message(lines, gone, current=number == len(messages)))
            finally:
                self._watchers.discard(watcher)

    async def _list(self, watcher: _Watcher, write: Write) -> None:
        """Send all that fits. Whatever changes from now on waits, and comes behind it."""
        names = iter(self._lines.live_names(watcher.wanted.currency))
        lines: list[bytes] = []
        while some := list(islice(names, LINES_A_MESSAGE)):
            for table_id in some:
                line = self._lines.line(table_id)
                if line is not None and watcher.wanted.fits(line):
                    if len(lines) == LINES_A_MESSAGE:
                        await write(self._message(lines, [], current=False))
                        lines = []
                    watcher.listed(table_id)
                    lines.append(delimited(1, line.SerializeToString()))
            await asyncio.sleep(0)
        await write(self._message(lines, [], current=True))

    def _message(self, lines: list[bytes], gone: list[str], *, current: bool) -> bytes:
        """Return a ``WatchLobbyResponse``; the lines are its first field."""
        rest = pb.WatchLobbyResponse(removed=gone, current=current, sent_at_ms=self._clock())
        return b"".join((*lines, rest.SerializeToString()))

    def finish(self, why: Refused) -> None:
        """End every stream with a refusal."""
        for watcher in self._watchers:
            watcher.why = why
            watcher.news.set()

"""Reads a table's log for a replay: folds it once, and reads again what a frame is made of when somebody looks.

A page of frames is kept, so that the next step and the last one cost nothing; a long log is never held.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Final

from stud_cli.replay.own_cards import OwnCards
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.types import StoredCommit
from stud_replay import navigation
from stud_replay.frames import Frame, Projector
from stud_replay.timeline import Timeline
from stud_replay.viewing import OPERATOR, Viewer

KEPT_FRAMES: Final = 512
"""Frames kept, a few kilobytes each."""

AHEAD: Final = 32
"""Frames that are made at once: whoever looks at one will step on."""

OnFolded = Callable[[int, int], None]
"""(versions folded, versions there are)."""


class Reel:
    """One table's log. Raises EventLogError, WireError, ValueError (no table id) from whatever reads."""

    def __init__(self, log: CommitLog, table_id: str, viewer: Viewer = OPERATOR, own: OwnCards | None = None) -> None:
        self._log = log
        self.table_id = keys.check_table_id(table_id)
        self._stream = keys.table_log(keys.shard_of(table_id), table_id)
        self.timeline = Timeline(table_id)
        self.viewer = viewer if own is None else own.viewer
        self._own = own
        self._frames: OrderedDict[int, Frame] = OrderedDict()

    async def fold(
        self, enough: Callable[[Timeline], bool] = lambda _: False, on_folded: OnFolded | None = None
    ) -> None:
        """Take in what the log holds beyond what is known, or as much as is ``enough``."""
        timeline = self.timeline
        head = (await self._log.head(self._stream)).version
        if head <= timeline.version or enough(timeline):
            return
        async for stored in self._log.read_all(self._stream, timeline.version):
            timeline.add(stored)
            if on_folded is not None and stored.version % 512 == 0:
                on_folded(stored.version, head)
            if enough(timeline):
                return

    async def frame(self, version: int) -> Frame:
        """Return the frame of a version that was folded."""
        if version in self._frames:
            self._frames.move_to_end(version)
            return self._frames[version]
        wanted: Frame | None = None
        first, last = max(1, version - AHEAD), min(version + AHEAD, self.timeline.version)
        if self._own is not None:  # cards are opened for whoever looks, not for what is beside it
            first = last = version
        async for frame in self.frames(first, last):
            self._frames[frame.version] = frame
            wanted = frame if frame.version == version else wanted
        while len(self._frames) > KEPT_FRAMES:
            self._frames.popitem(last=False)
        if wanted is None:
            raise ValueError(f"version {version} is not in the log of table {self.table_id} any more")
        return wanted

    async def frames(self, first: int, last: int) -> AsyncIterator[Frame]:
        """Yield the frames of versions that were folded, in order."""
        before = self.timeline.nearest(first)
        if self._own is not None:
            for hand in navigation.hands_between(self.timeline, first, last):
                await self._own.open(hand)
        projector = Projector(self.table_id, before, self.viewer)
        async for stored in self._read(before.version, last):
            if stored.version < first:
                projector.skip(stored)
            else:
                yield projector.show(stored)

    async def _read(self, after: int, last: int) -> AsyncIterator[StoredCommit]:
        if after >= last:
            return
        async for stored in self._log.read_all(self._stream, after):
            yield stored
            if stored.version >= last:
                return

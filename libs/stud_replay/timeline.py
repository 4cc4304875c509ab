"""A table's log, folded once: what finding needs of every version, every hand, and a state every so often.

Of a version nine bytes are kept (what happened, and when), of a hand a line, and at most `KEPT` states, ever further
apart as the log grows. Frames are made from them when somebody looks, and never kept here.
"""

from __future__ import annotations

from array import array
from typing import Final

from stud_core.evolve import fold_into, thaw
from stud_core.state import Table
from stud_eventlog.types import StoredCommit
from stud_replay.hands import Hands
from stud_replay.marks import marks_of
from stud_wire.commits import decode_commit

KEPT: Final = 2048
"""States kept, some kilobytes each. When there would be more, every second one is dropped."""

SPACING: Final = 64
"""Versions between two kept states to begin with."""


class Timeline:
    """Add every commit of one table, from the first, in order."""

    def __init__(self, table_id: str, *, kept: int = KEPT, spacing: int = SPACING) -> None:
        self.table_id = table_id
        self.hands = Hands()
        self.marks = bytearray()
        self.times: array[int] = array("q")
        self._table = Table()
        self._kept = kept
        self._spacing = spacing
        self._states: list[Table] = [Table()]

    @property
    def version(self) -> int:
        """The last version added; 0 = none yet."""
        return self._table.version

    @property
    def last(self) -> Table:
        """The table after the last version that was added, until the next one is."""
        return self._table

    def add(self, stored: StoredCommit) -> None:
        """Take in the next commit. Raises WireError for one that this build cannot read, ValueError for one that does
        not follow.
        """
        if stored.version != self.version + 1:
            raise ValueError(f"version {stored.version} does not follow version {self.version}")
        commit = decode_commit(stored.body)
        fold_into(self._table, commit.events, stored.version)
        self.marks.append(marks_of(commit.events))
        self.times.append(commit.meta.at_ms)
        self.hands.add(stored.version, commit.meta.at_ms, commit.events)
        if stored.version % self._spacing == 0:
            self._keep()

    def _keep(self) -> None:
        self._states.append(thaw(self._table, self._table.version))
        if len(self._states) > self._kept:
            self._states = self._states[::2]
            self._spacing *= 2

    def nearest(self, version: int) -> Table:
        """Return the latest kept state below a version: frames up to it need the commits behind that state only."""
        index = min(max(version - 1, 0) // self._spacing, len(self._states) - 1)
        return self._states[index]

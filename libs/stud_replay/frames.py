"""Frames: what a table looked like after each version, and what had happened. One per commit, made on demand.

Whoever wants some starts from a state before them (`timeline.Timeline.nearest`) and goes through the commits behind it.
"""

from __future__ import annotations

import msgspec

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.evolve import apply, evolve, thaw
from stud_core.state import Table
from stud_eventlog.types import StoredCommit
from stud_replay.clocks import Clock, clocks
from stud_replay.entries import LogEntry, entry_of
from stud_replay.viewing import OPERATOR, Viewer, own_view, without_boxes
from stud_replay.words import say
from stud_wire.commits import DecodedCommit, decode_commit, put_event
from table_service import views


class Said(msgspec.Struct, frozen=True):
    """One event of a version. ``event`` is its message, sealed boxes left out, and for a player's eyes only what they
    were told; ``account`` is whose event it is, empty = nobody's.
    """

    event: commit_pb2.Event
    what: str
    why: str
    rules: tuple[str, ...]
    seat: int
    account: str

    @property
    def name(self) -> str:
        """Name of the event as the contract has it: ``action_taken``."""
        return self.event.WhichOneof("body") or ""


class Frame(msgspec.Struct, frozen=True):
    """A table after one version. ``mine`` is a player's own view, where one is looking; ``sealed`` says why their down
    cards stay face down, empty where they do not.
    """

    table: str
    version: int
    at_ms: int
    hand_no: int
    street: int
    view: pb.TableView
    mine: pb.PrivateView | None
    sealed: str
    said: tuple[Said, ...]
    clocks: tuple[Clock, ...]
    entry: LogEntry

    def __repr__(self) -> str:
        return f"<Frame {self.table} {self.version}>"  # there may be down cards in it


class Projector:
    """Makes frames of commits that follow each other; ``before`` is the table before the first of them, and stays as it
    is. Raises WireError for a commit that this build cannot read, ValueError for one that does not follow.
    """

    def __init__(self, table_id: str, before: Table, viewer: Viewer = OPERATOR) -> None:
        self._table_id = table_id
        self._table = before
        self._viewer = viewer

    def skip(self, stored: StoredCommit) -> None:
        """Fold a commit that nobody wants to see."""
        self._next(stored)
        self._table = evolve(self._table, decode_commit(stored.body).events, stored.version)

    def show(self, stored: StoredCommit) -> Frame:
        """Fold a commit and return its frame."""
        self._next(stored)
        commit = decode_commit(stored.body)
        before, table = self._table, thaw(self._table, stored.version)
        said = _say_and_fold(table, commit, self._viewer)
        self._table = table
        return _frame(self._table_id, before, table, stored, commit, said, self._viewer)

    def _next(self, stored: StoredCommit) -> None:
        if stored.version != self._table.version + 1:
            raise ValueError(f"version {stored.version} does not follow version {self._table.version}")


def _say_and_fold(table: Table, commit: DecodedCommit, viewer: Viewer) -> tuple[Said, ...]:
    """Fold a commit event by event; each is told on the table as it was just before it."""
    said = []
    for event in commit.events:
        message = commit_pb2.Event()
        put_event(event, message)
        seen = viewer.sees(table, event, without_boxes(message))
        if seen is not None:
            shown, event_seen = seen
            told = say(table, event_seen)
            number = table.seats[told.seat] if told.seat else 0
            account = table.sittings[number].account if number in table.sittings else ""
            said.append(Said(shown, told.what, told.why, tuple(dict.fromkeys(told.rules)), told.seat, account))
        apply(table, event)
    return tuple(said)


def _frame(
    table_id: str,
    before: Table,
    table: Table,
    stored: StoredCommit,
    commit: DecodedCommit,
    said: tuple[Said, ...],
    viewer: Viewer,
) -> Frame:
    view = views.table_view(table)
    mine, sealed = own_view(table, viewer)
    return Frame(
        table=table_id,
        version=stored.version,
        at_ms=commit.meta.at_ms,
        hand_no=view.hand_no,
        street=view.street,
        view=view,
        mine=mine,
        sealed=sealed,
        said=said,
        clocks=clocks(before, table),
        entry=entry_of(stored, commit, viewer),
    )

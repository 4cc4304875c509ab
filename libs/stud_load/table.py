"""One table under load: who watches it, when its actions are due, how its hands went by."""

from __future__ import annotations

import asyncio
from typing import Final, TypeVar

from stud.table.v1 import table_service_pb2 as pb
from stud_load.checks import Book, HandsCheck
from stud_load.pacing import AtOnce, Pace
from stud_load.recorder import Count, Measure, Recorder

T = TypeVar("T")

KEPT_VERSIONS: Final = 256
"""Versions whose viewers are counted; what is older was not delivered to somebody who has gone."""


class Fanout:
    """From an action to the moment its last viewer has seen it."""

    def __init__(self, recorder: Recorder) -> None:
        self.viewers = 0
        """Streams that are current now."""
        self._recorder = recorder
        self._seen: dict[int, int] = {}
        self._complete: dict[int, float] = {}
        self._acted: dict[int, float] = {}

    def acted(self, version: int, began_s: float) -> None:
        """An action that began then is that version."""
        if version in self._complete:
            self._recorder.time(Measure.SEEN, began_s, self._complete.pop(version))
        else:
            _keep(self._acted, version, began_s)

    def delivered(self, version: int, now_s: float) -> None:
        """One more viewer has that version."""
        seen = self._seen.pop(version, 0) + 1
        if seen < self.viewers:
            _keep(self._seen, version, seen)
        elif version in self._acted:
            self._recorder.time(Measure.SEEN, self._acted.pop(version), now_s)
        else:
            _keep(self._complete, version, now_s)


def _keep(where: dict[int, T], version: int, value: T) -> None:
    where[version] = value
    if len(where) > KEPT_VERSIONS:
        del where[next(iter(where))]


class LoadTable:
    """What all its viewers share. Whoever is told of a version first tells it on."""

    def __init__(self, table_id: str, recorder: Recorder) -> None:
        self.table_id = table_id
        self.recorder = recorder
        self.pace: Pace = AtOnce()
        self.fanout = Fanout(recorder)
        self.hands = HandsCheck(table_id, recorder.violations)
        self.books: dict[str, Book] = {}
        self.view = pb.TableView()
        """The latest one."""
        self.version = 0
        self.changed = asyncio.Event()
        """Set by each version that is new."""
        self._ended_at: dict[int, float] = {}

    def delivered(self, update: pb.TableUpdate, now_s: float, *, counts: bool) -> None:
        """Take in what one viewer was told; ``counts``: as one of those that an action has to reach."""
        if counts:
            self.fanout.delivered(update.version, now_s)
        if update.version > self.version:
            self.version = update.version
            self.view = update.view
            self._note(update, now_s)
            self.changed.set()

    @property
    def is_quiet(self) -> bool:
        """Whether no hand runs and the last one has its verdict."""
        return not self.view.phase and self.view.verified_hand >= self.hands.ended

    @property
    def is_closed(self) -> bool:
        """Whether everybody was paid."""
        return self.view.life == pb.TABLE_LIFE_CLOSED

    def _note(self, update: pb.TableUpdate, now_s: float) -> None:
        for event in update.events:
            name = event.WhichOneof("body")
            if name == "antes_opened":
                self._began(event.antes_opened.hand_no, now_s)
            elif name == "hand_ended":
                self._ended(event.hand_ended.hand_no, now_s)
                for delta in event.hand_ended.deltas:
                    self._result(delta.account, delta.delta)
            elif name == "hand_voided":
                self._ended(event.hand_voided.hand_no, now_s)
            elif name == "table_hand_verified":
                self._verified(event.table_hand_verified.hand_no, now_s)
            elif name == "table_hand_disputed":
                self.hands.disputed(event.table_hand_disputed.hand_no)
        if update.reset:
            self.hands.shown(update.view.verified_hand)

    def _began(self, hand_no: int, now_s: float) -> None:
        self.hands.hand_began(hand_no)
        ended_s = self._ended_at.pop(hand_no - 1, None)
        if ended_s is not None:
            self.recorder.time(Measure.NEXT_HAND, ended_s, now_s)

    def _ended(self, hand_no: int, now_s: float) -> None:
        if self.hands.hand_ended(hand_no):
            self._ended_at = {hand_no: now_s}
            self.recorder.count(Count.HANDS)

    def _verified(self, hand_no: int, now_s: float) -> None:
        self.hands.hand_verified(hand_no)
        if hand_no in self._ended_at:
            self.recorder.time(Measure.VERDICT, self._ended_at[hand_no], now_s)

    def _result(self, account: str, delta: int) -> None:
        book = self.books.get(account)
        if book is not None:
            book.results += delta

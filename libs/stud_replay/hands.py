"""The hands of a table, as its log tells them: where they begin and end, who played, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from stud_core import events as ev


class Outcome(StrEnum):
    """How a hand ended."""

    RUNNING = "running"
    ENDED = "ended"
    VOIDED = "voided"


class Verdict(StrEnum):
    """What was said of a hand that is over."""

    NONE = ""
    WAITING = "waiting"
    VERIFIED = "verified"
    DISPUTED = "disputed"
    TABLE = "resolved_table"
    REFEREE = "resolved_referee"
    VOID = "resolved_void"


_RESOLVED = {
    ev.ResolutionChoice.TABLE: Verdict.TABLE,
    ev.ResolutionChoice.REFEREE: Verdict.REFEREE,
    ev.ResolutionChoice.VOID: Verdict.VOID,
}


class HandEntry(msgspec.Struct, gc=False):
    """A hand that was started. ``first`` is the version that opened its antes, ``last`` the one that ended or voided it
    (so far the last one, while it runs). ``pot`` is what was put in and not given back, rake included; of a void, what
    went back. ``players`` are (seat, account), in deal order. ``was_disputed`` stays true after a resolution.
    """

    hand_no: int
    first: int
    last: int
    started_ms: int
    ended_ms: int = 0
    players: tuple[tuple[int, str], ...] = ()
    pot: int = 0
    rake: int = 0
    showdown: bool = False
    outcome: Outcome = Outcome.RUNNING
    verdict: Verdict = Verdict.NONE
    was_disputed: bool = False


class Hands:
    """Gathers them, commit by commit. Who plays with whom is kept once for all hands in which it is the same."""

    def __init__(self) -> None:
        self.all: list[HandEntry] = []
        self._opened: tuple[int, int] = (0, 0)
        self._antes = 0
        self._known: dict[tuple[tuple[int, str], ...], tuple[tuple[int, str], ...]] = {}

    def get(self, hand_no: int) -> HandEntry | None:
        """Return a hand; numbers have no gaps."""
        if not self.all:
            return None
        index = hand_no - self.all[0].hand_no
        return self.all[index] if 0 <= index < len(self.all) else None

    def add(self, version: int, at_ms: int, events: Sequence[Any]) -> None:
        """Take in a commit."""
        if self.all and self.all[-1].outcome is Outcome.RUNNING:
            self.all[-1].last = version
        for event in events:
            self._add(version, at_ms, event)

    def _add(self, version: int, at_ms: int, event: Any) -> None:
        last = self.all[-1] if self.all else None
        match event:
            case ev.AntesOpened():
                self._opened, self._antes = (version, at_ms), 0
            case ev.AntePosted():
                self._antes += event.amount
            case ev.HandStarted():
                players = tuple([(player.seat, player.account) for player in event.dealt_in])
                players = self._known.setdefault(players, players)
                first, started = self._opened
                self.all.append(HandEntry(event.hand_no, first, version, started, players=players, pot=self._antes))
            case ev.ActionTaken() if last is not None:
                last.pot += event.amount
            case ev.UncalledReturned() if last is not None:
                last.pot -= event.amount
            case ev.HandShown() if last is not None:
                last.showdown |= event.rank > 0  # whoever wins uncalled and shows is not ranked
            case ev.HandEnded() | ev.HandVoided() if last is not None:
                _close(last, version, at_ms, event)
            case ev.TableHandVerified() | ev.TableHandDisputed() | ev.TableHandResolved():
                self._judge(event)
            case _:
                pass

    def _judge(self, event: ev.TableHandVerified | ev.TableHandDisputed | ev.TableHandResolved) -> None:
        hand = self.get(event.hand_no)
        if hand is None:
            return
        match event:
            case ev.TableHandVerified():
                hand.verdict = Verdict.VERIFIED
            case ev.TableHandDisputed():
                hand.verdict, hand.was_disputed = Verdict.DISPUTED, True
            case ev.TableHandResolved():
                hand.verdict = _RESOLVED[event.choice]


def _close(hand: HandEntry, version: int, at_ms: int, event: ev.HandEnded | ev.HandVoided) -> None:
    hand.last, hand.ended_ms, hand.verdict = version, at_ms, Verdict.WAITING
    if isinstance(event, ev.HandVoided):
        hand.outcome = Outcome.VOIDED
        hand.pot = sum([refund.amount for refund in event.refunds])
    else:
        hand.outcome, hand.rake = Outcome.ENDED, event.rake

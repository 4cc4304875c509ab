"""How a hand begins, and what a preference does at that moment, counted from the events alone (W26, P6, P44; B.21)."""

from __future__ import annotations

from collections.abc import Sequence

from stud_core import events as ev
from stud_core.ruleset import DealOrigin, TableConfig


class StartWatch:
    """Sees every commit; the button is where the last hand with cards had it."""

    def __init__(self, config: TableConfig) -> None:
        self.fixed = config.ruleset.deal_origin is DealOrigin.FIXED
        self.button = self.dealt = 0
        self.posted: list[int] = []
        self.asked: dict[int, tuple[str, int]] = {}  # seat: what for, until when
        self.wishes: dict[int, tuple[bool, bool]] = {}  # sitting: posts, mucks by itself

    def see(self, events: Sequence[ev.Event], now_ms: int) -> None:
        for at, event in enumerate(events):
            match event:
                case ev.BuyInRequested():
                    self.wishes[event.sitting_no] = event.auto_post, event.muck_losing
                case ev.PreferencesSet():
                    self._preference(event, events[at + 1 :], now_ms)
                case ev.AntesOpened():
                    self.posted = []
                    self.asked = dict.fromkeys(event.prompted, ("ante", event.deadline_ms))
                case ev.ShowPrompted():
                    self.asked[event.seat] = (event.kind.name, event.deadline_ms)
                case ev.ClockRestarted(turn_id=None, sitting_no=None):
                    self.asked = {seat: (what, event.deadline_ms) for seat, (what, _) in self.asked.items()}
                case ev.AntePosted() | ev.AnteMissed() | ev.HandShown() | ev.HandMucked():
                    self.asked.pop(event.seat, None)
                    self.posted += [event.seat] * isinstance(event, ev.AntePosted)
                case ev.HandStarted():
                    self._start(event)
                case ev.CardsDealt():
                    self.dealt = self.button

    def _preference(self, event: ev.PreferencesSet, behind: Sequence[ev.Event], now_ms: int) -> None:
        posted, mucked = self.wishes[event.sitting_no]
        what, deadline = self.asked.get(event.seat, ("", 0))
        in_time = not deadline or now_ms <= deadline
        answer: type[ev.Event] | None = None
        if in_time and what == "ante" and event.auto_post and not posted:
            answer = ev.AntePosted
        elif in_time and what == "LOSER" and event.muck_losing and not mucked:
            answer = ev.HandMucked
        assert (type(behind[0]) if behind else None) is answer, f"{event} while asked {what!r}: {behind}"
        assert answer is None or behind[0].seat == event.seat  # type: ignore[union-attr]
        self.wishes[event.sitting_no] = event.auto_post, event.muck_losing

    def _start(self, event: ev.HandStarted) -> None:
        posted = sorted(self.posted)
        if self.fixed:
            assert (event.button, [player.seat for player in event.dealt_in]) == (0, posted)
            return
        above = [seat for seat in posted if seat > self.dealt]
        self.button = posted[-1] if not self.dealt else (above or posted)[0]
        assert event.button == self.button
        behind = [seat for seat in posted if seat > self.button]
        assert [player.seat for player in event.dealt_in] == behind + [s for s in posted if s <= self.button]

"""Who sits out since when, whose seat may be given up for it, what leavers owe: from the events alone (B.17, B.19)."""

from __future__ import annotations

from collections.abc import Sequence

from stud_core import events as ev
from stud_core.ruleset import TableConfig


class AbsenceWatch:
    """Sees every commit and when it was made."""

    def __init__(self, config: TableConfig) -> None:
        self.rules = config.ruleset
        self.accounts: dict[int, str] = {}  # by sitting
        self.since: dict[int, int] = {}  # sitting: when the clock of its absence began
        self.missed: dict[int, int] = {}
        self.playing: set[int] = set()
        self.left: dict[str, tuple[int, int]] = {}  # account: chips, until when

    def owed(self, account: str, now_ms: int) -> int | None:
        """What an account must bring back now."""
        chips, until_ms = self.left.get(account, (0, 0))
        return chips if now_ms < until_ms else None

    def see(self, events: Sequence[ev.Event], now_ms: int) -> None:
        for event in events:
            match event:
                case ev.BuyInRequested():
                    self.accounts[event.sitting_no] = event.account
                case ev.PlayerSeated():
                    self.left.pop(self.accounts[event.sitting_no], None)
                case ev.SatOut():
                    self._begin(event.sitting_no, event.leaves_at_ms, now_ms)
                    self.missed[event.sitting_no] = 0
                case ev.ClockRestarted(sitting_no=int() as number):
                    assert number in self.since
                    self._begin(number, event.deadline_ms, now_ms)
                case ev.SatIn():
                    del self.since[event.sitting_no], self.missed[event.sitting_no]
                case ev.HandStarted():
                    self.playing = {player.sitting_no for player in event.dealt_in}
                    self.missed = {number: n + (number not in self.playing) for number, n in self.missed.items()}
                case ev.HandEnded() | ev.HandVoided():
                    self.playing = set()
                case ev.LeaveRequested():
                    if event.idle:
                        self._sent_off(event.sitting_no, now_ms)
                    self.since.pop(event.sitting_no, None)
                case ev.CashOutRequested():
                    self._leaves(event, now_ms)

    def _begin(self, number: int, ends_ms: int, now_ms: int) -> None:
        allowed = self.rules.sit_out_max_ms
        assert ends_ms == (now_ms + allowed if allowed else 0)
        self.since[number] = now_ms

    def _sent_off(self, number: int, now_ms: int) -> None:
        most_ms, most_hands = self.rules.sit_out_max_ms, self.rules.sit_out_max_hands
        long = most_ms is not None and now_ms >= self.since[number] + most_ms
        often = most_hands is not None and self.missed[number] >= most_hands
        assert long or often, "a seat was taken too early"
        assert number not in self.playing

    def _leaves(self, event: ev.CashOutRequested, now_ms: int) -> None:
        owes = bool(event.claim and self.rules.rathole_ms)
        assert event.back_until_ms == (now_ms + self.rules.rathole_ms if owes else 0)
        if owes:
            self.left[event.account] = (event.claim or 0, event.back_until_ms)

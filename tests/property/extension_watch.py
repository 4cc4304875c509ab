"""How much more time each turn was given, and by what right, counted from the events alone (B.18)."""

from __future__ import annotations

from collections.abc import Sequence

from stud_core import events as ev
from stud_core.ruleset import TableConfig


class ExtensionWatch:
    """Sees every commit and when it was made."""

    def __init__(self, config: TableConfig) -> None:
        self.rules = config.ruleset
        self.sittings: dict[int, int] = {}  # sitting by seat, of the running hand
        self.chips: dict[int, int] = {}  # by sitting
        self.played: dict[int, int] = {}
        self.protected: set[int] = set()
        self.deadline_ms = self.given_ms = 0

    def see(self, events: Sequence[ev.Event], now_ms: int) -> None:
        for event in events:
            match event:
                case ev.HandStarted():
                    self._start(event)
                case ev.TurnStarted():
                    self.deadline_ms, self.given_ms = event.deadline_ms, 0
                case ev.ClockRestarted(turn_id=int()):
                    self.deadline_ms = event.deadline_ms
                case ev.ClockExtended():
                    self._extend(event, now_ms)

    def _start(self, event: ev.HandStarted) -> None:
        rules = self.rules
        self.protected = set()
        self.sittings = {player.seat: player.sitting_no for player in event.dealt_in}
        for player in event.dealt_in:
            number = player.sitting_no
            played = self.played[number] = self.played.get(number, 0) + 1
            if not rules.time_bank_ms:
                assert player.time_chips is None
                continue
            full = rules.time_bank_chips or 1
            every = rules.time_bank_refill_hands or 10**9
            back = played > 1 and (played - 1) % every == 0
            assert player.time_chips == min(full, self.chips.get(number, full) + back)
            self.chips[number] = player.time_chips

    def _extend(self, event: ev.ClockExtended, now_ms: int) -> None:
        number = self.sittings[event.seat]
        if event.reason is ev.Extension.TIME_CHIP:
            assert now_ms <= self.deadline_ms
            self.chips[number] -= 1
            more, begins = self.rules.time_bank_ms, self.deadline_ms
        else:
            assert now_ms >= self.deadline_ms > 0
            assert event.seat not in self.protected
            self.protected.add(event.seat)
            more, begins = self.rules.reconnect_ms or 0, now_ms
        assert event.time_chips == self.chips.get(number, 0) >= 0
        assert event.deadline_ms == begins + more > begins
        self.deadline_ms = event.deadline_ms
        self.given_ms += more

"""Whose turn it is to sit down, from the events alone: nobody overtakes, and no offer is taken by another (B.22)."""

from __future__ import annotations

from collections.abc import Sequence

from stud_core import events as ev
from stud_core.ruleset import OFFER_MS, TableConfig
from stud_core.state import Life, Table


class WaitingWatch:
    """Sees every commit and when it was made."""

    def __init__(self, config: TableConfig) -> None:
        self.rules = config.ruleset
        self.names: list[str] = []
        self.offers: dict[str, tuple[int, int]] = {}  # account: seat, until when

    def see(self, events: Sequence[ev.Event], now_ms: int) -> None:
        for event in events:
            match event:
                case ev.WaitingJoined():
                    assert event.account not in self.names
                    self.names.append(event.account)
                    assert len(self.names) <= (self.rules.waiting_list or 0)
                case ev.SeatOffered():
                    self._offer(event, now_ms)
                case ev.WaitingLeft():
                    if event.expired:
                        assert self.offers[event.account][1] <= now_ms
                    self._gone(event.account)
                case ev.BuyInRequested():
                    kept = {seat for name, (seat, _) in self.offers.items() if name != event.account}
                    assert event.seat not in kept, "a seat that was kept for somebody else is taken"
                    self._gone(event.account)
                case ev.TableDraining():
                    self.offers = {}
                case ev.TableClosing():
                    self.names, self.offers = [], {}

    def _offer(self, event: ev.SeatOffered, now_ms: int) -> None:
        before = self.offers.get(event.account)
        if before is None:
            assert event.account == next(name for name in self.names if name not in self.offers), "somebody overtakes"
            assert event.seat not in {seat for seat, _ in self.offers.values()}
        else:
            assert event.seat == before[0]
        assert event.expires_at_ms == now_ms + (self.rules.offer_ms or OFFER_MS)
        self.offers[event.account] = event.seat, event.expires_at_ms

    def _gone(self, account: str) -> None:
        self.names = [name for name in self.names if name != account]
        self.offers.pop(account, None)

    def check(self, state: Table) -> None:
        """The table has the same list, and no seat is left free while somebody waits without an offer."""
        assert [waiter.account for waiter in state.waiting] == self.names
        assert {w.account: (w.seat, w.expires_at_ms) for w in state.waiting if w.seat} == self.offers
        kept = {seat for seat, _ in self.offers.values()}
        assert not any(state.seats[seat] for seat in kept)
        free = [seat for seat in range(1, self.rules.seats + 1) if not state.seats[seat] and seat not in kept]
        assert not free or len(self.offers) == len(self.names) or state.life is not Life.OPEN

"""Every chip of a table counted from its events alone: no state of the engine, no ``stud_core.conservation``.

Where an event says what stack it leaves, that must be what this count says; and after each event the chips at the
table must be those that came in and have not gone out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stud_core import events as ev


class Purse:
    """``paid`` is what each seat has in the hand, uncalled chips taken back; ``rake`` is that of verified ends."""

    def __init__(self) -> None:
        self.seats: dict[int, int] = {}  # sitting by seat
        self.stacks: dict[int, int] = {}  # by sitting, like pending
        self.pending: dict[int, int] = {}
        self.paid: dict[int, int] = {}
        self.start: dict[int, int] = {}
        self.pot = self.hand_rake = self.rake = self.came = self.gone = 0

    def stack(self, seat: int) -> int:
        return self.stacks[self.seats[seat]]

    def see(self, event: ev.Event) -> None:
        see: Callable[[Any], None] | None = getattr(self, f"_{type(event).__name__}", None)
        if see is not None:
            see(event)
        chips = [*self.stacks.values(), *self.pending.values(), self.pot, self.hand_rake, self.rake]
        assert min(chips) >= 0, f"{chips} after {event}"
        assert sum(chips) == self.came - self.gone, f"{sum(chips)} at the table, {self.came - self.gone} paid: {event}"

    def _move(self, seat: int, chips: int, stack: int) -> None:
        """Chips from the pot to a seat (or back, when negative)."""
        self.stacks[self.seats[seat]] += chips
        self.pot -= chips
        assert self.stack(seat) == stack, f"seat {seat} has {self.stack(seat)}, not {stack}"

    # --- sitting -------------------------------------------------------------

    def _BuyInRequested(self, event: ev.BuyInRequested) -> None:
        self.seats[event.seat] = event.sitting_no

    def _PlayerSeated(self, event: ev.PlayerSeated) -> None:
        self.stacks[event.sitting_no], self.pending[event.sitting_no] = event.stack, 0
        self.came += event.stack

    def _TopUpPending(self, event: ev.TopUpPending) -> None:
        self.pending[event.sitting_no] += event.amount
        self.came += event.amount
        assert event.pending == self.pending[event.sitting_no]

    def _ChipsAdded(self, event: ev.ChipsAdded) -> None:
        assert not self.pot, "chips were added in a hand"
        self.stacks[event.sitting_no] += event.amount
        self.pending[event.sitting_no] -= event.amount
        assert (event.stack, event.pending) == (self.stacks[event.sitting_no], self.pending[event.sitting_no])

    def _CashOutRequested(self, event: ev.CashOutRequested) -> None:
        owed = self.stacks.get(event.sitting_no, 0) + self.pending.get(event.sitting_no, 0)
        assert (event.claim or 0) == owed

    def _PlayerLeft(self, event: ev.PlayerLeft) -> None:
        """What is paid beyond the claim came from outside, when operators corrected it."""
        claim = self.stacks.pop(event.sitting_no, 0) + self.pending.pop(event.sitting_no, 0)
        self.came += event.paid - claim
        self.gone += event.paid

    # --- a hand --------------------------------------------------------------

    def _AntesOpened(self, event: ev.AntesOpened) -> None:
        self.paid = {}
        self.start = {seat: self.stack(seat) for seat in (*event.prompted, *event.posting)}

    def _AntePosted(self, event: ev.AntePosted) -> None:
        self._move(event.seat, -event.amount, event.stack)
        self.paid[event.seat] = event.amount
        assert event.all_in == (event.stack == 0)

    def _ActionTaken(self, event: ev.ActionTaken) -> None:
        self._move(event.seat, -event.amount, event.stack)
        self.paid[event.seat] += event.amount

    def _UncalledReturned(self, event: ev.UncalledReturned) -> None:
        self._move(event.seat, event.amount, event.stack)
        self.paid[event.seat] -= event.amount

    def _PotAwarded(self, event: ev.PotAwarded) -> None:
        assert event.rake + sum(share.amount for share in event.shares) == event.amount
        self.pot -= event.rake
        self.hand_rake += event.rake
        for share in event.shares:
            self._move(share.seat, share.amount, share.stack)

    def _HandEnded(self, event: ev.HandEnded) -> None:
        assert self.pot == 0, f"{self.pot} of the pots was paid to nobody"
        assert event.rake == self.hand_rake
        assert {entry.seat: entry.stack for entry in event.stacks} == {seat: self.stack(seat) for seat in self.paid}
        won = {self.seats[seat]: self.stack(seat) - self.start[seat] for seat in self.paid}
        assert {delta.sitting_no: delta.delta for delta in event.deltas} == won
        assert sum(won.values()) == -event.rake
        self.rake, self.hand_rake = self.rake + event.rake, 0

    def _AntesReturned(self, event: ev.AntesReturned) -> None:
        self._refund(event.refunds)

    def _HandVoided(self, event: ev.HandVoided) -> None:
        assert self.pot == sum(self.paid.values()), "a paid pot was taken back (B.21)"
        self._refund(event.refunds)

    def _refund(self, refunds: tuple[ev.Refund, ...]) -> None:
        """Each contribution exactly once, and everybody has what he had before (B.18; vector 149)."""
        assert {refund.seat: refund.amount for refund in refunds} == self.paid
        for refund in refunds:
            self.stacks[self.seats[refund.seat]] = refund.stack
            assert refund.stack == self.start[refund.seat]
        self.pot = self.hand_rake = 0

    def _TableHandResolved(self, event: ev.TableHandResolved) -> None:
        """Operators move chips between the players of the hand and the rake; none is made."""
        for entry in event.stacks:
            self.rake += self.stacks[entry.sitting_no] - entry.stack
            self.stacks[entry.sitting_no] = entry.stack

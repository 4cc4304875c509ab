"""Every sitting's chips between hands, kept from the table's log by plain addition.

``apply`` folds what happens outside the play of a hand and says what is wrong with it; the chips of a hand are settled
once, at its end. Amounts are minor units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import msgspec

from rules_service.findings import Code
from stud_core import events as ev
from stud_core.ruleset import TableConfig


class Place(msgspec.Struct):
    """One sitting: ``asked`` is the buy-in it reserved a seat for; ``seated`` until its cash-out is asked for; ``away``
    when they sit out because they asked to; ``until`` is when they have been out too long (0 = never), ``missed`` how
    many hands have begun without them, ``played`` how many with them, ``chips`` what their time bank has.
    """

    sitting_no: int
    seat: int
    account: str
    asked: int
    stack: int = 0
    pending: int = 0
    seated: bool = False
    out: bool = False
    away: bool = False
    until: int = 0
    missed: int = 0
    played: int = 0
    chips: int = 0
    leaving: bool = False
    auto_post: bool = False
    muck_losing: bool = False


class Account:
    """The running account of one table."""

    def __init__(self) -> None:
        self.config: TableConfig | None = None
        self.places: dict[int, Place] = {}
        self.seats: list[int] = [0] * 9
        self.button = 0  # of the last hand that was started
        self.dealt_button = 0  # of the last one that had cards
        self.last_hand = 0  # last hand that ended or was voided
        self.before: dict[int, int] = {}  # stacks of that hand's players before it, by sitting

    def copy(self) -> Account:
        """Return an account that can be changed without changing this one."""
        mine = copy(self)
        mine.places = {number: copy(place) for number, place in self.places.items()}
        mine.seats = self.seats.copy()
        return mine

    def at(self, seat: int) -> Place | None:
        """Return who sits at a seat with chips in front of them, if anybody."""
        place = self.places.get(self.seats[seat]) if 1 <= seat <= 8 else None
        return place if place is not None and place.seated else None

    def apply(self, event: Any) -> Code | None:
        """Fold one event that is not part of a hand's play; return what is wrong with it."""
        step = _STEPS.get(type(event))
        return step(self, event) if step is not None else None

    def begin(self, dealt_in: Iterable[ev.DealtIn]) -> None:
        """A hand begins for these: everybody else who sits out has missed it."""
        playing = {player.sitting_no: player.time_chips or 0 for player in dealt_in}
        for number, place in self.places.items():
            if number in playing:
                place.played += 1
                place.chips = playing[number]
            else:
                place.missed += place.out

    def settle(self, hand_no: int, stacks: dict[int, int], before: dict[int, int]) -> None:
        """Close a hand: stacks by sitting after it, and before it."""
        for number, stack in stacks.items():
            if number in self.places:
                self.places[number].stack = stack
        self.last_hand = hand_no
        self.before = before


def _opened(account: Account, event: ev.TableOpened) -> Code | None:
    if account.config is not None:
        return Code.NOT_DECIDED
    account.config = event.config
    return None


def _reserved(account: Account, event: ev.BuyInRequested) -> Code | None:
    if not 1 <= event.seat <= 8 or account.seats[event.seat] or event.sitting_no in account.places:
        return Code.NOT_DECIDED
    place = Place(event.sitting_no, event.seat, event.account, event.amount)
    place.auto_post, place.muck_losing = event.auto_post, event.muck_losing
    account.places[event.sitting_no] = place
    account.seats[event.seat] = event.sitting_no
    return None


def _seated(account: Account, event: ev.PlayerSeated) -> Code | None:
    place = account.places.get(event.sitting_no)
    if place is None or place.seated or place.seat != event.seat:
        return Code.NOT_DECIDED
    place.seated = True
    place.stack = event.stack
    return None if event.stack == place.asked else Code.WRONG_STACK


def _released(account: Account, event: ev.SeatReleased) -> Code | None:
    place = account.places.get(event.sitting_no)
    if place is None or place.seated:
        return Code.NOT_DECIDED
    _free(account, place)
    return None


def _free(account: Account, place: Place) -> None:
    del account.places[place.sitting_no]
    account.seats[place.seat] = 0


def _topped_up(account: Account, event: ev.TopUpPending) -> Code | None:
    place = account.places.get(event.sitting_no)
    if place is None:
        return Code.NOT_DECIDED
    right = event.amount > 0 and event.pending == place.pending + event.amount
    place.pending = event.pending
    return None if right else Code.WRONG_STACK


def _added(account: Account, event: ev.ChipsAdded) -> Code | None:
    place = account.places.get(event.sitting_no)
    if place is None:
        return Code.NOT_DECIDED
    expected = (place.pending - event.amount, place.stack + event.amount)
    right = event.amount > 0 and expected[0] >= 0 and (event.pending, event.stack) == expected
    place.pending, place.stack = event.pending, event.stack
    return None if right else Code.WRONG_STACK


def _cash_out(account: Account, event: ev.CashOutRequested) -> Code | None:
    place = account.places.get(event.sitting_no)
    if event.claim is None:  # it never sat: SeatReleased has removed it
        return None if place is None else Code.NOT_DECIDED
    if place is None:
        return Code.NOT_DECIDED
    _free(account, place)
    return None if event.claim == place.stack + place.pending else Code.WRONG_STACK


def _flag(name: str, value: bool) -> Callable[[Account, Any], Code | None]:
    def step(account: Account, event: Any) -> Code | None:
        place = account.places.get(event.sitting_no)
        if place is None:
            return Code.NOT_DECIDED
        setattr(place, name, value)
        return None

    return step


def _sat_out(account: Account, event: ev.SatOut) -> Code | None:
    place = account.places.get(event.sitting_no)
    if place is None:
        return Code.NOT_DECIDED
    place.out, place.away = True, event.reason is ev.OutReason.REQUESTED
    place.until = event.leaves_at_ms
    return None


def _sat_in(account: Account, event: ev.SatIn) -> Code | None:
    place = account.places.get(event.sitting_no)
    if place is None:
        return Code.NOT_DECIDED
    place.out = place.away = False
    place.until = place.missed = 0
    return None


def _clock_restarted(account: Account, event: ev.ClockRestarted) -> Code | None:
    """Those of turns and prompts are part of a hand."""
    if event.sitting_no in account.places:
        account.places[event.sitting_no].until = event.deadline_ms
    return None


def _clock_extended(account: Account, event: ev.ClockExtended) -> Code | None:
    place = account.at(event.seat)
    if place is None:
        return Code.NOT_DECIDED
    place.chips = event.time_chips
    return None


def _preferences(account: Account, event: ev.PreferencesSet) -> Code | None:
    place = account.places.get(event.sitting_no)
    if place is None:
        return Code.NOT_DECIDED
    place.auto_post, place.muck_losing = event.auto_post, event.muck_losing
    return None


def _resolved(account: Account, event: ev.TableHandResolved) -> Code | None:
    """Two operators decided the last hand: a void gives everybody what they had before it.

    See architecture.md, "A dispute".
    """
    decided = {entry.sitting_no: entry.stack for entry in event.stacks}
    wrong = event.choice is ev.ResolutionChoice.VOID and decided != account.before
    for number, stack in decided.items():
        if number not in account.places:
            return Code.NOT_DECIDED
        account.places[number].stack = stack
    return Code.WRONG_STACK if wrong else None


_STEPS: dict[type, Callable[[Account, Any], Code | None]] = {
    ev.TableOpened: _opened,
    ev.BuyInRequested: _reserved,
    ev.PlayerSeated: _seated,
    ev.SeatReleased: _released,
    ev.TopUpPending: _topped_up,
    ev.ChipsAdded: _added,
    ev.CashOutRequested: _cash_out,
    ev.SatOut: _sat_out,
    ev.SatIn: _sat_in,
    ev.ClockRestarted: _clock_restarted,
    ev.ClockExtended: _clock_extended,
    ev.PreferencesSet: _preferences,
    ev.LeaveRequested: _flag("leaving", True),
    ev.TableHandResolved: _resolved,
}

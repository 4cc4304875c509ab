"""Follows the range of a table's log that one hand spans, event by event, and keeps the table's account.

What it is given are recorded facts; it says what is wrong with them and, where the play itself was right, who is owed
what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rules_service.findings import Code
from rules_service.second_opinion import absence, ending, refunds, starting, time_bank, turns, wishes
from rules_service.second_opinion.sheet import Diverged, Due, Sheet
from stud_core import events as ev

_BETWEEN_HANDS = (ev.ChipsAdded, ev.TableHandVerified, ev.TableHandDisputed, ev.TableHandResolved)


def follow(sheet: Sheet, version: int, at_ms: int, events: Sequence[Any]) -> bool:
    """Take one commit; False when the log has become another game and nothing after it can be judged."""
    sheet.version, sheet.at_ms = version, at_ms
    try:
        for event in events:
            step = _STEPS.get(type(event))
            if step is not None:
                step(sheet, event)
            else:
                _other(sheet, event)
        wishes.kept(sheet)
    except Diverged as why:
        sheet.find(why.code)
        return False
    return True


def _other(sheet: Sheet, event: Any) -> None:
    """Everything that is not part of a hand's play: seats, presence, money that comes and goes."""
    kind = type(event)
    if kind in _BETWEEN_HANDS:
        sheet.need(sheet.due is Due.ANTES_OPENED or sheet.ended, Code.WRONG_ORDER)
    elif kind is ev.CashOutRequested and not sheet.ended:
        # Nobody is cashed out of a hand they are in.
        in_it = {sheet.account.seats[seat] for seat in sheet.paid}
        sheet.need(event.sitting_no not in in_it, Code.WRONG_ORDER)
    code = sheet.account.apply(event)
    if code is not None:
        raise Diverged(code)


_STEPS: dict[type, Callable[[Sheet, Any], None]] = {
    ev.AntesOpened: starting.antes_opened,
    ev.AntePosted: starting.ante_posted,
    ev.AnteMissed: starting.ante_missed,
    ev.AntesReturned: refunds.antes_returned,
    ev.HandStarted: starting.hand_started,
    ev.DealRequested: starting.deal_requested,
    ev.CardsDealt: starting.cards_dealt,
    ev.TurnStarted: turns.turn_started,
    ev.ClockRestarted: turns.clock_restarted,
    ev.ClockExtended: time_bank.clock_extended,
    ev.ActionTaken: turns.action_taken,
    ev.UncalledReturned: turns.uncalled_returned,
    ev.ShowPrompted: ending.show_prompted,
    ev.HandShown: ending.hand_shown,
    ev.HandMucked: ending.hand_mucked,
    ev.PotAwarded: ending.pot_awarded,
    ev.HandEnded: ending.hand_ended,
    ev.HandVoided: refunds.hand_voided,
    ev.PreferencesSet: wishes.preferences_set,
    ev.SatOut: absence.sat_out,
    ev.LeaveRequested: absence.leave_requested,
}

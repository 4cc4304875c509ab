"""Time chips and the time for a lost connection, counted from the events (B.18)."""

from __future__ import annotations

from rules_service.findings import Code
from rules_service.second_opinion.account import Place
from rules_service.second_opinion.sheet import Diverged, Due, Sheet
from stud_core import events as ev


def chips_due(sheet: Sheet, place: Place) -> int | None:
    """What a player begins a hand with."""
    ruleset = sheet.ruleset
    if not ruleset.time_bank_ms:
        return None
    full = 1 if ruleset.time_bank_chips is None else ruleset.time_bank_chips
    if place.played == 0:
        return full
    every = ruleset.time_bank_refill_hands
    back = 1 if every is not None and place.played % every == 0 else 0
    return min(full, place.chips + back)


def clock_extended(sheet: Sheet, event: ev.ClockExtended) -> None:
    sheet.need(sheet.due is Due.ACTION and event.turn_id == sheet.turn_id, Code.WRONG_ORDER)
    place = sheet.account.at(event.seat)
    if place is None or event.seat != sheet.due_seat or not sheet.deadline:
        raise Diverged(Code.WRONG_ORDER)
    if event.reason is ev.Extension.TIME_CHIP:
        more = sheet.ruleset.time_bank_ms
        sheet.need(sheet.at_ms <= sheet.deadline, Code.LATE_ACTION)
        sheet.need(more > 0 and place.chips > 0, Code.ILLEGAL_ACTION)
        told = (sheet.deadline + more, place.chips - 1)
    else:
        more = sheet.ruleset.reconnect_ms or 0
        sheet.need(sheet.at_ms >= sheet.deadline, Code.EARLY_TIMEOUT)
        sheet.need(more > 0 and event.seat not in sheet.protected, Code.ILLEGAL_ACTION)
        sheet.protected.add(event.seat)
        told = (sheet.at_ms + more, place.chips)
    sheet.check((event.deadline_ms, event.time_chips) == told, Code.WRONG_OPTIONS)
    sheet.extended += more
    sheet.deadline = event.deadline_ms
    sheet.account.apply(event)

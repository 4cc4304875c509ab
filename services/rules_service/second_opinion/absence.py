"""Sitting out, and losing the seat by it (B.17): when it has lasted too long, and who may be sent off."""

from __future__ import annotations

from rules_service.findings import Code
from rules_service.second_opinion.account import Place
from rules_service.second_opinion.sheet import Sheet
from stud_core import events as ev


def sat_out(sheet: Sheet, event: ev.SatOut) -> None:
    sheet.check(event.leaves_at_ms == _ends(sheet), Code.WRONG_OPTIONS)
    sheet.need(sheet.account.apply(event) is None, Code.NOT_DECIDED)


def _ends(sheet: Sheet) -> int:
    """When an absence that begins now lasts too long; 0 = never."""
    allowed = sheet.ruleset.sit_out_max_ms
    return 0 if allowed is None else sheet.at_ms + allowed


def clock_restarted(sheet: Sheet, event: ev.ClockRestarted) -> None:
    place = sheet.account.places.get(event.sitting_no or 0)
    sheet.need(place is not None and place.out and place.until > 0, Code.WRONG_ORDER)
    sheet.check(event.deadline_ms == _ends(sheet), Code.WRONG_OPTIONS)
    sheet.account.apply(event)


def leave_requested(sheet: Sheet, event: ev.LeaveRequested) -> None:
    place = sheet.account.places.get(event.sitting_no)
    if event.idle and place is not None:
        sheet.need(_is_idle(sheet, place), Code.NOT_DECIDED)
        sheet.need(sheet.ended or place.seat not in sheet.paid, Code.WRONG_ORDER)
    sheet.need(sheet.account.apply(event) is None, Code.NOT_DECIDED)


def _is_idle(sheet: Sheet, place: Place) -> bool:
    if not place.out or place.leaving:
        return False
    allowed = sheet.ruleset.sit_out_max_hands
    return 0 < place.until <= sheet.at_ms or (allowed is not None and place.missed >= allowed)

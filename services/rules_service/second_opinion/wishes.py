"""Preferences: what a player switches on while being asked for it is the answer (P6, P44)."""

from __future__ import annotations

from rules_service.findings import Code
from rules_service.second_opinion.account import Place
from rules_service.second_opinion.sheet import Due, Sheet
from stud_core import events as ev


def preferences_set(sheet: Sheet, event: ev.PreferencesSet) -> None:
    place = sheet.account.places.get(event.sitting_no)
    if place is not None and _answers(sheet, place, event):
        sheet.answering = place.seat
    sheet.need(sheet.account.apply(event) is None, Code.NOT_DECIDED)


def _answers(sheet: Sheet, place: Place, event: ev.PreferencesSet) -> bool:
    """Whether the wish is new, its question open, and its time not over; in hands of the first engine it is not."""
    if sheet.engine is ev.Engine.FIRST or 0 < sheet.asked_until < sheet.at_ms:
        return False
    if sheet.due is Due.ANTES:
        return event.auto_post and not place.auto_post and place.seat in sheet.asked
    return event.muck_losing and not place.muck_losing and place.seat in sheet.prompted and len(sheet.live) > 1


def kept(sheet: Sheet) -> None:
    """At the end of a commit: the answer came with the wish."""
    sheet.need(not sheet.answering, Code.WRONG_ANTE if sheet.due is Due.ANTES else Code.WRONG_SHOW)

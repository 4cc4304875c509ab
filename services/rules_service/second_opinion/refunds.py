"""Everything goes back: an ante round that came to nothing, and a void hand (B.17; architecture.md, "A void")."""

from __future__ import annotations

from collections.abc import Iterable

from rules_service.findings import Code
from rules_service.second_opinion.sheet import Due, Sheet
from stud_core import events as ev


def antes_returned(sheet: Sheet, event: ev.AntesReturned) -> None:
    sheet.need(sheet.due is Due.ANTES, Code.WRONG_ORDER)
    sheet.need(_are_right(sheet, event.refunds), Code.WRONG_REFUND)
    sheet.reset()


def hand_voided(sheet: Sheet, event: ev.HandVoided) -> None:
    sheet.need(Due.FIRST_DEAL <= sheet.due <= Due.AWARDS and not sheet.decided, Code.WRONG_ORDER)
    sheet.check(event.from_version == sheet.from_version, Code.WRONG_RANGE)
    sheet.need(_are_right(sheet, event.refunds), Code.WRONG_REFUND)
    sheet.account.settle(event.hand_no, {}, sheet.before())
    sheet.voided = True
    sheet.close()


def _are_right(sheet: Sheet, refunds: Iterable[ev.Refund]) -> bool:
    """Whether every contribution goes back exactly once and every stack is what it was before."""
    given: dict[int, int] = {}
    for refund in refunds:
        if refund.seat in given or refund.seat not in sheet.paid or refund.stack != sheet.start[refund.seat]:
            return False
        given[refund.seat] = refund.amount
    return all(given.get(seat, 0) == amount for seat, amount in sheet.paid.items())

"""Showing, paying, and the result of a hand (P37-P47, W22-W25; B.14, B.15)."""

from __future__ import annotations

from rules_service.findings import Code
from rules_service.second_opinion import ranking
from rules_service.second_opinion.pots import Pot, build_pots, pay, rake_due
from rules_service.second_opinion.sheet import Due, Figures, Sheet
from stud_core import events as ev

SHOWN, MUCKED = "shown", "mucked"


def reckon(sheet: Sheet) -> None:
    """Rank the hands of those who are still in and work out every pot."""
    pots = build_pots(sheet.paid, sheet.live)
    rake = rake_due(sheet.paid, sheet.ruleset, ended_on_third=sheet.street == 3)
    common = [] if sheet.community is None else [sheet.community]
    strengths: dict[int, ranking.Strength] = {}
    if len(sheet.live) > 1:
        strengths = {s: ranking.best_of([*sheet.down[s], *sheet.up[s], *common]) for s in sheet.live}
    highest = {seat: max([*sheet.down[seat], *sheet.up[seat]]) for seat in sheet.live}
    sheet.payments = pay(pots, rake, strengths, sheet.order, sheet.ruleset.odd_units, highest)
    sheet.next_pot = len(pots) - 1
    if strengths:
        sheet.must_show = {_first_to_show(sheet, pots)}
        for pot in pots:
            if len(pot.eligible) > 1:
                best = max(strengths[seat] for seat in pot.eligible)
                sheet.must_show |= {seat for seat in pot.eligible if strengths[seat] == best}


def _first_to_show(sheet: Sheet, pots: list[Pot]) -> int:
    """The last to bet or raise, else whoever acted first; of those in the last contested side pot (P37-P40; B.15)."""
    at = sheet.order.index(sheet.round.aggressor or sheet.round.first)
    clockwise = [seat for seat in sheet.order[at:] + sheet.order[:at] if seat in sheet.live]
    contested = [pot for pot in pots if len(pot.eligible) > 1]
    return next(seat for seat in clockwise if not contested or seat in contested[-1].eligible)


def show_prompted(sheet: Sheet, event: ev.ShowPrompted) -> None:
    _may_tell(sheet, event.seat)
    uncontested = len(sheet.live) == 1
    kind = ev.PromptKind.UNCALLED_WINNER if uncontested else ev.PromptKind.LOSER
    sheet.check(event.kind is kind and event.seat not in sheet.must_show, Code.WRONG_SHOW)
    sheet.prompted.add(event.seat)
    sheet.asked_until = event.deadline_ms


def hand_shown(sheet: Sheet, event: ev.HandShown) -> None:
    _may_tell(sheet, event.seat)
    sheet.need(list(event.cards) == sheet.down[event.seat], Code.WRONG_CARD)
    # An uncalled winner shows only by choice; so does a loser who need not show (P41-P45).
    sheet.check(event.seat in sheet.must_show | sheet.prompted, Code.WRONG_SHOW)
    sheet.told[event.seat] = SHOWN
    sheet.prompted.discard(event.seat)


def hand_mucked(sheet: Sheet, event: ev.HandMucked) -> None:
    _may_tell(sheet, event.seat)
    sheet.check(event.seat not in sheet.must_show, Code.WRONG_SHOW)
    sheet.told[event.seat] = MUCKED
    sheet.prompted.discard(event.seat)
    sheet.answering = 0 if sheet.answering == event.seat else sheet.answering


def _may_tell(sheet: Sheet, seat: int) -> None:
    sheet.need(sheet.due is Due.AWARDS, Code.WRONG_SHOW)
    sheet.need(not sheet.owed[0], Code.WRONG_UNCALLED)
    sheet.need(seat in sheet.live and seat not in sheet.told, Code.WRONG_SHOW)


def pot_awarded(sheet: Sheet, event: ev.PotAwarded) -> None:
    sheet.need(sheet.due is Due.AWARDS, Code.WRONG_ORDER)
    sheet.need(not sheet.owed[0], Code.WRONG_UNCALLED)
    # The last side pot is settled first (B.14).
    sheet.need(event.pot_no == sheet.next_pot, Code.WRONG_POT)
    payment = sheet.payments[sheet.next_pot]
    sheet.next_pot -= 1
    sheet.check(event.amount == payment.amount, Code.WRONG_POT)
    sheet.check(event.rake == payment.rake, Code.WRONG_RAKE)
    shares = {share.seat: share.amount for share in event.shares}
    sheet.check(shares == payment.shares and len(shares) == len(event.shares), Code.WRONG_AWARD)
    for seat, amount in payment.shares.items():
        sheet.stacks[seat] += amount
    for share in event.shares:
        if payment.shares.get(share.seat) == share.amount:
            sheet.check(share.stack == sheet.stacks[share.seat], Code.WRONG_STACK)


def hand_ended(sheet: Sheet, event: ev.HandEnded) -> None:
    sheet.need(sheet.due is Due.AWARDS, Code.WRONG_ORDER)
    sheet.need(not sheet.owed[0], Code.WRONG_UNCALLED)
    unpaid, sheet.next_pot = sheet.next_pot + 1, -1
    for payment in sheet.payments[:unpaid]:
        sheet.find(Code.WRONG_POT)
        for seat, amount in payment.shares.items():
            sheet.stacks[seat] += amount
    sheet.check(not sheet.prompted and set(sheet.told) == set(sheet.live), Code.WRONG_SHOW)
    figures = _figures(sheet)
    sheet.check(event.from_version == sheet.from_version, Code.WRONG_RANGE)
    sheet.check(event.stacks == figures.stacks, Code.WRONG_STACK)
    sheet.check(event.deltas == figures.deltas, Code.WRONG_DELTA)
    sheet.check(event.rake == figures.rake, Code.WRONG_RAKE)
    sheet.check(sum([d.delta for d in event.deltas]) + event.rake == 0, Code.NOT_CONSERVED)
    sheet.figures = figures
    sheet.account.settle(event.hand_no, {s.sitting_no: s.stack for s in figures.stacks}, sheet.before())
    sheet.close()


def _figures(sheet: Sheet) -> Figures:
    deltas = [ev.Delta(p.sitting_no, p.account, sheet.stacks[p.seat] - sheet.start[p.seat]) for p in sheet.dealt_in]
    stacks = [ev.SeatStack(p.seat, p.sitting_no, sheet.stacks[p.seat]) for p in sheet.dealt_in]
    return Figures(tuple(deltas), sum([payment.rake for payment in sheet.payments]), tuple(stacks))

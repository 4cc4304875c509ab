"""Antes, who is dealt in, and the cards of every street (B.12, B.17; P12, P18, P26-P36, W20-W21, W26)."""

from __future__ import annotations

from rules_service.findings import Code
from rules_service.second_opinion import turns
from rules_service.second_opinion.sheet import Due, Sheet
from rules_service.second_opinion.time_bank import chips_due
from stud_core import events as ev
from stud_core.ruleset import DealOrigin


def antes_opened(sheet: Sheet, event: ev.AntesOpened) -> None:
    sheet.need(sheet.due is Due.ANTES_OPENED and not sheet.ended, Code.WRONG_ORDER)
    sheet.check(event.hand_no == sheet.account.last_hand + 1, Code.HAND_SKIPPED)
    seats = event.prompted + event.posting
    sheet.need(len(set(seats)) == len(seats), Code.WRONG_START)
    for seat in seats:
        place = sheet.account.at(seat)
        sheet.need(place is not None, Code.WRONG_START)
        if place is not None:
            sheet.need(place.stack > 0 and not place.out and not place.leaving, Code.WRONG_START)
            sheet.stacks[seat] = sheet.start[seat] = place.stack
    clock = sheet.ruleset.ante_clock_ms if event.prompted else 0
    right = (event.prompt_id, event.deadline_ms) == (sheet.version, sheet.at_ms + clock if clock else 0)
    sheet.check(right, Code.WRONG_OPTIONS)
    sheet.engine = event.engine or ev.Engine.FIRST
    sheet.asked = set(seats)
    sheet.asked_until = event.deadline_ms
    sheet.prompt_id = event.prompt_id
    sheet.due = Due.ANTES


def ante_posted(sheet: Sheet, event: ev.AntePosted) -> None:
    seat = event.seat
    sheet.need(sheet.due is Due.ANTES and seat in sheet.asked, Code.WRONG_ORDER)
    amount = min(sheet.config.ante, sheet.stacks[seat])
    sheet.need(event.amount == amount, Code.WRONG_ANTE)
    sheet.asked.discard(seat)
    sheet.answering = 0 if sheet.answering == seat else sheet.answering
    sheet.paid[seat] = amount
    sheet.stacks[seat] -= amount
    sheet.need(event.stack == sheet.stacks[seat], Code.WRONG_STACK)
    sheet.check(event.all_in == (sheet.stacks[seat] == 0), Code.WRONG_ANTE)


def ante_missed(sheet: Sheet, event: ev.AnteMissed) -> None:
    sheet.need(sheet.due is Due.ANTES and event.seat in sheet.asked, Code.WRONG_ORDER)
    sheet.asked.discard(event.seat)


def hand_started(sheet: Sheet, event: ev.HandStarted) -> None:
    posted = sorted(sheet.paid)
    sheet.need(sheet.due is Due.ANTES and not sheet.asked and len(posted) > 1, Code.WRONG_ORDER)
    button, order = _deal_order(sheet, posted)
    sheet.need(event.button == button, Code.WRONG_START)
    sheet.need(tuple([player.seat for player in event.dealt_in]) == order, Code.WRONG_START)
    for player in event.dealt_in:
        place = sheet.account.at(player.seat)
        known = (place.sitting_no, place.account) if place is not None else None
        sheet.need(known == (player.sitting_no, player.account), Code.WRONG_START)
        sheet.need(player.stack == sheet.stacks[player.seat], Code.WRONG_STACK)
        if place is not None:
            sheet.check(player.time_chips == chips_due(sheet, place), Code.WRONG_START)
    right = (sheet.account.last_hand + 1, sheet.ruleset.version)
    sheet.check((event.hand_no, event.rules_version) == right, Code.WRONG_START)
    sheet.dealt_in, sheet.order, sheet.live = event.dealt_in, order, list(order)
    sheet.account.button = button or sheet.account.button
    sheet.account.begin(event.dealt_in)
    sheet.due = Due.FIRST_DEAL


def _deal_order(sheet: Sheet, posted: list[int]) -> tuple[int, tuple[int, ...]]:
    """From the lowest seat (P11), or from the left of a button that has moved on by one player (W26).

    It has moved from where it was in the last hand; of those that had a card, since that is asked (B.21).
    """
    if sheet.ruleset.deal_origin is DealOrigin.FIXED:
        return 0, tuple(posted)
    known = sheet.account.button if sheet.engine is ev.Engine.FIRST else sheet.account.dealt_button
    last = known or posted[-1] - 1
    round_the_table = [seat % 8 + 1 for seat in range(last, last + 8)]
    button = next(seat for seat in round_the_table if seat in posted)
    left_of_it = [seat % 8 + 1 for seat in range(button, button + 8)]
    return button, tuple([seat for seat in left_of_it if seat in posted])


def deal_requested(sheet: Sheet, event: ev.DealRequested) -> None:
    first = sheet.due is Due.FIRST_DEAL
    sheet.need(first or sheet.due is Due.DEAL, Code.EARLY_DEAL)
    sheet.need(not sheet.owed[0], Code.WRONG_UNCALLED)
    sheet.street = 3 if first else sheet.street + 1
    sheet.deal_no += 1
    plan = sheet.stub.plan(sheet.ruleset, sheet.street, sheet.live)
    sheet.need(event.burn == plan.burn, Code.WRONG_BURN)
    asked = (event.deal_no, event.street, event.mode, event.targets)
    sheet.need(asked == (sheet.deal_no, plan.street, plan.mode, plan.targets), Code.WRONG_DEAL)
    sheet.plan = plan
    sheet.taken = sheet.stub.take(plan, sheet.deck.river_rank)
    sheet.requested[event.deal_no] = sheet.version
    sheet.walk[event.deal_no] = sheet.taken
    sheet.due = Due.CARDS


def cards_dealt(sheet: Sheet, event: ev.CardsDealt) -> None:
    sheet.need(sheet.due is Due.CARDS and event.deal_no == sheet.deal_no, Code.EARLY_DEAL)
    sheet.need(event.street == sheet.street, Code.WRONG_DEAL)
    taken, card = sheet.taken, sheet.deck.order
    up = [(seat, card[pos]) for seat, pos in taken.up]
    sheet.need([(c.seat, c.card) for c in event.up] == up, Code.WRONG_CARD)
    sheet.need([(c.seat, c.pos) for c in event.down] == list(taken.down), Code.WRONG_CARD)
    common = None if taken.community is None else card[taken.community]
    sheet.need(event.community == common, Code.WRONG_CARD)
    for seat, shown in up:
        sheet.up[seat].append(shown)
    for seat, pos in taken.down:
        sheet.down[seat].append(card[pos])
    sheet.community = common
    sheet.account.dealt_button = sheet.account.button
    answer = sheet.deals.get(event.deal_no)
    sheet.need(answer is not None, Code.EARLY_DEAL)
    if answer is not None:
        same = (answer.up, answer.down, answer.community) == (event.up, event.down, event.community)
        sheet.need(same, Code.WRONG_CARD)
        sheet.need(answer.root == event.root, Code.WRONG_ROOT)
    turns.open_round(sheet)

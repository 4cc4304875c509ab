"""Whose turn it is, what they may do, what they did, and when the round is over."""

from __future__ import annotations

from rules_service.findings import Code
from rules_service.second_opinion import absence, ending, ranking
from rules_service.second_opinion.betting import Choice, Round
from rules_service.second_opinion.pots import uncalled
from rules_service.second_opinion.sheet import Due, Sheet
from stud_core import events as ev
from stud_core.events import By, Verb

RIVER = 7


def open_round(sheet: Sheet) -> None:
    """Begin the betting of a street whose cards lie on the table."""
    sheet.round = Round(sheet.config, sheet.street, sheet.order, sheet.live)
    pairs = {seat for seat in sheet.live if sheet.street == 4 and _is_pair(sheet.up[seat])}
    opener = min(sheet.order, key=lambda seat: sheet.up[seat][0]) if sheet.street == 3 else _high_board(sheet)
    sheet.round.open(sheet.stacks, opener, pairs)
    _go_on(sheet, after=0)


def _is_pair(up: list[int]) -> bool:
    return up[0] >> 2 == up[1] >> 2


def _high_board(sheet: Sheet) -> int:
    """The highest board of a live player, the first in deal order among equals (P19-P21; B.10, B.13)."""
    if sheet.community is not None and sheet.ruleset.community_counts_for_first:
        common = sheet.community
        return max(sheet.live, key=lambda seat: ranking.five([*sheet.up[seat], common]))
    return max(sheet.live, key=lambda seat: ranking.board(sheet.up[seat]))


def _go_on(sheet: Sheet, after: int) -> None:
    """Find out what the rules want after an action, or after the cards (``after`` 0)."""
    betting = sheet.round
    sheet.due_seat = 0
    if len(sheet.live) > 1:
        sheet.due_seat = betting.next_seat(sheet.stacks, after)
    if sheet.due_seat:
        sheet.due = Due.TURN
        return
    sheet.owed = uncalled(betting.put, sheet.live)
    if len(sheet.live) == 1 or sheet.street == RIVER:
        sheet.due = Due.AWARDS
        if not sheet.owed[0]:
            ending.reckon(sheet)
    else:
        sheet.due = Due.DEAL


def turn_started(sheet: Sheet, event: ev.TurnStarted) -> None:
    seat = event.seat
    sheet.need(sheet.due is Due.TURN and seat == sheet.due_seat, Code.WRONG_ORDER)
    betting = sheet.round
    sheet.choices = betting.choices(sheet.stacks, seat)
    put, stack = betting.put[seat], sheet.stacks[seat]
    offered = {(o.verb, o.to, o.size): (o.amount, o.all_in) for o in event.options}
    mine = {c: (c[1] - put, c[1] - put == stack and c[1] > put) for c in sheet.choices}
    sheet.check(offered == mine and len(offered) == len(event.options), Code.WRONG_OPTIONS)
    clock = sheet.ruleset.action_clock_ms
    price = min(max(betting.price - put, 0), stack)
    told = (event.turn_id, event.to_call, event.deadline_ms)
    sheet.check(told == (sheet.version, price, sheet.at_ms + clock if clock else 0), Code.WRONG_OPTIONS)
    sheet.turn_id = event.turn_id
    sheet.deadline = event.deadline_ms
    sheet.extended = 0
    sheet.due = Due.ACTION


def clock_restarted(sheet: Sheet, event: ev.ClockRestarted) -> None:
    if event.sitting_no is not None:
        absence.clock_restarted(sheet, event)
    elif event.turn_id is not None:
        sheet.need(sheet.due is Due.ACTION and event.turn_id == sheet.turn_id, Code.WRONG_ORDER)
        right = event.deadline_ms == sheet.at_ms + sheet.ruleset.action_clock_ms + sheet.extended
        sheet.check(right, Code.WRONG_OPTIONS)
        sheet.deadline = event.deadline_ms
    else:
        sheet.asked_until = event.deadline_ms


def action_taken(sheet: Sheet, event: ev.ActionTaken) -> None:
    seat = event.seat
    sheet.need(sheet.due in {Due.TURN, Due.ACTION} and seat == sheet.due_seat, Code.WRONG_ORDER)
    if sheet.due is Due.TURN:
        # Only a player who leaves, or is away where the house folds them, acts without being asked.
        sheet.need(event.by is By.LEAVING, Code.WRONG_ORDER)
        sheet.choices = sheet.round.choices(sheet.stacks, seat)
        sheet.turn_id = sheet.version
    sheet.need(event.turn_id == sheet.turn_id, Code.WRONG_ORDER)
    choice = (event.verb, event.to, event.size)
    is_full = sheet.choices.get(choice)
    sheet.need(is_full is not None, Code.ILLEGAL_ACTION)
    if is_full is None:
        return
    _check_origin(sheet, event, choice)
    amount = event.to - sheet.round.put[seat]
    sheet.need(event.amount == amount and event.counts == is_full, Code.ILLEGAL_ACTION)
    sheet.stacks[seat] -= amount
    sheet.paid[seat] += amount
    sheet.need(event.stack == sheet.stacks[seat], Code.WRONG_STACK)
    sheet.need(event.all_in == (amount > 0 and sheet.stacks[seat] == 0), Code.ILLEGAL_ACTION)
    if event.verb is Verb.FOLD:
        sheet.live.remove(seat)
    sheet.round.act(sheet.stacks, seat, choice, is_full=is_full)
    sheet.turn_id = sheet.deadline = 0
    _go_on(sheet, after=seat)


def _check_origin(sheet: Sheet, event: ev.ActionTaken, choice: Choice) -> None:
    """B.18, B.21: a timeout is not early and does the least; a leaver does the same; a player is not late."""
    place = sheet.account.at(event.seat)
    if event.by is By.TIMEOUT:
        sheet.need(0 < sheet.deadline <= sheet.at_ms, Code.EARLY_TIMEOUT)
        sheet.need(choice == _least(sheet), Code.ILLEGAL_ACTION)
    elif event.by is By.LEAVING:
        leaving = place is not None and place.leaving
        away = place is not None and place.away and sheet.ruleset.away_folds_now
        sheet.need(leaving or away, Code.ILLEGAL_ACTION)
        sheet.need(choice == _least(sheet, fold=not leaving), Code.ILLEGAL_ACTION)
    else:
        sheet.need(not sheet.deadline or sheet.at_ms <= sheet.deadline, Code.LATE_ACTION)
        sheet.need(event.by is By.PLAYER or sheet.ruleset.pre_actions, Code.ILLEGAL_ACTION)


def _least(sheet: Sheet, *, fold: bool = False) -> Choice | None:
    """What is done for a player who does nothing: check if that is free, else fold; a forced bring-in is posted."""
    by_verb = {choice[0]: choice for choice in sheet.choices}
    if Verb.FOLD not in by_verb:
        return by_verb.get(Verb.BRING_IN)
    return by_verb[Verb.FOLD] if fold else by_verb.get(Verb.CHECK, by_verb[Verb.FOLD])


def uncalled_returned(sheet: Sheet, event: ev.UncalledReturned) -> None:
    sheet.need(sheet.due in {Due.DEAL, Due.AWARDS}, Code.WRONG_ORDER)
    sheet.need((event.seat, event.amount) == sheet.owed and event.amount > 0, Code.WRONG_UNCALLED)
    seat, amount = sheet.owed
    sheet.owed = (0, 0)
    sheet.stacks[seat] += amount
    sheet.paid[seat] -= amount
    sheet.need(event.stack == sheet.stacks[seat], Code.WRONG_STACK)
    if sheet.due is Due.AWARDS:
        ending.reckon(sheet)

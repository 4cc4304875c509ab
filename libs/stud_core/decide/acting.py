"""A player's action and all that follows from it: the next turn, the next street, the end of the hand."""

from __future__ import annotations

from typing import Final

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.betting import chips_behind, chosen_of, counts, default_action, legal_options, next_to_act, options_of
from stud_core.commands import Context
from stud_core.decide import showing
from stud_core.decide.draft import Answer, Draft
from stud_core.decide.explain import why_illegal
from stud_core.pots import uncalled
from stud_core.rejection import Reason, Rejection
from stud_core.river import RIVER, river_plan
from stud_core.ruleset import TableConfig
from stud_core.state import Hand, Sit, Table

# Looking up a member of an enum costs as much as making an event; this is the hot path.
_BY_PLAYER: Final = ev.By.PLAYER
_BY_PRE_ACTION: Final = ev.By.PRE_ACTION
_BRING_IN: Final = ev.Verb.BRING_IN
_NORMAL: Final = ev.DealMode.NORMAL
_COMMUNITY: Final = ev.DealMode.COMMUNITY
_LEAVING: Final = Sit.LEAVING
_REQUESTED: Final = ev.OutReason.REQUESTED


def act(state: Table, command: cmd.Act, ctx: Context) -> Answer:
    """Take the turn of the account (P52-P55, W29)."""
    hand = state.hand
    if hand is None:
        return _no_turn(state, command.account)
    seat = hand.turn_seat
    if not seat or state.sittings[state.seats[seat]].account != command.account:
        return _no_turn(state, command.account)
    if command.turn_id != hand.turn_id:
        text = f"the turn is {hand.turn_id}, not {command.turn_id}"
        return Rejection(Reason.STALE_TURN, text, turn_id=hand.turn_id)
    if hand.deadline_ms and ctx.now_ms > hand.deadline_ms:
        return Rejection(Reason.DEADLINE_PASSED, "the action came after the deadline", "B.18")
    if command.by_pre_action and not state.rules.ruleset.pre_actions:
        return Rejection(Reason.PRE_ACTION_NOT_ALLOWED, "this table has no bet-ahead: wait for the turn", "B.16")
    option = chosen_of(hand, hand.options, command.verb, command.to, command.size)
    if option is None:
        rule, text = why_illegal(state, hand, command)
        return Rejection(Reason.ILLEGAL_ACTION, text, rule, hand.options)
    draft = Draft(state, ctx)
    take(draft, seat, option, command.turn_id, _BY_PRE_ACTION if command.by_pre_action else _BY_PLAYER)
    go_on(draft, seat)
    return draft


def _no_turn(state: Table, account: str) -> Rejection:
    if state.of(account) is None:
        return Rejection(Reason.NOT_SEATED, "the account does not sit at this table")
    if state.hand is None:
        return Rejection(Reason.NO_HAND, "no hand is running")
    return Rejection(Reason.NOT_YOUR_TURN, "it is not this account's turn")


def take(draft: Draft, seat: int, option: ev.Option, turn_id: int, by: ev.By) -> None:
    """Emit the action that an option stands for."""
    state = draft.state
    verb, amount = option.verb, option.amount
    stack = state.sittings[state.seats[seat]].stack - amount
    steps = verb >= _BRING_IN and counts(state.running, state.rules, option)
    draft.emit(ev.ActionTaken(turn_id, seat, verb, amount, option.to, option.size, option.all_in, steps, stack, by))


def act_for(draft: Draft, seat: int, turn_id: int) -> None:
    """Act for a player who leaves or is away: check if free, else fold; post the bring-in (B.18, B.21).

    A player who pressed Sit Out folds even where checking is free (58 Pa. Code 812a.9(b)(2), knob ``away_folds_now``);
    one who only missed the clock has turns as before (B.18).
    """
    options = legal_options(draft.state, seat)
    option = default_action(options)
    if draft.state.at(seat).status is not Sit.LEAVING and option.verb is ev.Verb.CHECK:
        option = options[0]
    take(draft, seat, option, turn_id, ev.By.LEAVING)


def open_betting(draft: Draft) -> None:
    """Begin a street's betting, or go on dealing where fewer than two players have chips (B.9)."""
    hand = draft.state.running
    if chips_behind(hand) < 2:
        _close_round(draft)
    else:
        _give_turn(draft, hand.order.index(hand.first))


def go_on(draft: Draft, seat: int) -> None:
    """Go on after this seat's action: the next turn, the next street, the showdown, or the last player's win."""
    _give_turn(draft, draft.state.running.order.index(seat) + 1)


def _give_turn(draft: Draft, start: int) -> None:
    """Give the turn to the next player from index ``start`` of the deal order; a leaver acts at once."""
    state, ctx = draft.state, draft.ctx
    hand: Hand = state.hand  # type: ignore[assignment]
    config: TableConfig = state.config  # type: ignore[assignment]
    ruleset = config.ruleset
    while True:
        seat = next_to_act(hand, start)
        if not seat or hand.live.count(True) == 1:
            _end_round(draft, hand)
            return
        sitting = state.sittings[state.seats[seat]]
        if sitting.status is not _LEAVING and not (sitting.out_reason is _REQUESTED and ruleset.away_folds_now):
            break
        act_for(draft, seat, ctx.version)
        start = hand.order.index(seat) + 1
    price, stack = hand.level - hand.bet[seat], sitting.stack
    deadline = draft.deadline(ruleset.action_clock_ms)
    options = options_of(state, hand, config, seat)
    draft.emit(ev.TurnStarted(ctx.version, seat, min(price, stack), deadline, options))


def _end_round(draft: Draft, hand: Hand) -> None:
    """Nobody owes the round a decision any more, or only one player is left."""
    if hand.live.count(True) == 1:
        _return_uncalled(draft, hand)
        showing.win_uncontested(draft)
    else:
        _close_round(draft)


def _return_uncalled(draft: Draft, hand: Hand) -> None:
    """Give back what nobody matched in this round; it was never won, and is not raked (B.14, B.21)."""
    seat, amount = uncalled(hand.bet, hand.live)
    if amount:
        draft.emit(ev.UncalledReturned(seat, amount, draft.state.at(seat).stack + amount))


def _close_round(draft: Draft) -> None:
    """End a betting round: ask for the next street, or leave the table wanting a showdown."""
    state = draft.state
    hand = state.running
    _return_uncalled(draft, hand)
    if hand.street == RIVER:
        return
    street = hand.street + 1
    live = hand.live
    targets = tuple([seat for seat in hand.order if live[seat]])
    mode, burn = _NORMAL, state.rules.ruleset.burns
    if street == RIVER:
        plan = river_plan(state.rules.ruleset, (*hand.counts, len(targets)))
        mode, burn = plan.mode, plan.burn
        if mode is _COMMUNITY:
            targets = ()
    draft.emit(ev.DealRequested(hand.hand_no, hand.deal_no + 1, street, mode, burn, targets))

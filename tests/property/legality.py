"""An action is accepted if and only if it is one of those offered: every verb with every plausible total and size."""

from __future__ import annotations

from itertools import product

import msgspec

from stud_core import commands as cmd
from stud_core.decide import decide
from stud_core.events import ActionTaken, Option, Size, Verb
from stud_core.rejection import Reason, Rejection
from stud_core.state import Hand
from tests.property.watched_table import WatchedTable

HUGE = 10**15


def totals(table: WatchedTable, hand: Hand) -> list[int | None]:
    """None, what is offered and one beside it, the price and the bets above it, nonsense."""
    offered = {option.to for option in hand.options}
    near = {max(offered) + 1, max(offered) - 1}
    small, big = table.config.small_bet, table.config.big_bet
    grid = {hand.level, hand.level + small, hand.level + big}
    return [None, *sorted(offered | near | grid | {0, -small, HUGE})]


def meant(hand: Hand, verb: Verb, to: int | None, size: Size | None) -> Option | None:
    """The option that an action names: the total where it is said, and the size; never a guess between two.

    Where there is no choice of sizes, the one in force may be named: low up to fourth street, then high (P61, P63).
    """
    in_force = Size.LOW if hand.street in {3, 4} else Size.HIGH
    fitting = [
        option
        for option in hand.options
        if option.verb is verb and to in {None, option.to} and size in {None, option.size or in_force}
    ]
    return fitting[0] if len(fitting) == 1 else None


def check_every_action(table: WatchedTable) -> None:
    """Try them all on the open turn without taking any."""
    table.sound = False
    state, hand, ctx = table.state, table.state.running, table.ctx()
    account = state.at(hand.turn_seat).account
    photo = msgspec.msgpack.encode(state)
    for verb, to, size in product(Verb, totals(table, hand), (None, Size.LOW, Size.HIGH)):
        option = meant(hand, verb, to, size)
        answer = decide(state, cmd.Act(account, hand.turn_id, verb, to, size), ctx)
        if isinstance(answer, Rejection):
            assert option is None, f"refused {verb!r} {to} {size!r}, which is {option}: {answer}"
            assert answer.reason is Reason.ILLEGAL_ACTION
            assert answer.legal == hand.options
        else:
            assert option is not None, f"accepted {verb!r} {to} {size!r} beside {hand.options}"
            taken = answer[0]
            assert isinstance(taken, ActionTaken)
            assert (taken.verb, taken.amount, taken.to, taken.size) == (verb, option.amount, option.to, option.size)
    assert msgspec.msgpack.encode(state) == photo, "trying an action changed the table"
    table.sound = True

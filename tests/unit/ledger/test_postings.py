"""The double entry behind each fact, and what accounts are called."""

import pytest

from stud_core.events import Delta
from stud_core.ledger import events as ev
from stud_core.ledger.events import Posting
from stud_core.ledger.evolve import fold
from stud_core.ledger.names import CASHIER, RAKE, escrow, guarded, player
from stud_core.ledger.postings import move, postings_of

MOVES = [
    (ev.Deposited("ann", 5, "", "r", "c"), {"house:cashier": -5, "player:ann": 5}),
    (ev.Withdrawn("ann", 5, "", "r", "c"), {"house:cashier": 5, "player:ann": -5}),
    (ev.BuyInFunded("t", 1, "ann", 5), {"player:ann": -5, "escrow:t:1": 5}),
    (ev.TopUpFunded("t", 1, 2, "ann", 5), {"player:ann": -5, "escrow:t:1": 5}),
    (ev.CashedOut("t", 1, "ann", 5), {"player:ann": 5, "escrow:t:1": -5}),
    (ev.CashedOut("t", 1, "ann", 0), {}),
    (ev.HandSettled("t", 1, 9, (Delta(1, "ann", -5), Delta(2, "bob", 4), Delta(3, "cy", 0)), 1),
     {"escrow:t:1": -5, "escrow:t:2": 4, "house:rake": 1}),
    (ev.HandSettled("t", 1, 9, (), 0), {}),
    (ev.Adjusted("p", (Posting("house:rake", -1), Posting("player:ann", 1)), ("a", "b"), ""),
     {"house:rake": -1, "player:ann": 1}),
]  # fmt: skip

STILL = [
    ev.AccountOpened("ann", "r"),
    ev.BuyInDeclined("t", 1, "ann", "why"),
    ev.TopUpDeclined("t", 1, 1, "ann", "why"),
    ev.SettlementBlocked("t", 1, 9, "why"),
    ev.CashOutBlocked("t", 1, "ann", 5, 6),
    ev.AccountFrozen("ann", "op", "why"),
    ev.AccountUnfrozen("ann", "op", "why"),
    ev.AdjustmentProposed("p", (Posting("house:rake", -1), Posting("player:ann", 1)), "", 0, "op", ""),
]


@pytest.mark.parametrize(("event", "lines"), MOVES, ids=lambda value: type(value).__name__)
def test_every_movement_has_lines_that_sum_to_zero(event: object, lines: dict[str, int]):
    got = postings_of(event)
    assert {line.account: line.amount for line in got} == lines
    assert sum(line.amount for line in got) == 0


@pytest.mark.parametrize("event", STILL, ids=lambda value: type(value).__name__)
def test_everything_else_moves_nothing(event: object):
    assert postings_of(event) == ()


def test_nothing_is_moved_by_0():
    assert move("a", "b", 0) == ()


def test_only_players_and_escrows_may_not_be_overdrawn():
    assert guarded(player("ann"))
    assert guarded(escrow("t", 1))
    assert not guarded(CASHIER)
    assert not guarded(RAKE)


def test_a_ledger_is_what_its_log_says():
    state = fold([(1, [ev.AccountOpened("ann", "r")]), (2, [ev.Deposited("ann", 5, "", "r", "c")])])
    assert (state.version, state.balance("player:ann"), state.accounts) == (2, 5, {"ann": 1})
    assert state.balance("player:nobody") == 0

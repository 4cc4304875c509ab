"""Verified hands: the referee's figures, strictly in hand order per table, or nothing moves.

See architecture.md, "The end of a hand".
"""

from stud_core.events import Delta
from stud_core.ledger import events as ev
from tests.support.ledger import T, Till, settlement


def two_seated() -> Till:
    till = Till(ann=500, bob=500)
    till.seat(1, "ann")
    till.seat(2, "bob")
    return till


def test_a_hand_moves_net_results_and_rake():
    till = two_seated()
    events = till.settle(1, (1, "ann", -100), (2, "bob", 95), rake=5)
    assert events == [ev.HandSettled(T, 1, 101, (Delta(1, "ann", -100), Delta(2, "bob", 95)), 5)]
    assert till.balances == {f"escrow:{T}:1": 400, f"escrow:{T}:2": 595, "house:rake": 5, "house:cashier": -1000}
    till.check()


def test_a_hand_is_settled_once():
    till = two_seated()
    till.settle(1, (1, "ann", -100), (2, "bob", 100))
    assert till.settle(1, (1, "ann", -100), (2, "bob", 100)) == []
    assert till.settle(1) == []
    assert till.money(f"escrow:{T}:1") == 400


def test_a_void_is_settled_with_nothing_so_that_hand_order_has_no_gap():
    till = two_seated()
    assert till.settle(1) == [ev.HandSettled(T, 1, 101, (), 0)]
    till.settle(2, (1, "ann", 10), (2, "bob", -10))
    assert till.money(f"escrow:{T}:1") == 510


def test_tables_are_settled_independently():
    till = Till(ann=1000, bob=1000)
    for table in (T, "t-2"):
        till.seat(1, "ann", table=table)
        till.seat(2, "bob", table=table)
    till.settle(1, (1, "ann", -50), (2, "bob", 50))
    assert len(till.settle(1, (1, "ann", 50), (2, "bob", -50), table="t-2")) == 1


def test_an_escrow_may_be_emptied_and_the_empty_one_is_cashed_out():
    till = two_seated()
    till.settle(1, (1, "ann", -500), (2, "bob", 500))
    assert till.leave(1, "ann", 0, 1) == [ev.CashedOut(T, 1, "ann", 0)]
    assert till.leave(2, "bob", 1000, 1) == [ev.CashedOut(T, 2, "bob", 1000)]
    till.check()


def test_a_figure_that_would_overdraw_blocks_and_moves_nothing():
    till = two_seated()
    (blocked,) = till.settle(1, (1, "ann", -501), (2, "bob", 501))
    assert isinstance(blocked, ev.SettlementBlocked)
    assert (blocked.table, blocked.hand_no, blocked.verdict_version, blocked.reason) == (T, 1, 101, "ESCROW_OVERDRAWN")
    assert (till.money(f"escrow:{T}:1"), till.money(f"escrow:{T}:2")) == (500, 500)


def test_a_block_is_told_once_and_later_hands_wait_behind_it():
    till = two_seated()
    till.settle(1, (1, "ann", -501), (2, "bob", 501))
    assert till.settle(1, (1, "ann", -501), (2, "bob", 501)) == []
    later = till.answer(settlement(2, (1, "ann", -1), (2, "bob", 1)))
    assert not [event for event in till.events if isinstance(event, ev.HandSettled)], later
    assert (till.money(f"escrow:{T}:1"), till.money(f"escrow:{T}:2")) == (500, 500)


def test_figures_that_do_not_add_up_block():
    till = two_seated()
    assert isinstance(till.settle(1, (1, "ann", -100), (2, "bob", 99))[0], ev.SettlementBlocked)
    other = two_seated()
    assert isinstance(other.settle(1, (1, "ann", 50), (2, "bob", -40), rake=-10)[0], ev.SettlementBlocked)


def test_figures_for_a_sitting_or_account_that_was_never_funded_block():
    for delta in ((3, "ann", 100), (1, "bob", 100)):
        till = two_seated()
        (blocked,) = till.settle(1, (2, "bob", -100), delta)
        assert isinstance(blocked, ev.SettlementBlocked)
        assert blocked.reason == "SITTING_MISMATCH"
        till.check()


def test_nothing_is_paid_to_a_sitting_that_has_left():
    till = two_seated()
    till.leave(1, "ann", 500)
    assert isinstance(till.settle(1, (1, "ann", 100), (2, "bob", -100))[0], ev.SettlementBlocked)

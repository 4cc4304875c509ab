"""Buy-ins, top-ups and cash-outs: one answer for each number, and money goes where it came from.

See architecture.md, "Sagas".
"""

import pytest

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from tests.support.ledger import NEVER, T, Till


def declined(answer: list[object]) -> str:
    (event,) = answer
    assert isinstance(event, ev.BuyInDeclined | ev.TopUpDeclined)
    return event.reason


def test_a_buy_in_moves_money_into_the_sittings_own_escrow():
    till = Till(ann=700)
    assert till.seat(1, "ann", 500) == [ev.BuyInFunded(T, 1, "ann", 500)]
    assert till.balances == {"player:ann": 200, f"escrow:{T}:1": 500, "house:cashier": -700}


@pytest.mark.parametrize("money", [499, 0])
def test_a_buy_in_above_the_balance_is_declined(money: int):
    till = Till(ann=money)
    assert declined(till.seat(1, "ann", 500)) == "INSUFFICIENT_FUNDS"
    assert till.money(f"escrow:{T}:1") == 0


def test_a_buy_in_of_an_unknown_or_frozen_account_is_declined():
    till = Till(ann=700)
    till.gives(cmd.FreezeAccount("ann", "op", "why"))
    assert declined(till.seat(1, "ann")) == "ACCOUNT_FROZEN"
    assert declined(till.seat(2, "ghost")) == "UNKNOWN_ACCOUNT"


def test_a_reservation_ends_at_its_very_millisecond():
    till = Till(ann=1000)
    assert isinstance(till.gives(cmd.FundBuyIn(T, 1, "ann", 500, 1000), now_ms=999)[0], ev.BuyInFunded)
    assert declined(till.gives(cmd.FundBuyIn(T, 2, "ann", 500, 1000), now_ms=1000)) == "RESERVATION_EXPIRED"


def test_the_shells_refusal_declines():
    till = Till(ann=1000)
    command = cmd.FundBuyIn(T, 1, "ann", 500, NEVER, "STACKED_NOT_ALLOWED")
    assert declined(till.gives(command)) == "STACKED_NOT_ALLOWED"


def test_a_sitting_is_funded_once():
    till = Till(ann=1000)
    till.seat(1, "ann", 500)
    till.seat(1, "ann", 500)
    assert till.balances == {"player:ann": 500, f"escrow:{T}:1": 500, "house:cashier": -1000}


def test_a_declined_sitting_stays_declined_when_the_money_comes_later():
    till = Till(ann=0)
    till.seat(1, "ann", 500)
    till.gives(cmd.Deposit("ann", 1000, "", "r", "cash"))
    till.seat(1, "ann", 500)
    assert till.money("player:ann") == 1000


def test_the_same_number_at_another_table_is_another_sitting():
    till = Till(ann=1000)
    till.seat(1, "ann", 300)
    till.seat(1, "ann", 400, table="t-2")
    assert (till.money(f"escrow:{T}:1"), till.money("escrow:t-2:1")) == (300, 400)


# ------------------------------------------------------------------ top-ups


def top_up(number: int, amount: int = 100, account: str = "ann", sitting_no: int = 1) -> cmd.FundTopUp:
    return cmd.FundTopUp(T, sitting_no, number, account, amount)


def test_a_top_up_goes_to_the_escrow_once():
    till = Till(ann=1000)
    till.seat(1, "ann", 500)
    assert till.gives(top_up(1)) == [ev.TopUpFunded(T, 1, 1, "ann", 100)]
    till.gives(top_up(1))
    assert till.money(f"escrow:{T}:1") == 600
    till.gives(top_up(2, 50))
    till.gives(top_up(1))
    assert till.money(f"escrow:{T}:1") == 650


def test_a_top_up_without_money_or_of_a_frozen_account_is_declined_and_stays_so():
    till = Till(ann=500)
    till.seat(1, "ann", 500)
    assert declined(till.gives(top_up(1))) == "INSUFFICIENT_FUNDS"
    till.gives(cmd.Deposit("ann", 1000, "", "r", "cash"))
    till.gives(top_up(1))
    assert till.money(f"escrow:{T}:1") == 500
    till.gives(cmd.FreezeAccount("ann", "op", "why"))
    assert declined(till.gives(top_up(2))) == "ACCOUNT_FROZEN"


def test_a_top_up_of_a_sitting_that_was_never_seen_or_is_anothers_is_declined():
    till = Till(ann=1000, bob=1000)
    assert declined(till.gives(top_up(1))) == "SITTING_MISMATCH"
    till.seat(1, "ann", 500)
    assert declined(till.gives(top_up(1, account="bob"))) == "SITTING_MISMATCH"
    till.check()


# ---------------------------------------------------------------- cash-outs


def test_a_claim_that_equals_the_escrow_is_paid():
    till = Till(ann=700)
    till.seat(1, "ann", 500)
    assert till.leave(1, "ann", 500) == [ev.CashedOut(T, 1, "ann", 500)]
    assert till.balances == {"player:ann": 700, "house:cashier": -700}


def test_a_cash_out_is_paid_once():
    till = Till(ann=700)
    till.seat(1, "ann", 500)
    till.leave(1, "ann", 500)
    till.leave(1, "ann", 500)
    till.leave(1, "ann", 0)
    assert till.money("player:ann") == 700


@pytest.mark.parametrize("claim", [499, 501, 0])
def test_a_claim_that_differs_is_blocked_and_stays_so(claim: int):
    till = Till(ann=700)
    till.seat(1, "ann", 500)
    assert till.leave(1, "ann", claim) == [ev.CashOutBlocked(T, 1, "ann", claim, 500)]
    till.leave(1, "ann", 500)
    assert till.money(f"escrow:{T}:1") == 500


def test_a_claim_of_another_account_or_an_unknown_sitting_is_blocked():
    till = Till(ann=700, bob=0)
    till.seat(1, "ann", 500)
    assert isinstance(till.leave(1, "bob", 500)[0], ev.CashOutBlocked)
    assert till.leave(2, "bob", 100) == [ev.CashOutBlocked(T, 2, "bob", 100, 0)]
    assert till.money("player:bob") == 0


def test_a_top_up_counts_for_the_claim():
    till = Till(ann=700)
    till.seat(1, "ann", 500)
    till.gives(top_up(1))
    assert till.leave(1, "ann", 600) == [ev.CashedOut(T, 1, "ann", 600)]


def test_who_never_sat_is_paid_what_their_escrow_holds():
    till = Till(ann=700)
    till.seat(1, "ann", 500)
    assert till.leave(1, "ann", None) == [ev.CashedOut(T, 1, "ann", 500)]


def test_who_never_sat_is_paid_0_when_the_buy_in_was_declined_or_never_seen():
    till = Till(ann=100)
    till.seat(1, "ann", 500)
    assert till.leave(1, "ann", None) == [ev.CashedOut(T, 1, "ann", 0)]
    assert till.leave(7, "ann", None) == [ev.CashedOut(T, 7, "ann", 0)]


def test_a_sitting_that_is_final_is_never_funded_any_more():
    till = Till(ann=700)
    till.leave(1, "ann", None)
    till.seat(1, "ann", 500)
    assert till.balances == {"player:ann": 700, "house:cashier": -700}


def test_a_claim_after_a_hand_that_is_not_settled_is_blocked():
    till = Till(ann=700)
    till.seat(1, "ann", 500)
    assert isinstance(till.leave(1, "ann", 500, after_hand=1)[0], ev.CashOutBlocked)

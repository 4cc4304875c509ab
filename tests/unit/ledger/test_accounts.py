"""Accounts, deposits, withdrawals, freezing: what a cashier and an operator may do (architecture.md, "Money")."""

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from tests.support.ledger import Till


def deposit(account: str = "ann", amount: int = 100, request_id: str = "r-1", cashier: str = "cash") -> cmd.Deposit:
    return cmd.Deposit(account, amount, "ref", request_id, cashier)


def withdraw(account: str = "ann", amount: int = 100, request_id: str = "r-1") -> cmd.Withdraw:
    return cmd.Withdraw(account, amount, "ref", request_id, "cash")


def test_an_account_is_opened_once():
    till = Till()
    assert till.gives(cmd.OpenAccount("ann", "r-1")) == [ev.AccountOpened("ann", "r-1")]
    assert till.gives(cmd.OpenAccount("ann", "r-2")) == []


def test_money_comes_in_and_goes_out():
    till = Till(ann=0)
    assert till.gives(deposit()) == [ev.Deposited("ann", 100, "ref", "r-1", "cash")]
    assert till.gives(withdraw(amount=40, request_id="r-2")) == [ev.Withdrawn("ann", 40, "ref", "r-2", "cash")]
    assert till.balances == {"player:ann": 60, "house:cashier": -60}
    till.check()


def test_the_same_deposit_again_books_nothing():
    till = Till(ann=0)
    till.gives(deposit())
    assert till.gives(deposit()) == []
    assert till.gives(deposit(cashier="another")) == []
    assert till.money("player:ann") == 100


def test_the_same_withdrawal_again_books_nothing_even_when_the_money_is_gone():
    till = Till(ann=100)
    till.gives(withdraw())
    assert till.gives(withdraw()) == []
    assert till.money("player:ann") == 0


def test_a_request_id_stands_for_one_content():
    till = Till(ann=1000)
    till.gives(deposit())
    assert till.refuses(deposit(amount=101)).reason == "REQUEST_ID_REUSED"
    assert till.refuses(withdraw()).reason == "REQUEST_ID_REUSED"
    assert till.money("player:ann") == 1100


def test_a_request_id_is_the_accounts_own():
    till = Till(ann=0, bob=0)
    till.gives(deposit("ann"))
    assert len(till.gives(deposit("bob", 70))) == 1


def test_old_request_ids_are_never_forgotten():
    till = Till(ann=0)
    for number in range(3000):
        till.gives(deposit(request_id=f"r-{number}"))
    assert till.gives(deposit(request_id="r-0")) == []


def test_a_refused_request_is_judged_afresh():
    till = Till(ann=50)
    assert till.refuses(withdraw()).reason == "INSUFFICIENT_FUNDS"
    till.gives(deposit(amount=50, request_id="r-2"))
    assert len(till.gives(withdraw())) == 1


def test_nothing_is_withdrawn_that_is_not_there():
    till = Till(ann=99)
    refused = till.refuses(withdraw())
    assert (refused.reason, refused.balance) == ("INSUFFICIENT_FUNDS", 99)


def test_what_is_at_a_table_cannot_be_withdrawn():
    till = Till(ann=1000)
    till.seat(1, "ann", 950)
    assert till.refuses(withdraw()).balance == 50


def test_an_unknown_account_has_no_money():
    till = Till()
    for command in (
        deposit("ghost"),
        withdraw("ghost"),
        cmd.FreezeAccount("ghost", "op", "why"),
        cmd.UnfreezeAccount("ghost", "op", "why"),
    ):
        refused = till.refuses(command)
        assert (refused.reason, refused.account) == ("UNKNOWN_ACCOUNT", "ghost")


def test_a_frozen_account_takes_money_but_gives_none():
    till = Till(ann=100)
    assert till.gives(cmd.FreezeAccount("ann", "op", "why")) == [ev.AccountFrozen("ann", "op", "why")]
    assert till.gives(cmd.FreezeAccount("ann", "op", "why")) == []
    assert till.refuses(withdraw()).reason == "ACCOUNT_FROZEN"
    assert len(till.gives(deposit(request_id="r-2"))) == 1


def test_a_frozen_account_goes_on_playing_and_leaves():
    till = Till(ann=500, bob=500)
    till.seat(1, "ann")
    till.seat(2, "bob")
    till.gives(cmd.FreezeAccount("ann", "op", "why"))
    till.settle(1, (1, "ann", -100), (2, "bob", 100))
    till.leave(1, "ann", 400, 1)
    assert till.money("player:ann") == 400


def test_only_a_frozen_account_is_freed():
    till = Till(ann=100)
    assert till.refuses(cmd.UnfreezeAccount("ann", "op", "why")).reason == "ACCOUNT_NOT_FROZEN"
    till.gives(cmd.FreezeAccount("ann", "op", "why"))
    assert till.gives(cmd.UnfreezeAccount("ann", "op", "again")) == [ev.AccountUnfrozen("ann", "op", "again")]
    assert len(till.gives(withdraw())) == 1

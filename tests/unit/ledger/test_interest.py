"""Who has an interest in money decides nothing about it, and his proposals count for nothing."""

from __future__ import annotations

import pytest

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.commands import Command
from stud_core.ledger.events import Posting
from stud_core.ledger.evolve import evolve
from stud_core.ledger.operators import proposal_id
from stud_core.rejection import Rejection
from tests.support.ledger import T, Till, lines

OTHER = "t-2"


def till() -> Till:
    """Ann's cash-out at t-1 is blocked, bob sits there, cleo has left it, dora sits at t-2."""
    made = Till(ann=700, bob=500, cleo=500, dora=500)
    for sitting_no, account in enumerate(("ann", "bob", "cleo"), 1):
        made.seat(sitting_no, account)
    made.seat(1, "dora", table=OTHER)
    made.leave(3, "cleo", 500)
    made.leave(1, "ann", 400)
    return made


def cash_out(operator: str) -> cmd.ResolveCashOut:
    return cmd.ResolveCashOut(T, 1, 400, operator, "looked at")


def adjust(operator: str, *names: str) -> cmd.Adjust:
    postings = [Posting(name, 5) for name in names]
    return cmd.Adjust((*postings, Posting("house:cashier", -5 * len(postings))), operator, "ticket")


def account_calls(who: str, account: str) -> list[Command]:
    return [
        cmd.Deposit(account, 5, "", "r-1", who),
        cmd.Withdraw(account, 5, "", "r-2", who),
        cmd.FreezeAccount(account, who, "a test", "r-3"),
        cmd.UnfreezeAccount(account, who, "a test", "r-4"),
        adjust(who, f"player:{account}"),
        adjust(who, "player:bob" if account != "bob" else "player:ann", f"player:{account}"),
    ]


@pytest.mark.parametrize("who", ["ann", "bob", "cleo", "dora"])
def test_their_own_account_is_not_theirs_to_decide(who: str):
    for command in account_calls(who, who):
        refusal = till().refuses(command)
        assert refusal.reason == "OWN_INTEREST"
        role = "cashier" if isinstance(command, cmd.Deposit | cmd.Withdraw) else "operator"
        assert refusal.text.endswith(f"another {role} must do it")
    other = next(name for name in ("ann", "bob") if name != who)
    books = till()
    for command in account_calls(who, other)[:-1]:
        books.gives(command)


def test_names_are_exact():
    books = till()
    for nearly in ("an", "ann ", "Ann", "player:ann", "anna"):
        assert not isinstance(books.answer(cmd.Deposit("ann", 5, "", f"r-{nearly}", nearly)), Rejection)


@pytest.mark.parametrize(("who", "interested"), [("ann", True), ("bob", True), ("cleo", False), ("dora", False)])
def test_money_at_a_table_is_not_for_those_to_decide_who_sit_there(who: str, interested: bool):
    for command in (cash_out(who), adjust(who, f"escrow:{T}:1"), adjust(who, "player:nobody", f"escrow:{T}:1")):
        answer = till().answer(command)
        reason = answer.reason if isinstance(answer, Rejection) else ""
        assert (reason == "OWN_INTEREST") is interested, command


def test_their_own_sitting_that_is_paid_is_theirs_all_the_same():
    assert till().refuses(cmd.ResolveCashOut(T, 3, 5, "cleo", "more")).reason == "OWN_INTEREST"
    assert till().refuses(adjust("cleo", f"escrow:{T}:3")).reason == "OWN_INTEREST"
    assert till().refuses(cmd.ResolveCashOut(T, 3, 5, "dora", "more")).reason == "NOTHING_BLOCKED"


@pytest.mark.parametrize("make", [cash_out, lambda operator: adjust(operator, f"escrow:{T}:1")])
def test_a_proposal_counts_no_more_when_its_operator_has_sat_down(make):
    books = till()
    books.gives(cmd.OpenAccount("op-1", "open"))
    books.gives(cmd.Deposit("op-1", 500, "", "first", "cash"))
    books.gives(make("op-1"))
    books.seat(4, "op-1")
    assert books.refuses(make("op-1")).reason == "OWN_INTEREST"
    (again,) = books.gives(make("op-2"))
    assert isinstance(again, ev.AdjustmentProposed)
    assert books.refuses(make("op-2")).reason == "SECOND_OPERATOR_REQUIRED"
    decided = books.gives(make("op-3"))[0]
    assert isinstance(decided, ev.Adjusted)
    assert decided.operators == ("op-2", "op-3")
    books.check()


def test_a_proposal_that_a_build_of_before_took_from_the_owner_counts_for_nothing():
    books = till()
    postings = lines(house_cashier=-5, player_ann=5)
    key = proposal_id("adjust", [(p.account, p.amount) for p in postings], "ticket")
    evolve(books.state, [ev.AdjustmentProposed(key, postings, "", 0, "ann", "ticket")], books.state.version + 1)
    command = cmd.Adjust(postings, "op-1", "ticket")
    (proposed,) = books.gives(command)
    assert proposed == ev.AdjustmentProposed(key, postings, "", 0, "op-1", "ticket")
    assert isinstance(books.gives(cmd.Adjust(postings, "op-2", "ticket"))[0], ev.Adjusted)


def test_a_repeated_call_is_answered_as_it_was():
    books = Till(ann=700, bob=500)
    command = cmd.Deposit("ann", 5, "", "r-1", "cash")
    books.gives(command)
    assert books.gives(cmd.Deposit("ann", 5, "", "r-1", "ann")) == []  # known by the account, whoever books it

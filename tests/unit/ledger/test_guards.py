"""What must not happen to money however wrong a table, the referee, an operator or the network is."""

from typing import Any

import pytest

from stud_core.amounts import MAX_AMOUNT, MAX_BALANCE
from stud_core.events import Delta
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.decide import decide
from stud_core.ledger.events import Posting
from stud_core.ledger.evolve import evolve
from stud_core.ledger.names import parse_escrow
from stud_core.ledger.postings import trial_balance, unsound
from stud_core.ledger.requests import NOWHERE, call_key, caller_of, key_of, origin_of
from stud_core.ledger.state import Ledger
from stud_core.rejection import Rejection
from stud_core.remembered import name_of
from tests.support.ledger import NEVER, T, Till, lines, settlement

ESCROW = f"escrow:{T}:1"


def two_seated() -> Till:
    till = Till(ann=1000, bob=1000)
    till.seat(1, "ann", 500)
    till.seat(2, "bob", 500)
    return till


def both(till: Till, *postings: Posting, reference: str = "ticket") -> list[Any]:
    till.gives(cmd.Adjust(postings, "op-1", reference))
    return till.gives(cmd.Adjust(postings, "op-2", reference))


# ---------------------------------------------------------- figures of tables


@pytest.mark.parametrize("amount", [0, -1, -700, MAX_AMOUNT + 1])
def test_an_impossible_amount_is_declined(amount: int):
    till = two_seated()
    reason = "BUY_IN_TOO_LARGE" if amount > 0 else "BUY_IN_TOO_SMALL"
    assert till.gives(cmd.FundBuyIn(T, 3, "ann", amount, NEVER)) == [ev.BuyInDeclined(T, 3, "ann", reason)]
    declined = [ev.TopUpDeclined(T, 1, 1, "ann", "TOP_UP_OUT_OF_LIMITS")]
    assert till.gives(cmd.FundTopUp(T, 1, 1, "ann", amount)) == declined


def test_a_sitting_that_comes_again_with_other_figures_is_declined_and_keeps_its_money():
    till = two_seated()
    assert till.gives(cmd.FundBuyIn(T, 1, "bob", 500, NEVER)) == [ev.BuyInDeclined(T, 1, "bob", "SITTING_MISMATCH")]
    assert till.gives(cmd.FundBuyIn(T, 1, "ann", 501, NEVER)) == [ev.BuyInDeclined(T, 1, "ann", "SITTING_MISMATCH")]
    till.gives(cmd.FundTopUp(T, 1, 1, "ann", 50))
    wrong = cmd.FundTopUp(T, 1, 1, "ann", 51)
    for again in (wrong, wrong, cmd.FundTopUp(T, 1, 2, "bob", 5)):
        (declined,) = till.gives(again)
        assert declined == ev.TopUpDeclined(T, 1, again.top_up_no, again.account, "SITTING_MISMATCH")
    assert till.gives(cmd.FundTopUp(T, 1, 1, "ann", 50)) == []
    assert till.leave(1, "ann", 550) == [ev.CashedOut(T, 1, "ann", 550)]


def test_a_top_up_of_who_is_leaving_or_never_sat_is_declined():
    till = two_seated()
    till.seat(3, "ann", 5000)
    till.leave(1, "ann", 499)
    till.leave(2, "bob", 500)
    answers = [till.gives(cmd.FundTopUp(T, n, 1, who, 5))[0] for n, who in ((1, "ann"), (2, "bob"), (3, "ann"))]
    assert [answer.reason for answer in answers] == ["LEAVING", "LEAVING", "SITTING_MISMATCH"]


def test_a_refused_stacked_top_up_is_declined():
    till = two_seated()
    (answer,) = till.gives(cmd.FundTopUp(T, 1, 1, "ann", 5, "STACKED_NOT_ALLOWED"))
    assert answer.reason == "STACKED_NOT_ALLOWED"


# -------------------------------------------------------- figures of the referee


def test_the_same_sitting_twice_is_added_up():
    till = two_seated()
    (blocked,) = till.settle(1, (1, "ann", -300), (1, "ann", -300), (2, "bob", 600))
    assert blocked.reason == "ESCROW_OVERDRAWN"
    other = two_seated()
    other.settle(1, (1, "ann", -300), (1, "ann", 200), (2, "bob", 100))
    assert other.money(ESCROW) == 400


def test_a_hand_behind_one_that_is_missing_waits_for_it():
    till = two_seated()
    assert till.settle(2) == [ev.SettlementBlocked(T, 2, 102, "HAND_NOT_ENDED")]
    assert till.settle(3) == []
    for hand_no in (1, 2, 3):
        assert isinstance(till.settle(hand_no)[0], ev.HandSettled)
    assert not till.state.blocked


def test_a_reason_of_a_block_is_in_the_catalogue():
    from stud_service.refusals import CODES

    for figures in (((1, "ann", 1),), ((1, "ann", -600), (2, "bob", 600)), ((3, "cy", 0),)):
        (blocked,) = two_seated().settle(1, *figures)
        assert blocked.reason in CODES


def test_who_won_and_lost_nothing_may_have_left_before():
    till = two_seated()
    till.leave(1, "ann", 500)
    assert isinstance(till.settle(1, (1, "ann", 0), (2, "bob", 0))[0], ev.HandSettled)


def test_a_cash_out_that_waited_for_a_settlement_is_paid_with_it():
    till = two_seated()
    till.settle(1, (1, "ann", -600), (2, "bob", 600))
    assert isinstance(till.leave(2, "bob", 1100, 1)[0], ev.CashOutBlocked)
    both(till, Posting("house:cashier", -100), Posting(ESCROW, 100))
    settled, paid = till.settle(1, (1, "ann", -600), (2, "bob", 600))
    assert isinstance(settled, ev.HandSettled)
    assert paid == ev.CashedOut(T, 2, "bob", 1100)
    till.check()


def test_a_void_pays_the_cash_out_that_waited_for_it():
    till = two_seated()
    till.leave(1, "ann", 500, 1)
    assert till.settle(1)[1:] == [ev.CashedOut(T, 1, "ann", 500)]


def test_a_cash_out_whose_claim_is_still_wrong_stays_blocked():
    till = two_seated()
    till.leave(1, "ann", 450, 1)
    assert len(till.settle(1, (1, "ann", -100), (2, "bob", 100))) == 1
    assert till.state.held == {T: {1}}


def test_a_claim_for_another_account_is_never_paid_by_itself():
    till = two_seated()
    till.leave(1, "bob", 400, 1)
    assert len(till.settle(1, (1, "ann", -100), (2, "bob", 100))) == 1
    assert till.money("player:bob") == 500


def test_a_hand_that_does_not_concern_a_blocked_cash_out_does_not_pay_it():
    till = two_seated()
    till.seat(3, "ann", 100)
    till.leave(1, "ann", 510)
    both(till, Posting("house:cashier", -10), Posting(ESCROW, 10))
    assert len(till.settle(1, (2, "bob", -1), (3, "ann", 1))) == 1


def test_nobody_is_paid_while_a_hand_with_them_is_open():
    till = two_seated()
    for claim in (500, None):
        blocked = decide(till.state, cmd.CashOut(T, 1, "ann", claim, after_hand=1), 0)
        assert blocked == [ev.CashOutBlocked(T, 1, "ann", claim or 0, 500)]


# ------------------------------------------------------- decisions of operators


@pytest.mark.parametrize(
    "name", ["escrow:t-1:01", "escrow:t-1:١", "escrow:t-1:", "escrow::1", "escrow:t-1:+1", "escrow"]
)
def test_an_escrow_has_one_name(name: str):
    till = two_seated()
    till.leave(1, "ann", 499)
    command = cmd.Adjust((*lines(house_cashier=-5), Posting(name, 5)), "op-1", "r")
    assert till.refuses(command).reason == "INVALID_ADJUSTMENT"
    assert till.state.sittings.get(parse_escrow(name) or ("", 0)) is None


def test_a_name_of_an_escrow_is_taken_apart():
    assert parse_escrow("escrow:t-1:12") == ("t-1", 12)
    assert parse_escrow("player:t-1:12") is None


def test_nothing_is_booked_to_the_escrow_of_who_has_left():
    till = two_seated()
    till.leave(1, "ann", 500)
    command = cmd.Adjust((Posting("house:cashier", -5), Posting(ESCROW, 5)), "op-1", "r")
    assert till.refuses(command).reason == "INVALID_ADJUSTMENT"


def test_a_cash_out_of_an_account_that_does_not_exist_is_not_resolved():
    till = two_seated()
    till.leave(9, "ghost", 100)
    assert till.refuses(cmd.ResolveCashOut(T, 9, 100, "op-1", "r")).reason == "UNKNOWN_ACCOUNT"


def test_what_is_resolved_has_limits():
    till = two_seated()
    till.leave(1, "ann", 499)
    for amount in (-1, MAX_AMOUNT + 1):
        assert till.refuses(cmd.ResolveCashOut(T, 1, amount, "op-1", "r")).reason == "INVALID_FIELD"


@pytest.mark.parametrize("amount", [0, -1, MAX_AMOUNT + 1])
def test_what_is_paid_in_or_out_has_limits(amount: int):
    till = Till(ann=1000)
    for command in (cmd.Deposit("ann", amount, "", "d", "cash"), cmd.Withdraw("ann", amount, "", "w", "cash")):
        refused = till.refuses(command)
        assert refused.reason == "INVALID_FIELD"
        assert refused.text == f"amount {amount}: want 1 to {MAX_AMOUNT} minor units"
        assert (refused.field, refused.least, refused.most) == ("amount", 1, MAX_AMOUNT)


def test_a_ledger_that_is_nearly_full_takes_what_still_fits():
    till = Till(ann=0)
    for number in range(MAX_BALANCE // MAX_AMOUNT - 1):
        till.gives(cmd.Deposit("ann", MAX_AMOUNT, "", f"d-{number}", "cash"))
    till.gives(cmd.Deposit("ann", MAX_AMOUNT - 7, "", "nearly", "cash"))
    refused = till.refuses(cmd.Deposit("ann", 8, "", "too much", "cash"))
    assert (refused.field, refused.least, refused.most) == ("amount", 1, 7)
    (paid,) = till.gives(cmd.Deposit("ann", 7, "", "the rest", "cash"))
    assert paid.amount == 7


def test_no_balance_outgrows_the_wire():
    till = Till(ann=0)
    for number in range(MAX_BALANCE // MAX_AMOUNT):
        till.gives(cmd.Deposit("ann", MAX_AMOUNT, "", f"d-{number}", "cash"))
    refused = till.refuses(cmd.Deposit("ann", 1, "", "one more", "cash"))
    assert (refused.reason, refused.text) == ("INVALID_FIELD", f"the ledger holds {MAX_BALANCE}, which is all it can")
    more = lines(house_cashier=-1, player_ann=1)
    assert till.refuses(cmd.Adjust(more, "op-1", "r")).reason == "INVALID_ADJUSTMENT"
    assert MAX_BALANCE < 2**63


# --------------------------------------------------------------- repeated calls


def answer(state: Ledger, command: cmd.Command) -> list[Any] | Rejection:
    """As the service does it: what is written notes which call it answers."""
    events = decide(state, command, 0)
    if isinstance(events, list) and events:
        evolve(state, events, state.version + 1, origin_of(command))
    return events


def adjustment(operator: str, request_id: str, amount: int = 100) -> cmd.Adjust:
    return cmd.Adjust(lines(house_cashier=-amount, player_ann=amount), operator, "ticket", request_id)


def test_a_correction_is_booked_once_though_both_operators_repeat_their_calls():
    state = Till(ann=1000).state
    kinds = []
    for operator, request_id in (("op-1", "a"), ("op-1", "a"), ("op-2", "b"), ("op-2", "b"), ("op-1", "a")):
        events = answer(state, adjustment(operator, request_id))
        assert isinstance(events, list)
        kinds.append([type(event).__name__ for event in events])
    assert kinds == [["AdjustmentProposed"], [], ["Adjusted"], [], []]
    assert state.balance("player:ann") == 1100
    first = [state.requests.get(call_key(operator, name)) for operator, name in (("op-1", "a"), ("op-2", "b"))]
    assert [answered.number for answered in first if answered] == [0, 1]


def test_a_request_id_is_the_callers_own_and_stands_for_one_content():
    state = Till(ann=1000).state
    answer(state, adjustment("op-1", "a"))
    other = answer(state, adjustment("op-1", "a", 7))
    assert isinstance(other, Rejection)
    assert other.reason == "REQUEST_ID_REUSED"
    assert len(answer(state, adjustment("op-2", "a"))) == 1  # type: ignore[arg-type]


def test_freezing_is_not_repeated_after_the_account_was_freed():
    state = Till(ann=1000).state
    freeze = cmd.FreezeAccount("ann", "op-1", "why", "a")
    answer(state, freeze)
    answer(state, cmd.UnfreezeAccount("ann", "op-1", "why", "b"))
    assert answer(state, freeze) == []
    assert state.frozen == set()


def test_calls_are_named_and_messages_are_not():
    assert key_of(cmd.Deposit("ann", 5, "", "r", "cash")) == name_of("player:ann", "r")
    assert key_of(cmd.OpenAccount("ann", "r", "ann")) == name_of("caller:ann", "r")
    assert key_of(settlement(1)) is None
    assert origin_of(settlement(1)) == NOWHERE
    assert (caller_of(settlement(1)), caller_of(cmd.Deposit("ann", 5, "", "r", "cash"))) == ("", "cash")


# ---------------------------------------------------------- the last line of defence


def test_money_that_is_made_or_overdrawn_is_seen_before_it_is_written():
    till = two_seated()
    made = ev.HandSettled(T, 1, 9, (Delta(1, "ann", 5),), 0)
    assert "sum to zero" in unsound(till.state, [made])
    overdrawn = ev.CashedOut(T, 1, "ann", 501)
    assert ESCROW in unsound(till.state, [overdrawn])
    half = ev.CashedOut(T, 1, "ann", 300)
    assert unsound(till.state, [half]) == ""
    assert ESCROW in unsound(till.state, [half, half])


def test_a_trial_balance_is_the_sum_of_entries():
    till = two_seated()
    sums: dict[str, int] = {}
    for event in till.events:
        trial_balance([event], sums)
    assert sums == trial_balance(till.events) == till.balances

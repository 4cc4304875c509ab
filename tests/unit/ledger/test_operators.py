"""Decisions of two operators: a blocked cash-out, a correction (architecture.md, "Money that does not fit")."""

from typing import Any

import pytest

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.events import Posting
from stud_core.ledger.evolve import evolve
from tests.support.ledger import T, Till, lines

ESCROW = f"escrow:{T}:1"


def blocked(claim: int = 400) -> Till:
    till = Till(ann=700, bob=500)
    till.seat(1, "ann", 500)
    till.leave(1, "ann", claim)
    return till


def resolve(operator: str, amount: int = 400, sitting_no: int = 1) -> cmd.ResolveCashOut:
    return cmd.ResolveCashOut(T, sitting_no, amount, operator, "looked at")


def adjust(operator: str, *postings: Posting, reference: str = "ticket") -> cmd.Adjust:
    return cmd.Adjust(postings or lines(house_cashier=-5, player_ann=5), operator, reference)


@pytest.mark.parametrize(("amount", "cashier"), [(400, 100), (500, 0), (650, -150), (0, 500)])
def test_two_operators_pay_what_they_agree_on_and_the_cashier_bears_the_difference(amount: int, cashier: int):
    till = blocked()
    (proposed,) = till.gives(resolve("op-1", amount))
    assert isinstance(proposed, ev.AdjustmentProposed)
    assert (proposed.table, proposed.sitting_no, proposed.operator) == (T, 1, "op-1")
    adjusted, paid = till.gives(resolve("op-2", amount))
    assert isinstance(adjusted, ev.Adjusted)
    assert adjusted.operators == ("op-1", "op-2")
    assert paid == ev.CashedOut(T, 1, "ann", amount)
    assert (till.money("player:ann"), till.money(ESCROW)) == (200 + amount, 0)
    assert till.money("house:cashier") == -1200 + cashier
    till.check()


def test_one_operator_alone_decides_nothing():
    till = blocked()
    till.gives(resolve("op-1"))
    assert till.refuses(resolve("op-1")).reason == "SECOND_OPERATOR_REQUIRED"
    assert till.money(ESCROW) == 500


def test_another_amount_is_another_proposal():
    till = blocked()
    till.gives(resolve("op-1", 400))
    (second,) = till.gives(resolve("op-2", 500))
    assert isinstance(second, ev.AdjustmentProposed)
    assert len(till.gives(resolve("op-1", 500))) == 2


def test_only_a_blocked_cash_out_is_resolved_and_only_once():
    till = Till(ann=700)
    till.seat(1, "ann", 500)
    assert till.refuses(resolve("op-1")).reason == "NOTHING_BLOCKED"
    assert till.refuses(resolve("op-1", sitting_no=9)).reason == "NOTHING_BLOCKED"
    till.leave(1, "ann", 400)
    till.gives(resolve("op-1"))
    till.gives(resolve("op-2"))
    assert till.refuses(resolve("op-3")).reason == "NOTHING_BLOCKED"


def test_what_is_paid_follows_the_escrow_at_the_decision_not_at_the_proposal():
    till = blocked()
    till.gives(resolve("op-1"))
    correction = (*lines(house_cashier=-50), Posting(ESCROW, 50))
    till.gives(adjust("op-1", *correction))
    till.gives(adjust("op-2", *correction))
    assert till.money(ESCROW) == 550
    till.gives(resolve("op-2"))
    assert (till.money("player:ann"), till.money(ESCROW)) == (600, 0)
    till.check()


# -------------------------------------------------------------- corrections


def test_two_operators_correct_the_ledger():
    till = Till(ann=700)
    (proposed,) = till.gives(adjust("op-1"))
    assert isinstance(proposed, ev.AdjustmentProposed)
    assert till.money("player:ann") == 700
    (adjusted,) = till.gives(adjust("op-2"))
    assert isinstance(adjusted, ev.Adjusted)
    assert (adjusted.operators, adjusted.reference) == (("op-1", "op-2"), "ticket")
    assert till.money("player:ann") == 705
    till.check()


def test_one_operator_alone_corrects_nothing():
    till = Till(ann=700)
    till.gives(adjust("op-1"))
    assert till.refuses(adjust("op-1")).reason == "SECOND_OPERATOR_REQUIRED"
    assert isinstance(till.gives(adjust("op-2", reference="another"))[0], ev.AdjustmentProposed)
    assert till.money("player:ann") == 700


SAME = [
    (Posting("house:cashier", -5), Posting("player:ann", 5)),
    (Posting("player:ann", 5), Posting("house:cashier", -5)),
    (Posting("player:ann", 2), Posting("house:cashier", -5), Posting("player:ann", 3)),
    (Posting("house:rake", 7), Posting("player:ann", 5), Posting("house:cashier", -5), Posting("house:rake", -7)),
]


@pytest.mark.parametrize("reference", ["ticket", " ticket", "ticket \n"])
@pytest.mark.parametrize("second", SAME)
@pytest.mark.parametrize("first", SAME)
def test_the_same_correction_written_otherwise_is_the_same_one(
    first: tuple[Posting, ...], second: tuple[Posting, ...], reference: str
):
    till = Till(ann=700)
    (proposed,) = till.gives(adjust("op-1", *first, reference=reference))
    assert till.refuses(adjust("op-1", *second)).reason == "SECOND_OPERATOR_REQUIRED"
    (adjusted,) = till.gives(adjust("op-2", *second))
    assert isinstance(adjusted, ev.Adjusted)
    assert (adjusted.proposal_id, adjusted.reference) == (proposed.proposal_id, "ticket")
    assert till.money("player:ann") == 705
    assert till.state.proposals == {}
    till.check()


@pytest.mark.parametrize("operator", ["op-1", "op-2"])
def test_a_proposal_of_an_older_log_is_found_by_what_it_says(operator: str):
    """Those were named by their lines and reference as written."""
    till = Till(ann=700)
    lines = (Posting("player:ann", 2), Posting("house:cashier", -5), Posting("player:ann", 3))
    evolve(till.state, [ev.AdjustmentProposed("as-written", lines, "", 0, "op-1", "ticket ")], till.state.version + 1)
    if operator == "op-1":
        assert till.refuses(adjust("op-1")).reason == "SECOND_OPERATOR_REQUIRED"
    else:
        (adjusted,) = till.gives(adjust("op-2"))
        assert (adjusted.proposal_id, adjusted.postings) == ("as-written", lines)
        assert till.state.proposals == {}
    assert till.money("player:ann") == (700 if operator == "op-1" else 705)


@pytest.mark.parametrize("other", [{"reference": "ticket 2"}, {"amount": 6}])
def test_another_correction_is_another_proposal(other: dict[str, Any]):
    till = Till(ann=700)
    till.gives(adjust("op-1"))
    amount = other.get("amount", 5)
    lines = (Posting("house:cashier", -amount), Posting("player:ann", amount))
    (second,) = till.gives(adjust("op-2", *lines, reference=other.get("reference", "ticket")))
    assert isinstance(second, ev.AdjustmentProposed)


def test_a_correction_needs_a_reference_that_says_something():
    assert Till(ann=700).refuses(adjust("op-1", reference="  ")).reason == "INVALID_ADJUSTMENT"


@pytest.mark.parametrize(
    "postings",
    [
        (Posting("player:ann", -5), Posting("player:ann", 5)),
        (*lines(house_cashier=-5, player_ann=5), *lines(player_ann=-5, house_cashier=5)),
        (Posting("house:cashier", -5), Posting("player:ann", 4)),
        (Posting("house:cashier", 0), Posting("player:ann", 0)),
        (Posting("house:cashier", 701), Posting("player:ann", -701)),
        (Posting("house:cashier", -5), Posting("player:ghost", 5)),
        (Posting("house:cashier", -5), Posting("house:bank", 5)),
        (Posting("house:cashier", -5), Posting("", 5)),
        (Posting("house:cashier", -5), Posting("escrow:t-1:x", 5)),
        (Posting("house:cashier", -5), Posting("escrow:t-1:9", 5)),
        (Posting("house:cashier", -5), Posting("escrow:t-1:2", 5)),
        (Posting("house:cashier", 800), Posting("player:ann", -400), Posting("player:ann", -400)),
    ],
)  # fmt: skip
def test_impossible_corrections_are_refused(postings: tuple[Posting, ...]):
    till = Till(ann=700, bob=500)
    till.seat(2, "bob", 500)
    assert till.refuses(adjust("op-1", *postings)).reason == "INVALID_ADJUSTMENT"
    till.check()


def test_an_empty_correction_is_refused():
    assert Till(ann=700).refuses(cmd.Adjust((), "op-1", "ticket")).reason == "INVALID_ADJUSTMENT"


def test_rake_may_be_given_back():
    till = Till(ann=500, bob=500)
    till.seat(1, "ann")
    till.seat(2, "bob")
    till.settle(1, (1, "ann", -100), (2, "bob", 90), rake=10)
    for operator in ("op-1", "op-2"):
        till.gives(adjust(operator, *lines(house_rake=-10, player_ann=10)))
    assert till.money("house:rake") == 0
    assert till.money("player:ann") == 10


def test_a_lack_that_blocks_a_settlement_is_covered_and_the_hand_is_settled():
    till = Till(ann=500, bob=500)
    till.seat(1, "ann")
    till.seat(2, "bob")
    hand = ((1, "ann", -600), (2, "bob", 600))
    till.settle(1, *hand)
    cover = (Posting("house:cashier", -100), Posting(ESCROW, 100))
    for operator in ("op-1", "op-2"):
        till.gives(adjust(operator, *cover))
    till.settle(1, *hand)  # the verdict is handed in again, unless it was settled at once
    assert (till.money(ESCROW), till.money(f"escrow:{T}:2")) == (0, 1100)
    till.check()

"""Whoever leaves and comes back soon brings back what they took along, where the house remembers it (B.19)."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import decide
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Reason
from stud_core.ruleset import Ruleset
from stud_core.state import Left
from tests.support.core_table import knobs, only
from tests.unit.core.house import House

HOUR = 3_600_000
RULES = knobs(WILLIAM_HILL, rathole_ms=HOUR)  # 5/10: from 5000 up
CAPPED = knobs(PLAYNOW, rathole_ms=HOUR)  # 5000 to 20000


def house_of(rules: Ruleset = RULES, stack: int = 8_000) -> House:
    """The account a1 has left with its stack a moment ago."""
    house = House(rules, {1: stack, 2: 10_000})
    leave(house)
    return house


def leave(house: House, paid: int | None = None) -> ev.CashOutRequested:
    gone = only(house.send(cmd.LeaveSeat("a1")), ev.CashOutRequested)
    house.send(cmd.RecordCashOut(gone.sitting_no, (gone.claim or 0) if paid is None else paid))
    return gone


def take(house: House, amount: int, account: str = "a1") -> ev.BuyInRequested:
    return only(house.send(cmd.TakeSeat(account, 1, amount)), ev.BuyInRequested)


@pytest.mark.knob("rathole_ms", 0, 3_600_000)
@pytest.mark.parametrize(("memory", "until"), [(0, 0), (HOUR, 1_000_000 + HOUR)])
def test_what_a_leaver_takes_along_is_remembered_where_the_house_does(memory: int, until: int):
    house = House(knobs(WILLIAM_HILL, rathole_ms=memory), {1: 8_000, 2: 10_000})
    assert leave(house).back_until_ms == until
    assert house.state.left == ({"a1": Left(8_000, until)} if memory else {})
    if not memory:
        assert take(house, 5_000).amount == 5_000


def test_less_is_refused_with_what_would_be_right_and_as_much_is_taken():
    house = house_of()
    house.now_ms += 60_999  # told in whole seconds, and never one too few
    refusal = house.reject(cmd.TakeSeat("a1", 1, 7_999))
    assert (refusal.reason, refusal.rule, refusal.least) == (Reason.BUY_IN_TOO_SMALL, "B.19", 8_000)
    assert refusal.text == (
        "the account left this table with 8000: for 3540 seconds more it buys in for 8000 at least, not 7999"
    )
    assert take(house, 8_000).amount == 8_000


def test_below_the_minimum_the_refusal_is_the_pages_and_names_what_is_owed():
    house = house_of()
    refusal = house.reject(cmd.TakeSeat("a1", 1, 4_999))
    assert (refusal.reason, refusal.rule, refusal.least) == (Reason.BUY_IN_TOO_SMALL, "W2", 8_000)
    assert refusal.text == "the minimum buy-in is 5000, not 4999"
    assert house.reject(cmd.TakeSeat("a9", 1, 4_999)).least == 5_000


def test_the_memory_ends():
    house = house_of()
    house.now_ms += HOUR - 1
    assert house.reject(cmd.TakeSeat("a1", 1, 5_000)).reason is Reason.BUY_IN_TOO_SMALL
    house.now_ms += 1
    assert take(house, 5_000).amount == 5_000


def test_it_is_about_this_account_alone():
    house = house_of()
    assert take(house, 5_000, "a9").amount == 5_000


def test_the_maximum_holds_all_the_same():
    """Whoever has won more than anybody may sit down with brings the maximum: no less, and no more."""
    house = house_of(CAPPED)
    house.state.left = {"a1": Left(90_000, house.now_ms + HOUR)}
    refusal = house.reject(cmd.TakeSeat("a1", 1, 19_999))
    assert (refusal.least, refusal.most) == (20_000, 20_000)
    assert "left this table with 90000: for 3600 seconds more it buys in for 20000 at least" in refusal.text
    refusal = house.reject(cmd.TakeSeat("a1", 1, 20_001))
    assert (refusal.reason, refusal.rule) == (Reason.BUY_IN_TOO_LARGE, "P3")
    assert (refusal.least, refusal.most) == (20_000, 20_000)
    assert isinstance(decide(house.state, cmd.TakeSeat("a1", 1, 20_000), house.ctx()), list)


def test_what_was_brought_back_is_no_longer_owed():
    house = house_of()
    asked = take(house, 8_000)
    assert house.state.left, "a reservation is no chips yet"
    house.send(cmd.RecordFunding(asked.sitting_no, 8_000))
    assert house.state.left == {}


def test_a_reservation_that_comes_to_nothing_leaves_the_memory_as_it_was():
    house = house_of()
    before = house.state.left
    asked = take(house, 9_000)
    house.send(cmd.LeaveSeat("a1"))
    house.send(cmd.RecordCashOut(asked.sitting_no, 9_000))
    assert house.state.left == before
    asked = take(house, 9_000)
    house.send(cmd.RecordFundingDeclined(asked.sitting_no, "INSUFFICIENT_FUNDS"))
    assert house.state.left == before


def test_an_empty_stack_owes_nothing():
    house = House(RULES, {1: 8_000, 2: 10_000})
    house.state.sittings[1].stack = 0
    house.state.paid_in -= 8_000
    answer = decide(house.state, cmd.LeaveSeat("a1"), house.ctx())
    assert isinstance(answer, list)
    assert (only(answer, ev.CashOutRequested).claim, only(answer, ev.CashOutRequested).back_until_ms) == (0, 0)


def test_what_operators_paid_is_what_was_taken_along():
    house = House(RULES, {1: 8_000, 2: 10_000})
    gone = only(house.send(cmd.LeaveSeat("a1")), ev.CashOutRequested)
    house.send(cmd.RecordCashOutBlocked(gone.sitting_no, "CLAIM_MISMATCH"))
    house.send(cmd.RecordCashOut(gone.sitting_no, 7_000))
    assert house.state.left == {"a1": Left(7_000, gone.back_until_ms)}


def test_what_nobody_owes_any_more_is_forgotten_with_the_next_leaver():
    house = house_of()
    house.now_ms += HOUR
    gone = only(house.send(cmd.LeaveSeat("a2")), ev.CashOutRequested)
    assert house.state.left == {"a2": Left(10_000, gone.back_until_ms)}
    house = house_of()
    house.now_ms += HOUR - 1
    house.send(cmd.LeaveSeat("a2"))
    assert set(house.state.left) == {"a1", "a2"}


def test_a_memory_of_a_clock_that_was_ahead_is_over():
    house = house_of()
    house.now_ms -= 1
    assert take(house, 5_000).amount == 5_000

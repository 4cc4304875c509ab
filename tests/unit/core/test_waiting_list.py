"""The waiting list: whoever waits longest is offered the next free seat, which is theirs alone for a while (B.22)."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason
from stud_core.ruleset import Ruleset
from stud_core.state import Waiter
from stud_core.timers import next_deadline
from tests.support.core_table import knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, seats=2, waiting_list=3, offer_ms=60_000)  # 5000 to 20000
STACK = 10_000


def kinds(events: list[ev.Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def full(rules: Ruleset = RULES, *waiting: str) -> House:
    """Two players at a table of two, and some who wait."""
    house = House(rules, [1, 2])
    for name in waiting:
        house.send(cmd.JoinWaitingList(name, STACK))
    return house


def names(house: House) -> list[str]:
    return [waiter.account for waiter in house.state.waiting]


def leave(house: House, seat: int) -> list[ev.Event]:
    events = house.send(cmd.LeaveSeat(f"a{seat}"))
    gone = only(events, ev.CashOutRequested)
    house.send(cmd.RecordCashOut(gone.sitting_no, gone.claim or 0))
    return events


@pytest.mark.knob("waiting_list", None, 1, 3)
@pytest.mark.parametrize("places", [None, 1, 3])
def test_the_list_has_so_many_places(places: int | None):
    house = full(knobs(RULES, waiting_list=places))
    if places is None:
        refusal = house.reject(cmd.JoinWaitingList("w1", STACK))
        assert (refusal.reason, refusal.text) == (Reason.NO_WAITING_LIST, "this table has no waiting list")
        return
    for number in range(places):
        assert house.send(cmd.JoinWaitingList(f"w{number}", STACK)) == [ev.WaitingJoined(f"w{number}", STACK)]
    refusal = house.reject(cmd.JoinWaitingList("late", STACK))
    assert (refusal.reason, refusal.most, refusal.rule) == (Reason.WAITING_LIST_FULL, places, "B.22")
    assert refusal.text == f"the waiting list has {places} places"


def test_nobody_waits_twice_or_where_they_sit_or_for_what_they_may_not_bring():
    house = full(RULES, "w1")
    assert house.reject(cmd.JoinWaitingList("w1", STACK)).reason is Reason.ALREADY_WAITING
    assert house.reject(cmd.JoinWaitingList("a1", STACK)).reason is Reason.ALREADY_SEATED
    assert house.reject(cmd.JoinWaitingList("w2", 4_999)).reason is Reason.BUY_IN_TOO_SMALL
    assert house.reject(cmd.JoinWaitingList("w2", 20_001)).reason is Reason.BUY_IN_TOO_LARGE
    assert house.reject(cmd.LeaveWaitingList("w2")).reason is Reason.NOT_WAITING


def test_where_a_seat_is_free_there_is_nothing_to_wait_for():
    house = House(RULES, [1])
    refusal = house.reject(cmd.JoinWaitingList("w1", STACK))
    assert (refusal.reason, refusal.text) == (Reason.SEAT_FREE, "seat 2 is free: take it")


@pytest.mark.knob("offer_ms", None, 60_000)
@pytest.mark.parametrize(("clock", "kept"), [(None, 30_000), (60_000, 60_000)])
def test_a_seat_that_becomes_free_is_offered_to_whoever_waits_longest(clock: int | None, kept: int):
    house = full(knobs(RULES, offer_ms=clock), "w1", "w2")
    events = leave(house, 1)
    assert kinds(events) == ["LeaveRequested", "CashOutRequested", "SeatOffered"]
    until = house.now_ms + kept
    assert only(events, ev.SeatOffered) == ev.SeatOffered("w1", 1, until)
    assert house.state.waiting == (Waiter("w1", STACK, 1, until), Waiter("w2", STACK))
    assert next_deadline(house.state) == until


def test_the_seat_is_theirs_alone_and_with_it_they_leave_the_list():
    house = full(RULES, "w1", "w2")
    leave(house, 1)
    taken = house.reject(cmd.TakeSeat("x", 1, STACK))
    assert (taken.reason, taken.text) == (Reason.SEAT_TAKEN, "seat 1 is kept for somebody from the waiting list")
    for stranger in ("x", "w2"):
        refusal = house.reject(cmd.TakeSeat(stranger, None, STACK))
        assert refusal.reason is Reason.TABLE_FULL
        assert refusal.text == "all 2 seats are taken, or kept for the waiting list"
    assert house.reject(cmd.TakeSeat("x", 2, STACK)).text == "seat 2 is taken"
    assert only(house.send(cmd.TakeSeat("w1", None, STACK)), ev.BuyInRequested).seat == 1
    assert names(house) == ["w2"]
    assert house.reject(cmd.TakeSeat("x", None, STACK)).text == "all 2 seats are taken"


def test_the_seat_may_be_named_too():
    house = full(RULES, "w1")
    leave(house, 1)
    assert only(house.send(cmd.TakeSeat("w1", 1, STACK)), ev.BuyInRequested).seat == 1


def test_an_offer_that_passes_goes_to_the_next_and_the_first_is_off_the_list():
    house = full(RULES, "w1", "w2")
    leave(house, 1)
    assert house.tick(59_999) == []
    events = house.tick(1)
    until = house.now_ms + 60_000
    assert events == [ev.WaitingLeft("w1", expired=True), ev.SeatOffered("w2", 1, until)]
    assert house.tick(60_000) == [ev.WaitingLeft("w2", expired=True)]
    assert names(house) == []
    assert only(house.send(cmd.TakeSeat("x", None, STACK)), ev.BuyInRequested).seat == 1


def test_whoever_stops_waiting_gives_the_offer_to_the_next():
    house = full(RULES, "w1", "w2", "w3")
    assert house.send(cmd.LeaveWaitingList("w2")) == [ev.WaitingLeft("w2")]
    leave(house, 2)
    events = house.send(cmd.LeaveWaitingList("w1"))
    assert events == [ev.WaitingLeft("w1"), ev.SeatOffered("w3", 2, house.now_ms + 60_000)]


def test_two_seats_go_to_two_and_a_third_is_anybodys():
    house = House(knobs(RULES, seats=3), [1, 2, 3])
    house.send(cmd.JoinWaitingList("w1", STACK))
    house.send(cmd.JoinWaitingList("w2", STACK))
    for seat in (3, 1, 2):
        leave(house, seat)
    assert [(waiter.account, waiter.seat) for waiter in house.state.waiting] == [("w1", 3), ("w2", 1)]
    assert house.reject(cmd.JoinWaitingList("x", STACK)).text == "seat 2 is free: take it"
    assert only(house.send(cmd.TakeSeat("w2", None, STACK)), ev.BuyInRequested).seat == 1, "its own offer first"
    assert only(house.send(cmd.TakeSeat("x", None, STACK)), ev.BuyInRequested).seat == 2


def test_whoever_takes_another_seat_leaves_the_offered_one_to_the_next():
    house = House(knobs(RULES, seats=3), [1, 2, 3])
    house.send(cmd.JoinWaitingList("w1", STACK))
    leave(house, 1)
    leave(house, 2)
    events = house.send(cmd.TakeSeat("w1", 2, STACK))
    assert kinds(events) == ["BuyInRequested"]
    assert only(house.send(cmd.TakeSeat("x", None, STACK)), ev.BuyInRequested).seat == 1
    house = full(RULES, "w1", "w2", "w3")
    leave(house, 1)
    leave(house, 2)
    house.send(cmd.LeaveWaitingList("w2"))  # w3 is offered seat 2
    events = house.send(cmd.TakeSeat("w1", 1, STACK))
    assert kinds(events) == ["BuyInRequested"]
    assert names(house) == ["w3"]


def test_a_reservation_that_comes_to_nothing_is_a_free_seat():
    for way in ("declined", "left", "expired"):
        house = full(RULES, "w1", "w2")
        leave(house, 1)
        asked = only(house.send(cmd.TakeSeat("w1", None, STACK)), ev.BuyInRequested)
        if way == "declined":
            events = house.send(cmd.RecordFundingDeclined(asked.sitting_no, "INSUFFICIENT_FUNDS", 0))
        elif way == "left":
            events = house.send(cmd.LeaveSeat("w1"))
        else:
            events = house.tick(30_000)
        assert only(events, ev.SeatOffered) == ev.SeatOffered("w2", 1, house.now_ms + 60_000), way


def test_a_seat_of_somebody_who_was_away_too_long_is_offered():
    house = full(knobs(RULES, sit_out_max_ms=10_000), "w1")
    house.send(cmd.SitOut("a1"))
    assert kinds(house.tick(10_000)) == ["LeaveRequested", "CashOutRequested", "SeatOffered"]


def test_a_draining_table_offers_nothing_and_keeps_the_list():
    house = full(RULES, "w1", "w2")
    leave(house, 1)
    house.send(cmd.DrainTable("op"))
    assert house.state.waiting == (Waiter("w1", STACK), Waiter("w2", STACK))
    assert next_deadline(house.state) is None
    leave(house, 2)
    assert house.reject(cmd.JoinWaitingList("w3", STACK)).reason is Reason.TABLE_NOT_OPEN
    events = house.send(cmd.ResumeTable("op"))
    assert kinds(events) == ["TableResumed", "SeatOffered", "SeatOffered"]
    assert [(w.account, w.seat) for w in house.state.waiting] == [("w1", 1), ("w2", 2)]


def test_a_closing_table_has_no_list():
    house = full(RULES, "w1")
    house.send(cmd.CloseTable("op"))
    assert house.state.waiting == ()


def test_after_an_outage_an_offer_has_its_whole_time_again():
    house = full(RULES, "w1", "w2")
    leave(house, 1)
    house.now_ms += 3_600_000
    again = [ev.SeatOffered("w1", 1, house.now_ms + 60_000)]
    assert house.send(cmd.RestartClocks("OUTAGE")) == again
    assert next_deadline(house.state) == house.now_ms + 60_000
    assert full(RULES, "w1").send(cmd.RestartClocks("OUTAGE")) == []

"""Sitting out for too long, by the clock or by hands missed, gives the seat up and pays the chips out (B.17)."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from stud_core.state import Sit
from stud_core.timers import next_deadline
from tests.support.core_table import FREE, knobs, none, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE, auto_post_default=True)
BY_CLOCK = knobs(RULES, sit_out_max_ms=60_000)
BY_HANDS = knobs(RULES, sit_out_max_hands=2)


def kinds(events: list[ev.Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def house_of(rules=BY_CLOCK, players: int = 3) -> House:
    return House(rules, list(range(1, players + 1)))


def play_a_hand(house: House) -> list[ev.Event]:
    """One hand to its verdict; what was said of it, and at its end."""
    house.start()
    house.passive()
    while house.state.hand is not None:
        house.tick(10_000)
    return house.send(cmd.RecordVerdict(house.state.ended_hand, 1))


@pytest.mark.knob("sit_out_max_ms", None, 60_000)
@pytest.mark.parametrize(("allowed", "ends"), [(None, 0), (60_000, 1_060_000)])
def test_whoever_sits_out_is_told_until_when(allowed: int | None, ends: int):
    house = house_of(knobs(RULES, sit_out_max_ms=allowed))
    assert house.send(cmd.SitOut("a2")) == [ev.SatOut(2, 2, ev.OutReason.REQUESTED, ends)]
    assert house.at(2).out_until_ms == ends
    assert next_deadline(house.state) == (ends or None)


def test_the_seat_is_given_up_when_the_clock_ends_and_not_before():
    house = house_of()
    house.send(cmd.SitOut("a2"))
    assert house.tick(59_999) == []
    events = house.tick(1)
    assert events == [ev.LeaveRequested(2, 2, idle=True), ev.CashOutRequested("XTS", 2, "a2", 10_000, 0)]
    assert house.state.seats[2] == 0
    assert house.state.sittings[2].status is Sit.CASHING_OUT
    assert next_deadline(house.state) is None


def test_whoever_comes_back_keeps_the_seat_and_begins_anew_next_time():
    house = house_of()
    house.send(cmd.SitOut("a2"))
    house.now_ms += 59_999
    house.send(cmd.SitIn("a2"))
    assert (house.at(2).out_until_ms, house.at(2).hands_missed) == (0, 0)
    assert house.tick(60_000) == []
    assert only(house.send(cmd.SitOut("a2")), ev.SatOut).leaves_at_ms == house.now_ms + 60_000


def test_each_way_to_sit_out_starts_the_clock():
    house = House(BY_CLOCK, [1, 2])
    house.start()
    missed = only(house.tick(10_000), ev.SatOut)
    assert (missed.reason, missed.leaves_at_ms) == (ev.OutReason.MISSED_BRING_IN, house.now_ms + 60_000)
    house = House(BY_CLOCK)
    for seat in (1, 2, 3):
        house.sit(seat, auto_post=False)
    house.ready_deck()
    house.send(cmd.StartHand())
    declined = house.send(cmd.PostAnte("a1", house.hand.prompts[0].prompt_id, post=False))
    assert only(declined, ev.SatOut).leaves_at_ms == house.now_ms + 60_000
    at_once = house.tick(10_000)
    assert {e.leaves_at_ms for e in at_once if isinstance(e, ev.SatOut)} == {house.now_ms + 60_000}


def test_whoever_has_no_chips_sits_out_by_the_same_clock():
    up = {1: "2c 7d 9h Js", 2: "Ad Ah 5c 6d", 3: "Kd Kh 8c Td"}
    down = {1: "3s 4d 8h", 2: "As 2d 3c", 3: "Ks 5h 4s"}
    house = House(BY_CLOCK, {1: 50, 2: 10_000, 3: 10_000}, up=up, down=down)
    play_a_hand(house)
    assert house.at(1).stack == 0
    house.start()
    assert house.at(1).out_reason is ev.OutReason.NO_CHIPS
    assert house.at(1).out_until_ms == house.now_ms + 60_000
    gone = only(house.tick(60_000), ev.CashOutRequested)
    assert (gone.account, gone.claim) == ("a1", 0)


def test_a_hand_is_finished_and_verified_first():
    house = house_of(knobs(BY_CLOCK, sit_out_max_ms=1_000))
    house.start()
    house.send(cmd.SitOut("a3"))
    assert next_deadline(house.state) == house.hand.deadline_ms, "nobody is waited for who is in the hand"
    assert house.tick(5_000) == []
    house.passive()
    while house.state.hand is not None:
        house.tick(10_000)
    assert house.at(3).status is Sit.SEATED
    assert house.tick(10_000) == [], "the verdict is still out"
    events = house.send(cmd.RecordVerdict(1, 1))
    assert kinds(events) == ["TableHandVerified", "LeaveRequested", "CashOutRequested"]
    assert only(events, ev.CashOutRequested).after_hand == 1


def test_an_ante_that_was_posted_is_played_or_returned_first():
    house = House(knobs(BY_CLOCK, sit_out_max_ms=1_000))
    house.sit(1)
    house.sit(2, auto_post=False)
    house.ready_deck()
    house.send(cmd.StartHand())
    house.send(cmd.SitOut("a1"))
    assert house.tick(5_000) == []
    events = house.tick(5_000)  # the other one does not answer
    assert kinds(events) == ["AnteMissed", "SatOut", "AntesReturned", "LeaveRequested", "CashOutRequested"]
    assert only(events, ev.LeaveRequested).sitting_no == 1


@pytest.mark.knob("sit_out_max_hands", None, 2)
@pytest.mark.parametrize("most", [None, 2])
def test_hands_that_were_missed_are_counted_where_the_house_counts_them(most: int | None):
    house = house_of(knobs(RULES, sit_out_max_hands=most), players=4)
    house.send(cmd.SitOut("a4"))
    assert none(play_a_hand(house), ev.LeaveRequested)
    assert house.at(4).hands_missed == 1
    events = play_a_hand(house)
    if most is None:
        assert none(events, ev.LeaveRequested)
        assert house.at(4).hands_missed == 2
    else:
        assert kinds(events) == ["TableHandVerified", "LeaveRequested", "CashOutRequested"]
        assert only(events, ev.LeaveRequested) == ev.LeaveRequested(4, 4, idle=True)


def test_a_hand_that_one_plays_to_its_end_is_not_missed():
    house = house_of(BY_HANDS, players=4)
    house.start()
    house.send(cmd.SitOut("a4"))
    house.passive()
    while house.state.hand is not None:
        house.tick(10_000)
    house.send(cmd.RecordVerdict(1, 1))
    assert house.at(4).hands_missed == 0
    assert none(play_a_hand(house), ev.LeaveRequested)
    assert house.at(4).hands_missed == 1
    house.send(cmd.SitIn("a4"))
    assert house.at(4).hands_missed == 0


def test_what_waits_for_a_hand_is_paid_out_too():
    house = house_of()
    house.start()
    house.send(cmd.AddChips("a3", 700))
    house.send(cmd.RecordTopUp(3, 1, 700))
    house.passive()
    while house.state.hand is not None:
        house.tick(10_000)
    house.send(cmd.RecordVerdict(1, 1))
    stack = house.at(3).stack + house.at(3).pending
    house.send(cmd.SitOut("a3"))
    asked = house.send(cmd.AddChips("a3", 300))
    assert kinds(asked) == ["TopUpRequested"]
    assert kinds(house.tick(60_000)) == ["LeaveRequested"], "the wallet has not answered yet"
    assert only(house.send(cmd.RecordTopUp(3, 2, 300)), ev.CashOutRequested).claim == stack + 300


def test_after_an_outage_nobody_has_lost_a_minute_of_it():
    house = house_of()
    house.send(cmd.SitOut("a2"))
    house.now_ms += 3_600_000
    deadline = house.now_ms + 60_000
    restarted = [ev.ClockRestarted(None, None, deadline, "OUTAGE", 2)]
    assert house.send(cmd.RestartClocks("OUTAGE")) == restarted
    assert (house.at(2).out_until_ms, house.at(2).sitting_out) == (deadline, True)
    assert house.tick(59_999) == []
    assert kinds(house.tick(1)) == ["LeaveRequested", "CashOutRequested"]


def test_whoever_leaves_already_has_no_clock_that_starts_afresh():
    """The referee knows no such sitting any more."""
    house = house_of()
    house.send(cmd.SitOut("a2"))
    house.send(cmd.LeaveSeat("a2"))
    assert house.send(cmd.RestartClocks("OUTAGE")) == []
    house.start()
    house.send(cmd.SitOut("a3"))
    house.send(cmd.LeaveSeat("a3"))
    assert [e.sitting_no for e in house.send(cmd.RestartClocks("OUTAGE")) if isinstance(e, ev.ClockRestarted)] == [None]


def test_in_a_hand_the_clocks_of_all_start_afresh():
    house = house_of(players=4)
    house.send(cmd.SitOut("a4"))
    house.start()
    house.now_ms += 3_600_000
    turn, sitting = house.send(cmd.RestartClocks("OUTAGE"))
    assert turn == ev.ClockRestarted(house.hand.turn_id, None, house.now_ms + 10_000, "OUTAGE")
    assert sitting == ev.ClockRestarted(None, None, house.now_ms + 60_000, "OUTAGE", 4)
    assert house.hand.deadline_ms == house.now_ms + 10_000


def test_two_go_at_once_and_a_closing_table_ends_with_them():
    house = house_of(players=2)
    house.send(cmd.SitOut("a1"))
    house.send(cmd.SitOut("a2"))
    events = house.tick(60_000)
    assert kinds(events) == ["LeaveRequested", "LeaveRequested", "CashOutRequested", "CashOutRequested"]
    assert house.send(cmd.CloseTable("op"))
    house.send(cmd.RecordCashOut(1, 10_000))
    assert kinds(house.send(cmd.RecordCashOut(2, 10_000))) == ["PlayerLeft", "TableClosed"]

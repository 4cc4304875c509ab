"""Timeouts and clocks that start afresh."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.evolve import apply
from stud_core.presets import PLAYNOW
from stud_core.state import Hand, Phase, Prompt, Table
from stud_core.timers import next_deadline
from tests.support.core_table import FREE, kinds, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)


def test_nothing_is_due():
    house = House(RULES, [1, 2])
    assert house.send(cmd.Tick()) == []
    house.start()
    assert next_deadline(house.state) == house.hand.deadline_ms
    assert house.tick(9_999) == []


def test_a_missed_bring_in():
    house = House(RULES, [1, 2])
    house.start()
    turn = house.hand.turn_id
    events = house.tick(10_000)
    assert kinds(events) == ["ActionTaken", "SatOut", "TurnStarted"]
    action = only(events, ev.ActionTaken)
    assert (action.verb, action.by, action.turn_id) == (ev.Verb.BRING_IN, ev.By.TIMEOUT, turn)
    assert only(events, ev.SatOut).reason is ev.OutReason.MISSED_BRING_IN
    assert house.hand.turn_id == house.state.version


def test_missed_turns():
    house = House(RULES, [1, 2, 3])
    house.start()
    house.play("1 bring_in")
    events = house.tick(10_000)
    assert only(events, ev.ActionTaken).verb is ev.Verb.FOLD
    assert only(events, ev.SatOut).reason is ev.OutReason.MISSED_ACTION
    house.play("3 call")
    seat = house.hand.turn_seat
    house.send(cmd.SitOut(f"a{seat}"))
    events = house.tick(10_000)
    assert kinds(events) == ["ActionTaken", "TurnStarted"], "he sits out already"
    assert only(events, ev.ActionTaken).verb is ev.Verb.CHECK


def test_a_leaving_player_is_never_on_the_clock():
    house = House(RULES, [1, 2, 3])
    house.start()
    house.play("1 bring_in")
    house.send(cmd.LeaveSeat("a2"))
    assert house.hand.turn_seat == 3


def test_silence_of_the_last_but_one_ends_the_hand():
    house = House(RULES, [1, 2])
    house.start()
    house.play("1 bring_in")
    events = house.tick(10_000)
    assert kinds(events) == ["ActionTaken", "SatOut", "UncalledReturned", "PotAwarded", "ShowPrompted"]
    assert kinds(house.tick(10_000)) == ["HandMucked", "HandEnded"]


def test_clocks_start_afresh_after_a_fault():
    # Seat 1 acts first, and wins: seat 2 will be asked whether he shows.
    rules = knobs(RULES, ante_clock_ms=7_000, show_clock_ms=9_000)
    house = House(rules, up={1: "2c Kd Jh 9s", 2: "5d Td 8h 6s"}, down={1: "Ac Ah 3h", 2: "Qd 4c 2h"})
    house.sit(1, auto_post=False, muck_losing=False)
    house.sit(2, auto_post=False, muck_losing=False)
    assert house.send(cmd.RestartClocks("failover")) == []
    house.ready_deck()
    house.send(cmd.StartHand())
    prompt = house.hand.prompts[0].prompt_id
    house.now_ms += 60_000
    deadline = house.now_ms + 7_000
    assert house.send(cmd.RestartClocks("failover")) == [ev.ClockRestarted(None, prompt, deadline, "failover")]
    assert {p.deadline_ms for p in house.hand.prompts} == {deadline}
    house.send(cmd.PostAnte("a1", prompt))
    house.send(cmd.PostAnte("a2", prompt))
    assert house.send(cmd.RestartClocks("failover")) == [], "cards are being dealt: no clock runs"
    house.deal_on()
    turn = house.hand.turn_id
    house.now_ms += 60_000
    deadline = house.now_ms + 10_000
    assert house.send(cmd.RestartClocks("failover")) == [ev.ClockRestarted(turn, None, deadline, "failover")]
    assert (house.hand.turn_id, house.hand.deadline_ms) == (turn, deadline)
    house.passive()
    assert house.hand.phase is Phase.SHOW_PROMPTS
    house.now_ms += 60_000
    restarted = only(house.send(cmd.RestartClocks("failover")), ev.ClockRestarted)
    assert restarted.prompt_id == house.hand.prompts[0].prompt_id
    assert next_deadline(house.state) == house.now_ms + 9_000


def test_a_restarted_clock_is_that_of_one_prompt():
    prompts = (Prompt(7, 1, 50), Prompt(8, 2, 50))
    table = Table(hand=Hand(1, Phase.SHOW_PROMPTS, 1, prompts=prompts, deadline_ms=40))
    apply(table, ev.ClockRestarted(None, 8, 90, "failover"))
    assert table.running.prompts == (Prompt(7, 1, 50), Prompt(8, 2, 90))
    assert table.running.deadline_ms == 40


@pytest.mark.parametrize("clock_ms", [0, 60_000])
def test_a_reservation_runs_out_before_a_turn_or_a_prompt(clock_ms: int):
    """Only what is due is taken, and a clock of 0 never is."""
    house = House(knobs(RULES, action_clock_ms=clock_ms, ante_clock_ms=clock_ms), [1])
    house.sit(2, auto_post=False)
    house.send(cmd.TakeSeat("late", 5, 100))
    house.ready_deck()
    house.send(cmd.StartHand())
    assert kinds(house.tick(30_000)) == ["SeatReleased", "CashOutRequested"]
    house.send(cmd.PostAnte("a2", house.hand.prompts[0].prompt_id))
    house.deal_on()
    house.send(cmd.TakeSeat("later", 5, 100))
    assert kinds(house.tick(30_000)) == ["SeatReleased", "CashOutRequested"]
    assert house.hand.turn_seat == 1


def test_a_reservation_and_a_turn_run_out_in_one_commit():
    house = House(RULES, [1, 2])
    house.send(cmd.TakeSeat("late", 5, 100))
    house.now_ms += 20_000
    house.start()
    events = house.tick(10_000)
    assert kinds(events) == ["SeatReleased", "CashOutRequested", "ActionTaken", "SatOut", "TurnStarted"]

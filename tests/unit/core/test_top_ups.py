"""Chips that come to a seated player: limits, waiting, leaving."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason
from stud_core.ruleset import TopUp
from stud_core.state import Sit
from tests.support.core_table import kinds, knobs, only
from tests.unit.core.house import House


def broke_house() -> House:
    """Minimum 5000, maximum 20000; seat 2 has 3250 after hand 1, which is verified."""
    up = {1: "Ac Kd Jh 9s", 2: "2c Td 8h 6s"}
    house = House(PLAYNOW, {1: 10_000, 2: 5_000}, up=up, down={1: "As Ad 3h", 2: "Qc 7d 4h"})
    house.start()
    house.play("2 bring_in, 1 call, 1 bet, 2 call, 1 bet, 2 call")
    house.passive()
    house.send(cmd.RecordVerdict(1, 1))
    assert house.at(2).stack == 3_250
    return house


@pytest.mark.knob("top_up", TopUp.WITHIN_LIMITS)
def test_the_resulting_stack_lies_within_the_limits():
    house = broke_house()
    for amount in (0, -5, 1_749, 16_751):
        refusal = house.reject(cmd.AddChips("a2", amount))
        assert (refusal.reason, refusal.rule) == (Reason.TOP_UP_OUT_OF_LIMITS, "B.19")
    assert house.send(cmd.AddChips("a2", 1_750)) == [ev.TopUpRequested("XTS", False, 2, 1, "a2", 1_750)]
    assert house.reject(cmd.AddChips("a2", 1_750)).reason is Reason.TOP_UP_OPEN
    assert house.reject(cmd.AddChips("nobody", 1_750)).reason is Reason.NOT_SEATED


def test_between_hands_funded_chips_are_playable_at_once():
    house = broke_house()
    house.send(cmd.AddChips("a2", 2_000))
    events = house.send(cmd.RecordTopUp(2, 1, 2_000))
    assert events == [ev.TopUpPending(2, 1, 2_000, 2_000), ev.ChipsAdded(2, 2, 2_000, 0, 5_250)]
    assert house.reject(cmd.RecordTopUp(2, 1, 2_000)).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.RecordTopUpDeclined(2, 1, "X")).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.RecordTopUp(9, 1, 2_000)).reason is Reason.UNKNOWN_SITTING
    assert house.at(2).top_up_open == 0


def test_a_declined_top_up_changes_nothing():
    house = broke_house()
    house.send(cmd.AddChips("a2", 2_000))
    assert house.send(cmd.RecordTopUpDeclined(2, 1, "INSUFFICIENT_FUNDS", 1_234)) == [
        ev.TopUpRefused(2, 1, "INSUFFICIENT_FUNDS", 1_234)
    ]
    assert (house.at(2).stack, house.at(2).pending, house.at(2).top_up_open) == (3_250, 0, 0)
    assert (house.at(2).top_up_refused, house.at(2).top_up_balance) == ("INSUFFICIENT_FUNDS", 1_234)
    house.send(cmd.AddChips("a2", 1_800))
    assert house.at(2).top_up_no == 2
    assert (house.at(2).top_up_refused, house.at(2).top_up_balance) == ("", None)


def test_in_a_hand_chips_wait_for_the_verdict():
    house = House(PLAYNOW, [1, 2])
    house.start()
    house.send(cmd.AddChips("a2", 100))
    assert kinds(house.send(cmd.RecordTopUp(2, 1, 100))) == ["TopUpPending"]
    house.play("1 bring_in, 2 fold")
    house.send(cmd.ChooseShow("a1", house.hand.prompts[0].prompt_id, show=False))
    assert house.at(2).pending == 100
    assert house.send(cmd.RecordVerdict(1, 9)) == [
        ev.TableHandVerified(1, 9),
        ev.ChipsAdded(2, 2, 100, 0, 10_050),
    ]


@pytest.mark.knob("top_up", TopUp.WITHIN_LIMITS, TopUp.ANY_AMOUNT)
@pytest.mark.parametrize("top_up", TopUp)
def test_what_does_not_fit_stays_pending_and_is_paid_out(top_up: TopUp):
    """The maximum is that of both; they differ below the minimum."""
    up = {1: "2c 4d 6h 8s", 2: "Ac Kd Jh 9s"}
    house = House(knobs(PLAYNOW, top_up=top_up), {1: 20_000, 2: 20_000}, up=up, down={1: "Qc Th 3s", 2: "As Ad 3h"})
    house.start()
    house.play("1 bring_in, 2 call, 2 bet")
    # 500 and the bring-in are in the pot, so a top-up fits now; he wins, and it fits no more.
    house.send(cmd.AddChips("a2", 700))
    house.send(cmd.RecordTopUp(2, 1, 700))
    house.play("1 call")
    house.passive()
    assert house.at(2).stack == 20_750
    assert kinds(house.send(cmd.RecordVerdict(1, 1))) == ["TableHandVerified"]
    assert house.at(2).pending == 700
    assert kinds(house.start())[0] == "AntesOpened"
    house.send(cmd.LeaveSeat("a2"))
    house.passive()
    house.tick(10_000)  # seat 1 won uncalled and does not show
    claim = only(house.send(cmd.RecordVerdict(2, 2)), ev.CashOutRequested).claim
    assert claim == house.state.sittings[2].stack + 700
    house.send(cmd.RecordCashOut(2, claim))
    assert (house.state.paid_in, house.state.paid_out) == (40_700, claim)


@pytest.mark.knob("top_up", TopUp.WITHIN_LIMITS, TopUp.ANY_AMOUNT)
@pytest.mark.parametrize("top_up", TopUp)
def test_chips_up_to_the_maximum_fit(top_up: TopUp):
    house = House(knobs(PLAYNOW, top_up=top_up), {1: 12_000})
    assert house.reject(cmd.AddChips("a1", 8_001)).reason is Reason.TOP_UP_OUT_OF_LIMITS
    house.send(cmd.AddChips("a1", 8_000))
    assert only(house.send(cmd.RecordTopUp(1, 1, 8_000)), ev.ChipsAdded).stack == 20_000


@pytest.mark.knob("top_up", TopUp.WITHIN_LIMITS)
def test_a_short_stack_may_ask_for_too_little_only_in_a_hand():
    house = broke_house()
    house.start()
    house.send(cmd.AddChips("a2", 10))
    assert kinds(house.send(cmd.RecordTopUp(2, 1, 10))) == ["TopUpPending"]
    house.passive()
    assert kinds(house.send(cmd.RecordVerdict(2, 2))) == ["TableHandVerified"], "3260 would be below 5000"
    assert house.at(2).pending == 10


@pytest.mark.knob("top_up", TopUp.ANY_AMOUNT)
def test_any_amount_is_a_knob():
    house = House(knobs(PLAYNOW, top_up=TopUp.ANY_AMOUNT), {1: 5_000, 2: 5_000})
    house.start()
    house.play("1 bring_in, 2 fold")
    house.tick(10_000)
    house.send(cmd.RecordVerdict(1, 1))
    house.send(cmd.AddChips("a2", 1))
    assert only(house.send(cmd.RecordTopUp(2, 1, 1)), ev.ChipsAdded).stack == 4_951


@pytest.mark.knob("max_buy_in", None)
def test_without_a_maximum_any_stack_may_grow():
    house = House(knobs(PLAYNOW, max_buy_in=None), {1: 1_000_000})
    house.send(cmd.AddChips("a1", 1_000_000))
    assert only(house.send(cmd.RecordTopUp(1, 1, 1_000_000)), ev.ChipsAdded).stack == 2_000_000


def test_leaving_waits_for_an_open_top_up():
    house = House(PLAYNOW, [1])
    house.send(cmd.AddChips("a1", 1_000))
    assert kinds(house.send(cmd.LeaveSeat("a1"))) == ["LeaveRequested"]
    assert house.at(1).status is Sit.LEAVING
    events = house.send(cmd.RecordTopUp(1, 1, 1_000))
    assert kinds(events) == ["TopUpPending", "CashOutRequested"]
    assert only(events, ev.CashOutRequested).claim == 11_000


def test_leaving_waits_for_a_top_up_that_is_declined():
    house = House(PLAYNOW, [1])
    house.send(cmd.AddChips("a1", 1_000))
    house.send(cmd.LeaveSeat("a1"))
    events = house.send(cmd.RecordTopUpDeclined(1, 1, "ACCOUNT_FROZEN"))
    assert kinds(events) == ["TopUpRefused", "CashOutRequested"]
    assert only(events, ev.CashOutRequested).claim == 10_000
    assert house.reject(cmd.RecordTopUp(1, 1, 1_000)).reason is Reason.ALREADY_DONE


def test_a_broke_player_sits_out_and_comes_back_with_chips():
    up = {1: "2c 4d 6h 8s", 2: "Ac Kd Jh 9s", 3: "7c"}
    house = House(PLAYNOW, {1: 5_000, 2: 5_000, 3: 5_000}, up=up, down={1: "Qc Th 3s", 2: "As Ad 3h"})
    house.start()
    house.play("1 bring_in, 2 complete, 3 fold, 1 raise 1000, 2 raise 1500, 1 raise 2000, 2 call")
    while house.state.hand is not None:
        verbs = {option.verb for option in house.hand.options}
        verb = next(
            v for v in (ev.Verb.RAISE, ev.Verb.BET, ev.Verb.COMPLETE, ev.Verb.CALL, ev.Verb.CHECK) if v in verbs
        )
        house.act(house.hand.turn_seat, verb.name)
    assert house.at(1).stack == 0
    house.ready_deck()
    events = house.send(cmd.StartHand())
    assert events[0] == ev.SatOut(1, 1, ev.OutReason.NO_CHIPS)
    assert only(events, ev.AntesOpened).posting == (2, 3)
    refusal = house.reject(cmd.SitIn("a1"))
    assert (refusal.reason, refusal.rule) == (Reason.NO_CHIPS, "B.19")
    house.send(cmd.AddChips("a1", 5_000))
    house.send(cmd.RecordTopUp(1, 1, 5_000))
    house.send(cmd.SitIn("a1"))
    house.deal_on()
    house.passive()
    house.start()
    assert only(house.log[-2][1], ev.AntesOpened).posting == (1, 2, 3)

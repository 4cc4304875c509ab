"""From reservation to cash-out: seats, presence, preferences, leaving."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.amounts import MAX_AMOUNT
from stud_core.decide import decide
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import BuyInLimit
from stud_core.state import Life, Phase, Sit, Sitting, Table
from stud_core.timers import next_deadline
from tests.support.core_table import FREE, kinds, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)


def test_nothing_happens_at_a_table_that_was_never_opened():
    for command in (cmd.TakeSeat("a", 1, 5), cmd.StartHand(), cmd.Tick(), cmd.RecordVerdict(1, 1)):
        answer = decide(Table(), command, cmd.Context(1, 1))
        assert isinstance(answer, Rejection)
        assert answer.reason is Reason.TABLE_NOT_OPEN
    with pytest.raises(LookupError, match="never opened"):
        _ = Table().rules
    with pytest.raises(LookupError, match="no hand"):
        _ = Table().running


def test_a_table_is_opened_once():
    house = House(RULES)
    assert house.reject(cmd.OpenTable(table_config(PLAYNOW))).reason is Reason.TABLE_EXISTS


@pytest.mark.knob("auto_post_default", False)
def test_from_reservation_to_seat():
    house = House(PLAYNOW)
    asked = only(house.send(cmd.TakeSeat("a3", 3, 6_000)), ev.BuyInRequested)
    assert asked == ev.BuyInRequested("XTS", False, 1, 3, "a3", 6_000, house.now_ms + 30_000, False, True)
    assert (house.at(3).status, house.at(3).stack, house.at(3).buy_in) == (Sit.RESERVED, 0, 6_000)
    assert next_deadline(house.state) == asked.expires_at_ms
    assert house.send(cmd.RecordFunding(1, 6_000)) == [ev.PlayerSeated(1, 3, 6_000)]
    assert (house.at(3).status, house.at(3).stack, house.at(3).expires_at_ms) == (Sit.SEATED, 6_000, 0)
    assert house.state.paid_in == 6_000
    assert next_deadline(house.state) is None
    assert house.reject(cmd.RecordFunding(1, 6_000)).reason is Reason.ALREADY_DONE


@pytest.mark.knob("auto_post_default", True)
def test_preferences_default_to_the_ruleset():
    house = House(WILLIAM_HILL)
    asked = only(house.send(cmd.TakeSeat("a", None, 5_000)), ev.BuyInRequested)
    assert (asked.seat, asked.auto_post, asked.muck_losing) == (1, True, True)
    asked = only(house.send(cmd.TakeSeat("b", None, 5_000, auto_post=False, muck_losing=False)), ev.BuyInRequested)
    assert (asked.seat, asked.auto_post, asked.muck_losing) == (2, False, False)


@pytest.mark.knob("auto_post_default", True, False)
@pytest.mark.knob("muck_losing_default", True, False)
@pytest.mark.parametrize("auto_post", [True, False])
@pytest.mark.parametrize("muck_losing", [True, False])
def test_what_a_player_does_not_say_the_ruleset_says(auto_post: bool, muck_losing: bool):
    house = House(knobs(RULES, auto_post_default=auto_post, muck_losing_default=muck_losing))
    asked = only(house.send(cmd.TakeSeat("a", None, 5_000)), ev.BuyInRequested)
    assert (asked.auto_post, asked.muck_losing) == (auto_post, muck_losing)
    house.send(cmd.RecordFunding(asked.sitting_no, 5_000))
    assert (house.at(1).auto_post, house.at(1).muck_losing) == (auto_post, muck_losing)


@pytest.mark.parametrize(
    ("command", "reason", "rule"),
    [
        (cmd.TakeSeat("a1", 4, 10_000), Reason.ALREADY_SEATED, ""),
        (cmd.TakeSeat("b", 0, 10_000), Reason.SEAT_OUT_OF_RANGE, "P2"),
        (cmd.TakeSeat("b", 9, 10_000), Reason.SEAT_OUT_OF_RANGE, "P2"),
        (cmd.TakeSeat("b", 1, 10_000), Reason.SEAT_TAKEN, ""),
        (cmd.TakeSeat("b", 2, 4_999), Reason.BUY_IN_TOO_SMALL, "P4"),
        (cmd.TakeSeat("b", 2, 20_001), Reason.BUY_IN_TOO_LARGE, "P3"),
    ],
)
def test_refused_seats(command: cmd.TakeSeat, reason: Reason, rule: str):
    refusal = House(PLAYNOW, [1]).reject(command)
    assert (refusal.reason, refusal.rule) == (reason, rule)


def test_nobody_looks_like_somebody_at_the_table():
    house = House(PLAYNOW)
    ann = ev.Profile("p1", "Ann", "owl", "ann")
    asked = only(house.send(cmd.TakeSeat("a", 1, 10_000, profile=ann)), ev.BuyInRequested)
    assert asked.profile == house.at(1).profile == ann
    refusal = house.reject(cmd.TakeSeat("b", 2, 10_000, profile=ev.Profile("p2", "ANN", "", "ann")))
    assert (refusal.reason, refusal.rule) == (Reason.NAME_TAKEN, "")
    assert refusal.text == "somebody at the table is called 'Ann', which looks the same: choose another"
    nameless = ev.Profile("p2")
    house.send(cmd.TakeSeat("b", 2, 10_000, profile=nameless))
    house.send(cmd.TakeSeat("c", 3, 10_000, profile=nameless))
    house.send(cmd.TakeSeat("d", 4, 10_000))
    house.send(cmd.TakeSeat("e", 5, 10_000, profile=ev.Profile("p5", "Bea", "", "bea")))
    assert [house.at(seat).profile for seat in (2, 4)] == [nameless, None]


@pytest.mark.knob("seats", 2)
def test_a_full_table():
    house = House(knobs(WILLIAM_HILL, seats=2))
    assert [house.sit(None).seat, house.sit(None).seat] == [1, 2]
    refusal = house.reject(cmd.TakeSeat("b", None, 10_000))
    assert (refusal.reason, refusal.rule) == (Reason.TABLE_FULL, "W3")
    for seat in (0, 3):
        refusal = house.reject(cmd.TakeSeat("b", seat, 10_000))
        assert (refusal.reason, refusal.rule) == (Reason.SEAT_OUT_OF_RANGE, "W3")
        assert (refusal.field, refusal.least, refusal.most) == ("seat", 1, 2)


@pytest.mark.knob("min_buy_in", 1, 12, 4_321, 1_000_000_000_000_000)
@pytest.mark.parametrize(
    ("limit", "least"),
    [
        (BuyInLimit(amount=1), 1),
        (BuyInLimit(amount=4_321), 4_321),
        (BuyInLimit(amount=MAX_AMOUNT), MAX_AMOUNT),
        (BuyInLimit(small_bets=1), 500),
        (BuyInLimit(small_bets=12), 6_000),
    ],
)
def test_the_least_buy_in_is_an_amount_or_so_many_small_bets(limit: BuyInLimit, least: int):
    house = House(knobs(PLAYNOW, min_buy_in=limit, max_buy_in=None))
    assert house.reject(cmd.TakeSeat("a", 1, least - 1)).reason is Reason.BUY_IN_TOO_SMALL
    house.send(cmd.TakeSeat("a", 1, least))


@pytest.mark.knob("max_buy_in", 1, 12, 4_321, 1_000_000_000_000_000)
@pytest.mark.parametrize(
    ("limit", "most"),
    [
        (BuyInLimit(amount=1), 1),
        (BuyInLimit(amount=4_321), 4_321),
        (BuyInLimit(amount=MAX_AMOUNT), MAX_AMOUNT),
        (BuyInLimit(small_bets=1), 500),
        (BuyInLimit(small_bets=12), 6_000),
    ],
)
def test_the_greatest_buy_in_is_an_amount_or_so_many_small_bets(limit: BuyInLimit, most: int):
    house = House(knobs(PLAYNOW, min_buy_in=BuyInLimit(amount=1), max_buy_in=limit))
    assert house.reject(cmd.TakeSeat("a", 1, most + 1)).reason is Reason.BUY_IN_TOO_LARGE
    house.send(cmd.TakeSeat("a", 1, most))


def test_a_declined_buy_in_frees_seat_and_account():
    house = House(RULES)
    house.send(cmd.TakeSeat("a", 2, 100))
    released = house.send(cmd.RecordFundingDeclined(1, "INSUFFICIENT_FUNDS", 99))
    assert released == [ev.SeatReleased(1, 2, "INSUFFICIENT_FUNDS", 99)]
    assert house.state.sittings == {}
    assert house.state.seats[2] == 0
    assert house.reject(cmd.RecordFunding(1, 100)).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.RecordFundingDeclined(1, "X")).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.RecordFunding(2, 100)).reason is Reason.UNKNOWN_SITTING
    assert house.sit(2).sitting_no == 2


def test_a_reservation_expires_and_late_money_goes_back():
    house = House(RULES)
    house.send(cmd.TakeSeat("a", 2, 100))
    assert house.tick(29_999) == []
    events = house.tick(1)
    assert events == [
        ev.SeatReleased(1, 2, "RESERVATION_EXPIRED"),
        ev.CashOutRequested("XTS", 1, "a", None, 0),
    ]
    # Nothing is left of the reservation but the account that will be paid.
    assert house.state.sittings[1] == Sitting(1, 0, "a", Sit.CASHING_OUT, 0, 0, 0, auto_post=False, muck_losing=False)
    assert house.state.seats[2] == 0
    assert house.reject(cmd.RecordFunding(1, 100)).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.RecordFundingDeclined(1, "X")).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.TakeSeat("a", 2, 100)).reason is Reason.ALREADY_SEATED
    house.send(cmd.TakeSeat("b", 2, 100))
    assert house.send(cmd.RecordCashOut(1, 100)) == [ev.PlayerLeft(1, 100)]
    house.send(cmd.TakeSeat("a", 3, 100))


def test_a_reservation_of_a_clock_that_was_set_back_since_is_over():
    house = House(RULES)
    house.send(cmd.TakeSeat("a", 2, 100))
    assert house.tick(0) == []  # made just now: a whole reservation ahead
    assert house.tick(-1) == [
        ev.SeatReleased(1, 2, "RESERVATION_EXPIRED"),
        ev.CashOutRequested("XTS", 1, "a", None, 0),
    ]


def test_leaving_while_reserved():
    house = House(RULES)
    house.send(cmd.TakeSeat("a", 2, 100))
    assert house.reject(cmd.SitOut("a")).reason is Reason.NOT_SEATED
    assert house.send(cmd.LeaveSeat("a")) == [
        ev.SeatReleased(1, 2, "SEAT_LEFT"),
        ev.CashOutRequested("XTS", 1, "a", None, 0),
    ]
    assert house.reject(cmd.LeaveSeat("a")).reason is Reason.LEAVING
    house.send(cmd.RecordCashOut(1, 0))
    assert house.state.sittings == {}


def test_leaving_between_hands_is_a_cash_out_at_once():
    house = House(RULES, {1: 700})
    events = house.send(cmd.LeaveSeat("a1"))
    assert events == [ev.LeaveRequested(1, 1), ev.CashOutRequested("XTS", 1, "a1", 700, 0)]
    assert (house.state.seats[1], house.state.sittings[1].claim) == (0, 700)
    for command in (cmd.LeaveSeat("a1"), cmd.SitOut("a1"), cmd.SitIn("a1"), cmd.AddChips("a1", 5)):
        assert house.reject(command).reason is Reason.LEAVING
    assert house.reject(cmd.SetPreferences("a1", auto_post=False)).reason is Reason.LEAVING
    house.send(cmd.RecordCashOut(1, 700))
    assert (house.state.paid_in, house.state.paid_out) == (700, 700)
    assert house.reject(cmd.RecordCashOut(1, 700)).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.LeaveSeat("a1")).reason is Reason.NOT_SEATED


def test_a_cash_out_that_nobody_asked_for():
    house = House(RULES, [1])
    assert house.reject(cmd.RecordCashOut(1, 5)).reason is Reason.UNKNOWN_SITTING
    assert house.reject(cmd.RecordCashOut(7, 5)).reason is Reason.UNKNOWN_SITTING
    assert house.reject(cmd.RecordCashOutBlocked(1, "X")).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.RecordCashOutBlocked(7, "X")).reason is Reason.UNKNOWN_SITTING


def test_a_blocked_cash_out_pauses_the_table():
    house = House(RULES, {1: 700, 2: 900})
    house.send(cmd.LeaveSeat("a1"))
    held = house.send(cmd.RecordCashOutBlocked(1, "CLAIM_MISMATCH"))
    assert held == [ev.CashOutHeld(1, "CLAIM_MISMATCH"), ev.TablePaused("CASH_OUT_BLOCKED", "")]
    assert house.state.sittings[1].status is Sit.HELD
    assert house.reject(cmd.RecordCashOutBlocked(1, "AGAIN")).reason is Reason.ALREADY_DONE
    # Operators found that 650 is right: the difference is booked outside.
    house.send(cmd.RecordCashOut(1, 650))
    assert (house.state.paid_in, house.state.paid_out) == (1_550, 650)
    house.send(cmd.LeaveSeat("a2"))
    assert kinds(house.send(cmd.RecordCashOutBlocked(2, "CLAIM_MISMATCH"))) == ["CashOutHeld", "TablePaused"]


@pytest.mark.rules("P9")
def test_sitting_out_and_in():
    house = House(RULES, [1, 2])
    assert house.reject(cmd.SitIn("a1")).reason is Reason.NOT_SITTING_OUT
    assert house.send(cmd.SitOut("a1")) == [ev.SatOut(1, 1, ev.OutReason.REQUESTED)]
    assert house.reject(cmd.SitOut("a1")).reason is Reason.ALREADY_SITTING_OUT
    assert house.at(1).out_reason is ev.OutReason.REQUESTED
    assert house.send(cmd.SitIn("a1")) == [ev.SatIn(1, 1)]
    assert (house.at(1).sitting_out, house.at(1).out_reason) == (False, None)
    assert house.reject(cmd.SitOut("nobody")).reason is Reason.NOT_SEATED
    assert house.reject(cmd.SitIn("nobody")).reason is Reason.NOT_SEATED


def test_an_all_in_player_may_sit_in_again_but_not_one_without_chips():
    """He may win the hand; who has folded, or was not dealt in, has nothing to come."""
    nothing = {1: "2c 8d Tc Jd", 2: "5d", 3: "9h"}
    house = House(RULES, {1: 50, 2: 5_000, 3: 5_000}, up=nothing, down={1: "4s 7c", 2: "As Ad", 3: "Ks Kd"})
    house.start()
    house.send(cmd.SitOut("a1"))
    assert house.send(cmd.SitIn("a1")) == [ev.SatIn(1, 1)]
    house.send(cmd.SitOut("a1"))
    house.play("2 bring_in")
    house.passive()
    assert house.at(1).stack == 0
    assert house.reject(cmd.SitIn("a1")).reason is Reason.NO_CHIPS


@pytest.mark.rules("P7")
def test_preferences():
    house = House(RULES, [1])
    assert house.send(cmd.SetPreferences("a1", muck_losing=False)) == [ev.PreferencesSet(1, 1, True, False)]
    assert house.send(cmd.SetPreferences("a1", auto_post=False)) == [ev.PreferencesSet(1, 1, False, False)]
    assert house.send(cmd.SetPreferences("a1", auto_post=False)) == []
    house.send(cmd.TakeSeat("b", 2, 100))
    assert house.send(cmd.SetPreferences("b", auto_post=True)) == [ev.PreferencesSet(2, 2, True, True)]


def test_leaving_in_a_running_hand_acts_at_every_turn():
    house = House(RULES, [1, 2, 3])
    house.start()
    house.play("1 bring_in")
    # It is his turn: he folds to the bring-in at once, and is cashed out after the verdict only.
    events = house.send(cmd.LeaveSeat("a2"))
    assert kinds(events) == ["LeaveRequested", "ActionTaken", "TurnStarted"]
    action = only(events, ev.ActionTaken)
    assert (action.verb, action.by, action.turn_id) == (ev.Verb.FOLD, ev.By.LEAVING, house.log[-2][0])
    assert house.at(2).status is Sit.LEAVING
    house.passive()
    assert house.happened(ev.CashOutRequested) == []
    events = house.send(cmd.RecordVerdict(1, 5))
    assert events == [ev.TableHandVerified(1, 5), ev.CashOutRequested("XTS", 2, "a2", 9_950, 1)]


def test_leaving_before_the_turn_chains_actions_in_one_commit():
    house = House(RULES, [1, 2, 3, 4])
    house.start()
    for seat in (2, 3):
        assert kinds(house.send(cmd.LeaveSeat(f"a{seat}"))) == ["LeaveRequested"]
    events = house.play("1 bring_in")
    assert kinds(events) == ["ActionTaken", "ActionTaken", "ActionTaken", "TurnStarted"]
    version = house.log[-1][0]
    actions = [(e.seat, e.verb.name, e.by, e.turn_id) for e in events if isinstance(e, ev.ActionTaken)][1:]
    assert actions == [(2, "FOLD", ev.By.LEAVING, version), (3, "FOLD", ev.By.LEAVING, version)]


def test_a_leaving_low_card_posts_the_bring_in():
    house = House(RULES, [1, 2, 3])
    house.ready_deck()
    house.send(cmd.StartHand())
    house.send(cmd.LeaveSeat("a1"))  # third street is being dealt
    events = house.send(house.answer())
    assert kinds(events) == ["CardsDealt", "ActionTaken", "TurnStarted"]
    assert only(events, ev.ActionTaken).verb is ev.Verb.BRING_IN
    house.play("2 call, 3 call")
    assert house.hand.turn_seat in {2, 3}  # he checked fourth street, where he could, or comes later
    house.passive()
    checks = [e.verb for e in house.happened(ev.ActionTaken) if e.seat == 1][1:]
    assert checks == [ev.Verb.CHECK] * 4


def test_an_all_in_player_who_leaves_stays_in():
    house = House(RULES, {1: 50, 2: 5_000, 3: 5_000})
    house.start()
    house.send(cmd.LeaveSeat("a1"))
    house.play("2 bring_in")
    house.passive()
    assert house.happened(ev.HandEnded)
    assert [e for e in house.happened(ev.ActionTaken) if e.seat == 1] == []
    assert 1 in [e.seat for e in house.happened(ev.HandShown) + house.happened(ev.HandMucked)]


def test_the_last_player_leaves_after_everybody_folded():
    house = House(RULES, [1, 2])
    house.start()
    house.play("1 bring_in, 2 fold")
    assert house.hand.phase is Phase.SHOW_PROMPTS
    events = house.send(cmd.LeaveSeat("a1"))
    assert kinds(events) == ["LeaveRequested", "HandMucked", "HandEnded"]
    house.send(cmd.RecordVerdict(1, 1))
    assert house.state.sittings[1].status is Sit.CASHING_OUT


def test_a_leaver_who_wins_uncalled_is_not_asked():
    house = House(RULES, [1, 2])
    house.start()
    house.play("1 bring_in")
    house.send(cmd.LeaveSeat("a1"))
    events = house.play("2 fold")
    assert kinds(events) == ["ActionTaken", "UncalledReturned", "PotAwarded", "HandMucked", "HandEnded"]
    assert only(events, ev.HandMucked).seat == 1


def test_leaving_as_a_spectator_of_the_hand_needs_no_verdict():
    house = House(RULES, [1, 2])
    house.start()
    house.sit(3, 500)
    assert kinds(house.send(cmd.LeaveSeat("a2"))) == ["LeaveRequested"], "he is in the hand"
    events = house.send(cmd.LeaveSeat("a3"))
    assert kinds(events) == ["LeaveRequested", "CashOutRequested"]
    assert only(events, ev.CashOutRequested).after_hand == 0
    house.sit(4, 600)  # and a seat freed during the hand may be taken
    assert house.state.life is Life.OPEN


# --- what the wallet tells ------------------------------------------------------


def refused(house: House, command: cmd.Command) -> str:
    refusal = house.reject(command)
    assert refusal.reason is Reason.CLAIM_MISMATCH
    return refusal.text


@pytest.mark.parametrize("amount", [-5, 0, 99, 101, 10**15])
def test_money_that_was_not_asked_for_does_not_come_to_the_table(amount: int):
    house = House(RULES)
    house.send(cmd.TakeSeat("a", 2, 100))
    told = f"the wallet reports {amount}"
    assert refused(house, cmd.RecordFunding(1, amount)) == f"sitting 1 asked for 100, {told}"
    house.send(cmd.RecordFunding(1, 100))
    house.send(cmd.AddChips("a", 100))
    assert refused(house, cmd.RecordTopUp(1, 1, amount)) == f"sitting 1 asked for 100, {told}"
    house.send(cmd.RecordTopUp(1, 1, 100))
    house.send(cmd.LeaveSeat("a"))
    assert refused(house, cmd.RecordCashOut(1, amount)) == f"sitting 1 asked for 200, {told}"
    assert house.send(cmd.RecordCashOut(1, 200)) == [ev.PlayerLeft(1, 200)]


def test_two_operators_may_pay_another_amount_of_a_held_cash_out_but_no_debt():
    house = House(RULES, [1])
    house.send(cmd.LeaveSeat("a1"))
    house.send(cmd.RecordCashOutBlocked(1, "CLAIM_MISMATCH"))
    assert refused(house, cmd.RecordCashOut(1, -1)) == "sitting 1 asked for 10000, the wallet reports -1"
    assert house.send(cmd.RecordCashOut(1, 9_999))[0] == ev.PlayerLeft(1, 9_999)


def test_who_never_sat_is_paid_what_came_and_no_debt():
    house = House(RULES)
    house.send(cmd.TakeSeat("a", 2, 100))
    house.send(cmd.LeaveSeat("a"))
    assert refused(house, cmd.RecordCashOut(1, -1)) == "sitting 1 asked for 0, the wallet reports -1"
    assert house.send(cmd.RecordCashOut(1, 0)) == [ev.PlayerLeft(1, 0)]

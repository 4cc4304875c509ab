"""Time chips, and the time that a lost connection is given: who has how much, and when it is refused (B.18)."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide.time_bank import may_protect
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason
from stud_core.ruleset import Ruleset
from tests.support.core_table import FREE, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE, auto_post_default=True)
BANK = knobs(RULES, time_bank_ms=30_000, time_bank_chips=2)
LOST = knobs(RULES, reconnect_ms=20_000)


def house_of(rules: Ruleset = BANK, players: int = 3) -> House:
    house = House(rules, list(range(1, players + 1)))
    house.start()
    return house


def finish(house: House) -> None:
    """The hand to its verdict, and the next one begins."""
    house.passive()
    while house.state.hand is not None:
        house.tick(10_000)
    house.start()


def use(house: House) -> ev.ClockExtended:
    (event,) = house.send(cmd.UseTimeChip(house.state.at(house.hand.turn_seat).account, house.hand.turn_id))
    assert isinstance(event, ev.ClockExtended)
    return event


def chips(house: House) -> list[int | None]:
    return [player.time_chips for player in house.hand.dealt_in]


@pytest.mark.knob("time_bank_ms", 0, 30_000)
@pytest.mark.knob("time_bank_chips", None, 2)
@pytest.mark.parametrize(
    ("bank_ms", "number", "dealt"), [(0, None, None), (0, 2, None), (30_000, None, 1), (30_000, 2, 2)]
)
def test_everybody_sits_down_with_as_many_chips(bank_ms: int, number: int | None, dealt: int | None):
    house = house_of(knobs(RULES, time_bank_ms=bank_ms, time_bank_chips=number))
    assert chips(house) == [dealt] * 3
    assert house.at(1).time_chips == (dealt or 0)


def test_a_chip_adds_its_time_to_the_deadline_and_is_gone():
    house = house_of()
    turn, deadline = house.hand.turn_id, house.hand.deadline_ms
    house.now_ms += 4_000
    assert use(house) == ev.ClockExtended(turn, 1, deadline + 30_000, ev.Extension.TIME_CHIP, 1)
    assert (house.hand.deadline_ms, house.at(1).time_chips) == (deadline + 30_000, 1)
    assert house.tick(35_999) == []
    assert only(house.tick(1), ev.ActionTaken).by is ev.By.TIMEOUT


def test_the_last_moment_is_in_time_and_the_next_is_not():
    house = house_of()
    house.now_ms = house.hand.deadline_ms
    use(house)
    house.now_ms = house.hand.deadline_ms + 1
    refusal = house.reject(cmd.UseTimeChip("a1", house.hand.turn_id))
    assert (refusal.reason, refusal.rule) == (Reason.DEADLINE_PASSED, "B.18")


def test_two_chips_in_one_turn_and_no_third():
    house = house_of()
    deadline = house.hand.deadline_ms
    use(house)
    assert use(house).deadline_ms == deadline + 60_000
    refusal = house.reject(cmd.UseTimeChip("a1", house.hand.turn_id))
    assert (refusal.reason, refusal.rule, refusal.text) == (Reason.NO_TIME_CHIP, "B.18", "no time chip is left")
    house.act(1, "bring_in")
    assert house.hand.deadline_ms == house.now_ms + 10_000, "the next turn has its own clock"
    assert use(house).seat == 2


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (RULES, "this table has no time bank"),
        (knobs(RULES, time_bank_chips=2), "this table has no time bank"),
        (knobs(BANK, action_clock_ms=0), "no clock runs at this table"),
    ],
)
def test_without_a_bank_or_a_clock_there_is_nothing_to_add(rules: Ruleset, text: str):
    house = house_of(rules)
    refusal = house.reject(cmd.UseTimeChip("a1", house.hand.turn_id))
    assert (refusal.reason, refusal.text) == (Reason.NO_TIME_CHIP, text)


def test_only_the_one_on_turn_has_a_clock_to_extend():
    house = House(BANK, [1, 2, 3])
    assert house.reject(cmd.UseTimeChip("a1", 1)).reason is Reason.NO_HAND
    assert house.reject(cmd.UseTimeChip("a9", 1)).reason is Reason.NOT_SEATED
    house.ready_deck()
    house.send(cmd.StartHand())
    assert house.reject(cmd.UseTimeChip("a1", 1)).reason is Reason.NOT_YOUR_TURN, "cards are being dealt"
    house.deal_on()
    assert house.reject(cmd.UseTimeChip("a2", house.hand.turn_id)).reason is Reason.NOT_YOUR_TURN
    stale = house.reject(cmd.UseTimeChip("a1", house.hand.turn_id - 1))
    assert (stale.reason, stale.turn_id) == (Reason.STALE_TURN, house.hand.turn_id)
    assert stale.text == f"the turn is {house.hand.turn_id}, not {house.hand.turn_id - 1}"


@pytest.mark.knob("time_bank_refill_hands", None, 2)
@pytest.mark.parametrize(("refill", "dealt"), [(None, [0, 0, 0, 0]), (2, [0, 1, 1, 2])])
def test_used_chips_come_back_after_so_many_hands(refill: int | None, dealt: list[int]):
    house = house_of(knobs(BANK, time_bank_refill_hands=refill))
    use(house)
    use(house)
    seen = []
    for _ in range(4):
        finish(house)
        seen.append(next(p.time_chips for p in house.hand.dealt_in if p.seat == 1))
    assert seen == dealt
    assert {p.time_chips for p in house.hand.dealt_in if p.seat != 1} == {2}, "nobody has more than they sat down with"


def test_a_clock_that_starts_afresh_has_what_was_added():
    house = house_of()
    use(house)
    house.now_ms += 3_600_000
    (restarted,) = house.send(cmd.RestartClocks("OUTAGE"))
    assert isinstance(restarted, ev.ClockRestarted)
    assert restarted.deadline_ms == house.now_ms + 40_000
    house.act(1, "bring_in")
    house.send(cmd.RestartClocks("OUTAGE"))
    assert house.hand.deadline_ms == house.now_ms + 10_000


def run_out(house: House) -> None:
    house.now_ms = house.hand.deadline_ms


def protect(house: House) -> list[ev.Event]:
    return house.send(cmd.ProtectTurn(house.hand.turn_id))


@pytest.mark.knob("reconnect_ms", None, 20_000)
@pytest.mark.parametrize("extra", [None, 20_000])
def test_a_lost_connection_is_given_more_time_where_the_house_does(extra: int | None):
    house = house_of(knobs(RULES, reconnect_ms=extra))
    run_out(house)
    assert may_protect(house.state, house.now_ms) is (extra is not None)
    if extra is None:
        refusal = house.reject(cmd.ProtectTurn(house.hand.turn_id))
        assert (refusal.reason, refusal.rule) == (Reason.ALREADY_DONE, "B.18")
        return
    house.now_ms += 7
    deadline = house.now_ms + 20_000
    assert protect(house) == [ev.ClockExtended(house.hand.turn_id, 1, deadline, ev.Extension.RECONNECT, 0)]
    assert house.hand.deadline_ms == deadline
    assert house.tick(19_999) == []
    house.act(1, "bring_in")


def test_once_in_a_hand_and_again_in_the_next():
    house = house_of(LOST)
    run_out(house)
    protect(house)
    run_out(house)
    assert not may_protect(house.state, house.now_ms)
    assert house.reject(cmd.ProtectTurn(house.hand.turn_id)).reason is Reason.ALREADY_DONE
    house.tick()
    assert house.hand.turn_seat == 2
    run_out(house)
    protect(house)  # somebody else
    house.send(cmd.SitIn("a1"))
    finish(house)
    run_out(house)
    assert only(protect(house), ev.ClockExtended).seat == 1


def test_a_clock_that_still_runs_or_a_turn_that_is_over_gets_nothing():
    house = house_of(LOST)
    house.now_ms = house.hand.deadline_ms - 1
    assert not may_protect(house.state, house.now_ms)
    assert house.reject(cmd.ProtectTurn(house.hand.turn_id)).reason is Reason.ALREADY_DONE
    run_out(house)
    stale = house.reject(cmd.ProtectTurn(house.hand.turn_id - 1))
    assert (stale.reason, stale.text) == (Reason.STALE_TURN, f"turn {house.hand.turn_id - 1} is not open")
    turn = house.hand.turn_id
    house.passive()
    assert house.reject(cmd.ProtectTurn(turn)).reason is Reason.STALE_TURN
    assert not may_protect(house.state, house.now_ms)
    endless = house_of(knobs(LOST, action_clock_ms=0))
    assert endless.reject(cmd.ProtectTurn(endless.hand.turn_id)).reason is Reason.ALREADY_DONE


def test_a_protected_turn_keeps_its_time_chips():
    house = house_of(knobs(BANK, reconnect_ms=20_000))
    run_out(house)
    assert only(protect(house), ev.ClockExtended).time_chips == 2
    assert use(house).deadline_ms == house.now_ms + 50_000
    house.now_ms += 3_600_000
    house.send(cmd.RestartClocks("OUTAGE"))
    assert house.hand.deadline_ms == house.now_ms + 60_000

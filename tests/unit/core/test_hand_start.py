"""The gate, the antes, the button: from a table at rest to a dealt hand."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.evolve import evolve
from stud_core.gate import Wait, hand_gate
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Reason
from stud_core.ruleset import DealOrigin, Ruleset
from stud_core.state import Phase
from stud_core.timers import next_deadline
from tests.support.core_table import FREE, kinds, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)
BUTTON = knobs(WILLIAM_HILL, **FREE)


def test_why_no_hand_starts():
    house = House(RULES, [1])
    assert hand_gate(house.state) is Wait.TOO_FEW_PLAYERS
    house.sit(2)
    assert hand_gate(house.state) is Wait.DECK_NOT_READY
    refusal = house.reject(cmd.StartHand())
    assert refusal.reason is Reason.HAND_NOT_STARTABLE
    assert "DECK_NOT_READY" in refusal.text
    house.ready_deck()
    assert not hand_gate(house.state)
    house.send(cmd.SitOut("a2"))
    assert hand_gate(house.state) is Wait.TOO_FEW_PLAYERS
    house.send(cmd.SitIn("a2"))
    house.send(cmd.PauseTable("maintenance", "op"))
    assert hand_gate(house.state) is Wait.PAUSED
    house.send(cmd.ResumeTable("op"))
    house.start()
    assert hand_gate(house.state) is Wait.HAND_RUNNING
    house.play("1 bring_in, 2 fold")
    house.tick(10_000)
    assert hand_gate(house.state) is Wait.VERIFYING
    house.send(cmd.RecordDispute(1, 1, ("WRONG_AWARD",)))
    assert hand_gate(house.state) is Wait.DISPUTED
    house.send(cmd.RecordResolution(1, 2, ev.ResolutionChoice.TABLE, ()))
    house.send(cmd.DrainTable("op"))
    assert hand_gate(house.state) is Wait.DRAINING
    house.send(cmd.CloseTable("op"))
    assert hand_gate(house.state) is Wait.CLOSING
    for number in (1, 2):
        house.send(cmd.RecordCashOut(number, house.state.sittings[number].claim or 0))
    assert hand_gate(house.state) is Wait.CLOSED


def test_one_unit_is_enough_to_be_dealt_in_and_nothing_is_not():
    house = House(RULES, {1: 1, 2: 5_000}, up={1: "2c 4d 6h 8s", 2: "Ac Kd Jh 9s"}, down={1: "Qc Th 3s", 2: "As Ad 3h"})
    house.start()
    assert house.happened(ev.AntePosted)[0] == ev.AntePosted(1, 1, 1, all_in=True, stack=0)
    house.passive()
    house.ready_deck()
    assert house.at(1).stack == 0
    assert hand_gate(house.state) is Wait.TOO_FEW_PLAYERS


@pytest.mark.rules("P5", "P6")
def test_one_commit_when_nobody_is_asked():
    house = House(RULES, [1, 2])
    house.ready_deck()
    before = house.state
    events = house.send(cmd.StartHand())
    assert kinds(events) == ["AntesOpened", "AntePosted", "AntePosted", "HandStarted", "DealRequested"]
    phases = [evolve(before, events[:n], house.state.version).running.phase for n in range(1, 6)]
    assert phases == [Phase.ANTES] * 3 + [Phase.DEALING] * 2
    version = house.state.version
    assert events[0] == ev.AntesOpened(1, version, 0, (), (1, 2), ev.ENGINE)
    assert events[3] == ev.HandStarted(1, 1, "test", 0, (ev.DealtIn(1, 1, "a1", 9_950), ev.DealtIn(2, 2, "a2", 9_950)))
    assert events[4] == ev.DealRequested(1, 1, 3, ev.DealMode.NORMAL, False, (1, 2))
    assert house.hand.pots == ((100, (1, 2)),)
    assert house.state.hand_start_stacks == ((1, 10_000), (2, 10_000))


def asked_house() -> House:
    """Seats 1 and 2 are asked for their antes, seat 3 posts by itself."""
    house = House(RULES)
    house.sit(1, auto_post=False)
    house.sit(2, auto_post=False)
    house.sit(3)
    house.ready_deck()
    events = house.send(cmd.StartHand())
    assert kinds(events) == ["AntesOpened", "AntePosted"]
    assert events[0] == ev.AntesOpened(1, house.state.version, house.now_ms + 10_000, (1, 2), (3,), ev.ENGINE)
    assert next_deadline(house.state) == house.now_ms + 10_000
    return house


@pytest.mark.rules("P6", "P7", "P8")
@pytest.mark.parametrize(("ruleset", "asked", "posting"), [(PLAYNOW, (1, 2), ()), (WILLIAM_HILL, (), (1, 2))])
def test_whose_ante_posts_itself_when_they_chose_nothing(
    ruleset: Ruleset, asked: tuple[int, ...], posting: tuple[int, ...]
):
    house = House(ruleset)
    for seat in (1, 2):
        sitting = only(house.send(cmd.TakeSeat(f"a{seat}", seat, 10_000)), ev.BuyInRequested).sitting_no
        house.send(cmd.RecordFunding(sitting, 10_000))
    house.ready_deck()
    opened = only(house.send(cmd.StartHand()), ev.AntesOpened)
    assert (opened.prompted, opened.posting) == (asked, posting)


@pytest.mark.rules("P5", "P8", "W4")
def test_asked_players_post_one_by_one():
    house = asked_house()
    prompt = house.hand.prompts[0].prompt_id
    assert house.send(cmd.PostAnte("a1", prompt)) == [ev.AntePosted(1, 1, 50, all_in=False, stack=9_950)]
    assert house.reject(cmd.PostAnte("a1", prompt)).reason is Reason.NO_PROMPT
    assert house.reject(cmd.PostAnte("a3", prompt)).reason is Reason.NO_PROMPT
    assert house.reject(cmd.PostAnte("nobody", prompt)).reason is Reason.NOT_SEATED
    stale = house.reject(cmd.PostAnte("a2", prompt + 1))
    assert (stale.reason, stale.prompt_id) == (Reason.STALE_PROMPT, prompt)
    assert house.reject(cmd.Act("a2", 1, ev.Verb.FOLD)).reason is Reason.NOT_YOUR_TURN
    assert kinds(house.send(cmd.PostAnte("a2", prompt))) == ["AntePosted", "HandStarted", "DealRequested"]
    assert house.reject(cmd.PostAnte("a2", prompt)).reason is Reason.NO_PROMPT


def test_an_ante_after_the_deadline():
    house = asked_house()
    prompt = house.hand.prompts[0]
    house.now_ms = prompt.deadline_ms
    assert kinds(house.send(cmd.PostAnte("a2", prompt.prompt_id))) == ["AntePosted"]
    house.now_ms = prompt.deadline_ms + 1
    assert house.reject(cmd.PostAnte("a1", prompt.prompt_id)).reason is Reason.DEADLINE_PASSED


def test_declining_an_ante_sits_out():
    house = asked_house()
    prompt = house.hand.prompts[0].prompt_id
    events = house.send(cmd.PostAnte("a1", prompt, post=False))
    assert events == [ev.AnteMissed(1, 1), ev.SatOut(1, 1, ev.OutReason.REQUESTED)]
    house.send(cmd.PostAnte("a2", prompt))
    assert house.hand.order == (2, 3)


def test_silence_sits_out_and_too_few_antes_are_returned():
    house = asked_house()
    events = house.tick(10_000)
    assert kinds(events) == ["AnteMissed", "SatOut", "AnteMissed", "SatOut", "AntesReturned"]
    assert [e for e in events if isinstance(e, ev.AnteMissed)] == [ev.AnteMissed(1, 1), ev.AnteMissed(1, 2)]
    assert only(events, ev.AntesReturned) == ev.AntesReturned(1, (ev.Refund(3, 50, 10_000),), "TOO_FEW_ANTES")
    assert {e.reason for e in events if isinstance(e, ev.SatOut)} == {ev.OutReason.MISSED_ANTE}
    assert house.state.hand is None
    assert (house.state.hand_no, house.state.deck_hand_no) == (0, 1)
    assert house.state.hand_start_stacks == ()
    house.send(cmd.SitIn("a1"))
    house.send(cmd.SitIn("a2"))
    # The same number and the same deck serve the next attempt.
    assert only(house.send(cmd.StartHand()), ev.AntesOpened).hand_no == 1


def test_sitting_out_while_asked_declines():
    house = asked_house()
    assert house.send(cmd.SitOut("a1")) == [ev.SatOut(1, 1, ev.OutReason.REQUESTED), ev.AnteMissed(1, 1)]
    assert kinds(house.send(cmd.SitOut("a3"))) == ["SatOut"], "his ante is in: he plays this hand"
    events = house.send(cmd.SitOut("a2"))
    assert kinds(events) == ["SatOut", "AnteMissed", "AntesReturned"]


def test_declining_when_already_sitting_out():
    house = asked_house()
    house.send(cmd.PostAnte("a1", house.hand.prompts[0].prompt_id))
    house.send(cmd.SitOut("a1"))
    house.send(cmd.SitIn("a1"))
    assert kinds(house.tick(10_000)) == ["AnteMissed", "SatOut", "HandStarted", "DealRequested"]


def test_leaving_while_asked_declines():
    house = asked_house()
    assert kinds(house.send(cmd.LeaveSeat("a1"))) == ["LeaveRequested", "AnteMissed", "CashOutRequested"]
    # An ante that is in keeps its player until it is known whether there is a hand.
    assert kinds(house.send(cmd.LeaveSeat("a3"))) == ["LeaveRequested"]
    events = house.tick(10_000)
    assert kinds(events) == ["AnteMissed", "SatOut", "AntesReturned", "CashOutRequested"]
    assert only(events, ev.CashOutRequested).claim == 10_000


def test_a_player_whose_ante_is_in_and_who_leaves_is_dealt_in():
    house = asked_house()
    house.send(cmd.LeaveSeat("a3"))
    prompt = house.hand.prompts[0].prompt_id
    house.send(cmd.PostAnte("a1", prompt))
    house.send(cmd.PostAnte("a2", prompt))
    assert house.hand.order == (1, 2, 3)
    house.deal_on()
    house.play("1 bring_in, 2 call")
    assert not house.hand.live[3]


@pytest.mark.knob("action_clock_ms", 0)
@pytest.mark.knob("ante_clock_ms", 0)
@pytest.mark.knob("show_clock_ms", 0)
def test_without_a_clock_the_table_waits():
    house = House(knobs(RULES, ante_clock_ms=0, action_clock_ms=0, show_clock_ms=0))
    house.sit(1, auto_post=False, muck_losing=False)
    house.sit(2, auto_post=False, muck_losing=False)
    house.ready_deck()
    assert only(house.send(cmd.StartHand()), ev.AntesOpened).deadline_ms == 0
    assert next_deadline(house.state) is None
    assert house.send(cmd.RestartClocks("fault")) == []
    prompt = house.hand.prompts[0].prompt_id
    house.send(cmd.PostAnte("a1", prompt))
    house.send(cmd.PostAnte("a2", prompt))
    house.deal_on()
    assert house.hand.deadline_ms == 0
    assert house.send(cmd.RestartClocks("fault")) == []
    house.now_ms += 10**9
    assert house.tick() == []
    house.play("1 bring_in, 2 fold")
    assert house.hand.prompts[0].deadline_ms == 0
    house.send(cmd.ChooseShow("a1", house.hand.prompts[0].prompt_id, show=False))
    assert house.state.hand is None


@pytest.mark.knob("action_clock_ms", 0, 1_000, 600_000)
@pytest.mark.knob("ante_clock_ms", 0, 1_000, 600_000)
@pytest.mark.knob("show_clock_ms", 0, 1_000, 600_000)
@pytest.mark.parametrize(("ante", "action", "show"), [(0, 1_000, 600_000), (1_000, 600_000, 0), (600_000, 0, 1_000)])
def test_each_clock_runs_as_long_as_the_ruleset_says(ante: int, action: int, show: int):
    house = House(knobs(RULES, ante_clock_ms=ante, action_clock_ms=action, show_clock_ms=show))
    house.sit(1, auto_post=False)
    house.sit(2)
    house.ready_deck()

    def left(deadline_ms: int) -> int:
        return deadline_ms - house.now_ms if deadline_ms else 0

    house.send(cmd.StartHand())
    assert left(house.hand.prompts[0].deadline_ms) == ante
    house.send(cmd.PostAnte("a1", house.hand.prompts[0].prompt_id))
    house.deal_on()
    assert left(house.hand.deadline_ms) == action
    house.play("1 bring_in, 2 fold")
    assert left(house.hand.prompts[0].deadline_ms) == show


@pytest.mark.knob("version", 1, 7, 2_147_483_647)
@pytest.mark.parametrize("version", [1, 7, 2_147_483_647])
def test_a_hand_says_by_which_version_of_the_rules_it_is_played(version: int):
    house = House(knobs(RULES, version=version), [1, 2])
    house.start()
    assert house.happened(ev.HandStarted)[0].rules_version == version


@pytest.mark.parametrize("ante", [0, 50])
def test_antes_may_be_nothing(ante: int):
    house = House(RULES, [1, 2], ante=ante)
    house.start()
    house.play("1 bring_in, 2 fold")
    house.tick(10_000)
    assert sum(pot.amount for pot in house.happened(ev.PotAwarded)) == 2 * ante
    assert len(house.happened(ev.PotAwarded)) == (1 if ante else 0)
    assert (house.at(1).stack, house.at(2).stack) == (10_000 + ante, 10_000 - ante)


@pytest.mark.rules("W26")
@pytest.mark.knob("deal_origin", DealOrigin.BUTTON)
@pytest.mark.parametrize(("first", "second", "third"), [(2, 5, 7), (1, 2, 3), (1, 2, 8), (1, 7, 8)])
def test_the_button_moves_to_the_next_player_dealt_in(first: int, second: int, third: int):
    """He may sit right beside the last one, or across empty seats."""
    house = House(BUTTON, [first, second, third])
    orders = []
    for _ in range(4):
        house.start()
        orders.append((house.hand.button, house.hand.order))
        house.send(cmd.VoidHand(house.hand.hand_no, "test", "op"))
    assert orders == [
        (third, (first, second, third)),
        (first, (second, third, first)),
        (second, (third, first, second)),
        (third, (first, second, third)),
    ]


def test_an_aborted_ante_round_does_not_move_the_button():
    house = House(BUTTON)
    house.sit(1)
    house.sit(2, auto_post=False)
    house.ready_deck()
    house.send(cmd.StartHand())
    house.tick(10_000)
    assert house.state.button == 0
    house.send(cmd.SitIn("a2"))
    house.send(cmd.StartHand())
    house.send(cmd.PostAnte("a2", house.hand.prompts[0].prompt_id))
    assert (house.hand.button, house.hand.phase) == (2, Phase.DEALING)


def test_a_third_player_who_joins_waits_for_the_next_hand():
    house = House(RULES, [1, 2])
    house.start()
    house.sit(3)
    assert house.reject(cmd.Act("a3", house.hand.turn_id, ev.Verb.CALL)).reason is Reason.NOT_YOUR_TURN
    house.play("1 bring_in, 2 fold")
    house.tick(10_000)
    house.start()
    started = house.happened(ev.HandStarted)
    assert [[player.seat for player in hand.dealt_in] for hand in started] == [[1, 2], [1, 2, 3]]

"""A preference that is switched on answers the question that is open, and only the one that it is about (P6, P44)."""

from __future__ import annotations

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide import decide
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.prompts import answered_by
from stud_core.ruleset import Ruleset
from tests.support.core_table import FREE, kinds, knobs, only
from tests.unit.core.house import House

BOTH = pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=["playnow", "william_hill"])


def asked_for_antes(rules: Ruleset, **clocks: int) -> House:
    """Seats 1 and 2 are asked, seat 3 posts by itself."""
    house = House(knobs(rules, **FREE, **clocks))
    house.sit(1, auto_post=False)
    house.sit(2, auto_post=False)
    house.sit(3)
    house.ready_deck()
    house.send(cmd.StartHand())
    return house


def asked_to_show(rules: Ruleset, kind: ev.PromptKind) -> House:
    """Seats 2 and 3 have lost, or seat 1 has won uncalled."""
    boards = {1: "2c Kd Jh 9s", 2: "5d Td 8h 6s", 3: "9h 7c 4d 3d"}
    house = House(knobs(rules, **FREE), up=boards, down={1: "Ac Ah As", 2: "Qd 4c 2h", 3: "Qc Js 2d"})
    for seat in (1, 2, 3):
        house.sit(seat, muck_losing=False)
    house.start()
    if kind is ev.PromptKind.UNCALLED_WINNER:
        house.play("1 bring_in, 2 fold, 3 fold")
    else:
        house.passive()
    assert {prompt.kind for prompt in house.hand.prompts} == {kind}
    return house


@BOTH
@pytest.mark.rules("P6", "P7")
def test_auto_post_ante_posts_the_ante_that_is_asked_for(rules: Ruleset):
    house = asked_for_antes(rules)
    posted = house.send(cmd.SetPreferences("a2", auto_post=True))
    assert posted == [ev.PreferencesSet(2, 2, True, True), ev.AntePosted(1, 2, 50, all_in=False, stack=9_950)]
    assert [prompt.seat for prompt in house.hand.prompts] == [1]
    last = house.send(cmd.SetPreferences("a1", auto_post=True))
    assert kinds(last) == ["PreferencesSet", "AntePosted", "HandStarted", "DealRequested"]
    assert len(house.hand.order) == 3


@BOTH
@pytest.mark.rules("P44")
def test_muck_losing_hands_mucks_the_hand_that_is_asked_about(rules: Ruleset):
    house = asked_to_show(rules, ev.PromptKind.LOSER)
    assert house.send(cmd.SetPreferences("a2", muck_losing=True)) == [
        ev.PreferencesSet(2, 2, True, True),
        ev.HandMucked(2),
    ]
    assert kinds(house.send(cmd.SetPreferences("a3", muck_losing=True))) == [
        "PreferencesSet",
        "HandMucked",
        "HandEnded",
    ]


@BOTH
def test_a_winner_is_not_answered_for(rules: Ruleset):
    """He has lost nothing: whether he shows is his to say."""
    house = asked_to_show(rules, ev.PromptKind.UNCALLED_WINNER)
    assert kinds(house.send(cmd.SetPreferences("a1", muck_losing=True))) == ["PreferencesSet"]
    assert house.hand.prompts


@BOTH
def test_a_preference_answers_no_other_question(rules: Ruleset):
    house = asked_for_antes(rules)
    for wish in (cmd.SetPreferences("a1", muck_losing=False), cmd.SetPreferences("a1", muck_losing=True)):
        assert kinds(house.send(wish)) == ["PreferencesSet"]
    house = asked_to_show(rules, ev.PromptKind.LOSER)
    house.send(cmd.SetPreferences("a2", auto_post=False))
    assert kinds(house.send(cmd.SetPreferences("a2", auto_post=True))) == ["PreferencesSet"]
    assert len(house.hand.prompts) == 2


@BOTH
def test_switching_off_answers_nothing_and_nor_does_what_was_on(rules: Ruleset):
    house = asked_for_antes(rules)
    assert kinds(house.send(cmd.SetPreferences("a3", auto_post=False))) == ["PreferencesSet"], "his ante is in"
    assert house.send(cmd.SetPreferences("a1", auto_post=False)) == []
    house.send(cmd.SetPreferences("a3", auto_post=True))
    assert house.hand.live[3]
    assert len(house.hand.prompts) == 2
    house = asked_to_show(rules, ev.PromptKind.LOSER)
    assert house.send(cmd.SetPreferences("a2", muck_losing=False)) == []
    assert house.send(cmd.SetPreferences("a2", auto_post=True, muck_losing=False)) == []


@BOTH
def test_who_is_not_asked_answers_nothing(rules: Ruleset):
    house = asked_for_antes(rules)
    house.send(cmd.SitOut("a1"))
    assert kinds(house.send(cmd.SetPreferences("a1", auto_post=True))) == ["PreferencesSet"]
    house.send(cmd.TakeSeat("a4", 4, 10_000, auto_post=False))
    assert kinds(house.send(cmd.SetPreferences("a4", auto_post=True))) == ["PreferencesSet"], "a seat not paid yet"
    assert not house.hand.live[1]
    assert kinds(house.send(cmd.SitIn("a1"))) == ["SatIn"], "the next hand, not this one"


def test_a_former_seat_is_not_asked():
    """Who waits to be paid out answers nothing for who sits there now."""
    house = House(knobs(PLAYNOW, **FREE), [1, 2])
    house.sit(3, auto_post=False)
    house.send(cmd.LeaveSeat("a3"))
    asked = only(house.send(cmd.TakeSeat("b", 3, 10_000, auto_post=False)), ev.BuyInRequested)
    house.send(cmd.RecordFunding(asked.sitting_no, 10_000))
    house.ready_deck()
    house.send(cmd.StartHand())
    house.reject(cmd.SetPreferences("a3", auto_post=True))
    assert answered_by(house.state, cmd.SetPreferences("a3", auto_post=True)) is None
    assert answered_by(house.state, cmd.SetPreferences("b", auto_post=True)) == house.hand.prompts[0]


@BOTH
def test_after_the_deadline_it_is_a_wish_for_later(rules: Ruleset):
    house = asked_for_antes(rules)
    house.now_ms = house.hand.prompts[0].deadline_ms
    assert kinds(house.send(cmd.SetPreferences("a1", auto_post=True))) == ["PreferencesSet", "AntePosted"]
    house.now_ms += 1
    assert kinds(house.send(cmd.SetPreferences("a2", auto_post=True))) == ["PreferencesSet"]
    assert kinds(house.tick())[:2] == ["AnteMissed", "SatOut"]
    house = asked_to_show(rules, ev.PromptKind.LOSER)
    house.now_ms = house.hand.prompts[0].deadline_ms + 1
    assert kinds(house.send(cmd.SetPreferences("a2", muck_losing=True))) == ["PreferencesSet"]


def test_without_a_clock_there_is_no_later():
    house = asked_for_antes(PLAYNOW, ante_clock_ms=0)
    house.now_ms += 10**9
    assert kinds(house.send(cmd.SetPreferences("a1", auto_post=True))) == ["PreferencesSet", "AntePosted"]


@BOTH
@pytest.mark.parametrize("showing", [False, True])
def test_a_hand_of_the_first_engine_is_played_to_its_end_as_it_was_begun(rules: Ruleset, showing: bool):
    house = asked_to_show(rules, ev.PromptKind.LOSER) if showing else asked_for_antes(rules)
    wish = cmd.SetPreferences("a2", auto_post=True, muck_losing=True)
    house.state.running.engine = ev.Engine.FIRST
    assert kinds(_decided(house, wish)) == ["PreferencesSet"]
    house.state.running.engine = ev.ENGINE
    assert kinds(_decided(house, wish))[:2] == ["PreferencesSet", "HandMucked" if showing else "AntePosted"]


def _decided(house: House, command: cmd.Command) -> list[ev.Event]:
    answer = decide(house.state, command, house.ctx())
    assert isinstance(answer, list), answer
    return answer


def test_a_hand_says_by_which_engine_it_was_begun_and_the_first_said_nothing():
    house = House(knobs(PLAYNOW, **FREE), [1, 2])
    house.ready_deck()
    for engine, said in ((ev.Engine.FIRST, None), (ev.Engine.SECOND, ev.Engine.SECOND)):
        ctx: Context = msgspec.structs.replace(house.ctx(), engine=engine)
        opened = decide(house.state, cmd.StartHand(), ctx)
        assert isinstance(opened, list)
        assert isinstance(opened[0], ev.AntesOpened)
        assert opened[0].engine is said
    house.send(cmd.StartHand())
    assert house.hand.engine is ev.ENGINE is max(ev.Engine)

"""Pausing, draining, closing, voiding; verdicts, disputes and their resolution."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import conservation
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide import step
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Reason, Rejection
from stud_core.state import Life, Phase
from tests.support.core_table import FREE, kinds, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)


def started(*seats: int) -> House:
    house = House(RULES, seats or (1, 2))
    house.start()
    return house


def end(house: House) -> list[ev.Event]:
    """Seat 1 brings in, everybody folds, he does not show."""
    house.act(1, "bring_in")
    while house.hand.phase is Phase.BETTING:
        house.act(house.hand.turn_seat, "fold")
    return house.tick(10_000)


# --- pause and drain ---------------------------------------------------------


def test_a_pause_lets_the_running_hand_finish():
    house = started()
    assert house.send(cmd.PauseTable("maintenance", "op")) == [ev.TablePaused("maintenance", "op")]
    assert house.reject(cmd.PauseTable("again", "op")).reason is Reason.TABLE_PAUSED
    end(house)
    house.ready_deck()
    assert house.reject(cmd.StartHand()).reason is Reason.HAND_NOT_STARTABLE
    assert house.send(cmd.ResumeTable("op")) == [ev.TableResumed("op")]
    assert house.reject(cmd.ResumeTable("op")).reason is Reason.TABLE_NOT_PAUSED
    house.send(cmd.StartHand())


def test_a_parked_message_holds_a_table_beside_what_an_operator_paused_for():
    house = started()
    end(house)
    house.send(cmd.PauseTable("lunch", "op"))
    house.send(cmd.PauseTable("NO_HAND", ""))
    assert (house.state.stands_for, house.state.parked) == ("lunch", "NO_HAND")
    assert house.reject(cmd.PauseTable("NO_HAND", "")).reason is Reason.TABLE_PAUSED
    assert house.reject(cmd.ResumeTable("", "UNEXPECTED_CARDS")).reason is Reason.TABLE_NOT_PAUSED
    assert house.send(cmd.ResumeTable("", "NO_HAND")) == [ev.TableResumed("", "NO_HAND")]
    assert (house.state.stands_for, house.state.parked) == ("lunch", "")
    house.send(cmd.ResumeTable("op"))
    house.send(cmd.PauseTable("NO_HAND", ""))
    house.ready_deck()
    assert house.reject(cmd.StartHand()).reason is Reason.HAND_NOT_STARTABLE
    house.send(cmd.ResumeTable("op"))  # whatever it stands for, an operator may let it go on
    house.send(cmd.StartHand())


def test_a_pause_without_a_reason_has_one():
    assert House(RULES).send(cmd.PauseTable("", "op")) == [ev.TablePaused("PAUSED", "op")]


def test_draining_finishes_the_hand_and_starts_none():
    house = started()
    assert house.send(cmd.DrainTable("op")) == [ev.TableDraining("op")]
    assert house.reject(cmd.DrainTable("op")).reason is Reason.TABLE_NOT_OPEN
    assert house.reject(cmd.TakeSeat("x", 5, 100)).reason is Reason.TABLE_NOT_OPEN
    end(house)
    house.ready_deck()
    assert house.reject(cmd.StartHand()).reason is Reason.HAND_NOT_STARTABLE
    house.send(cmd.PauseTable("too", "op"))
    house.send(cmd.ResumeTable("op"))
    assert (house.state.life, house.state.paused) == (Life.OPEN, "")
    house.send(cmd.StartHand())


def test_draining_calls_an_ante_round_off():
    house = House(RULES, [1])
    house.sit(2, auto_post=False)
    house.ready_deck()
    house.send(cmd.StartHand())
    returned = ev.AntesReturned(1, (ev.Refund(1, 50, 10_000),), "TABLE_DRAINING")
    assert house.send(cmd.DrainTable("op")) == [ev.TableDraining("op"), returned]
    assert house.at(1).stack == 10_000


# --- close -------------------------------------------------------------------


def test_closing_an_empty_table():
    house = House(RULES)
    assert house.send(cmd.CloseTable("op")) == [ev.TableDraining("op"), ev.TableClosing("op"), ev.TableClosed()]
    assert house.state.life is Life.CLOSED
    for command in (cmd.CloseTable("op"), cmd.PauseTable("x", "op"), cmd.ResumeTable("op"), cmd.DrainTable("op")):
        assert house.reject(command).reason is Reason.TABLE_NOT_OPEN


def test_closing_between_hands_cashes_everybody_out():
    house = House(RULES, [1, 2])
    house.send(cmd.TakeSeat("r", 5, 100))
    events = house.send(cmd.CloseTable("op"))
    assert kinds(events) == [
        "TableDraining", "TableClosing", "LeaveRequested", "LeaveRequested",
        "SeatReleased", "CashOutRequested", "CashOutRequested", "CashOutRequested",
    ]  # fmt: skip
    assert only(events, ev.SeatReleased).reason == "TABLE_NOT_OPEN"
    house.send(cmd.RecordCashOut(1, 10_000))
    house.send(cmd.RecordCashOut(2, 10_000))
    assert kinds(house.send(cmd.RecordCashOut(3, 0))) == ["PlayerLeft", "TableClosed"]


def test_closing_in_a_hand_waits_for_it_and_its_verdict():
    house = started(1, 2)
    house.sit(3)
    house.send(cmd.SitOut("a3"))
    events = house.send(cmd.CloseTable("op"))
    assert kinds(events) == ["TableDraining", "TableClosing", "LeaveRequested", "CashOutRequested"]
    assert only(events, ev.LeaveRequested).seat == 3
    assert house.reject(cmd.AddChips("a1", 5)).reason is Reason.TABLE_NOT_OPEN
    assert house.reject(cmd.ResumeTable("op")).reason is Reason.TABLE_NOT_PAUSED
    assert kinds(end(house)) == ["HandMucked", "HandEnded", "LeaveRequested", "LeaveRequested"]
    assert kinds(house.send(cmd.RecordVerdict(1, 1))) == [
        "TableHandVerified", "CashOutRequested", "CashOutRequested",
    ]  # fmt: skip
    for number in (1, 2):
        house.send(cmd.RecordCashOut(number, house.state.sittings[number].claim or 0))
    assert kinds(house.send(cmd.RecordCashOut(3, 10_000))) == ["PlayerLeft", "TableClosed"]


def test_closing_waits_for_who_has_folded_in_the_running_hand():
    house = started(1, 2, 3)
    house.play("1 bring_in, 2 fold")
    assert kinds(house.send(cmd.CloseTable("op"))) == ["TableDraining", "TableClosing"]
    assert kinds(house.play("3 fold"))[-1] == "ShowPrompted"
    assert kinds(house.tick(10_000)) == ["HandMucked", "HandEnded"] + ["LeaveRequested"] * 3


def test_closing_a_draining_table_with_antes_open():
    house = House(RULES, [1])
    house.sit(2, auto_post=False)
    house.ready_deck()
    house.send(cmd.StartHand())
    events = house.send(cmd.CloseTable("op"))
    assert kinds(events) == [
        "TableDraining", "AntesReturned", "TableClosing",
        "LeaveRequested", "LeaveRequested", "CashOutRequested", "CashOutRequested",
    ]  # fmt: skip
    house = House(RULES, [1])
    house.send(cmd.DrainTable("op"))
    assert kinds(house.send(cmd.CloseTable("op"))) == ["TableClosing", "LeaveRequested", "CashOutRequested"]


def test_leaving_a_closing_table_in_the_last_hand():
    house = started(1, 2, 3)
    house.send(cmd.CloseTable("op"))
    assert kinds(house.send(cmd.LeaveSeat("a3"))) == ["LeaveRequested"]
    end(house)
    assert kinds(house.send(cmd.RecordVerdict(1, 1)))[1:] == ["CashOutRequested"] * 3


def test_a_held_sitting_keeps_the_table_closing():
    house = House(RULES, [1])
    house.send(cmd.CloseTable("op"))
    house.send(cmd.RecordCashOutBlocked(1, "CLAIM_MISMATCH"))
    assert house.state.life is Life.CLOSING
    assert kinds(house.send(cmd.RecordCashOut(1, 9_000))) == ["PlayerLeft", "TableClosed"]


# --- void --------------------------------------------------------------------


def test_a_void_returns_every_contribution_once():
    house = started(1, 2, 3)
    house.play("1 bring_in, 2 complete, 3 fold")
    events = house.send(cmd.VoidHand(1, "broken", "op"))
    assert events == [
        ev.HandVoided(
            1, 1,
            (ev.Refund(1, 250, 10_000), ev.Refund(2, 550, 10_000), ev.Refund(3, 50, 10_000)),
            "broken", "op",
        )
    ]  # fmt: skip
    assert house.reject(cmd.VoidHand(1, "again", "op")).reason is Reason.HAND_ALREADY_ENDED
    assert house.reject(cmd.VoidHand(2, "early", "op")).reason is Reason.NO_HAND
    assert house.reject(cmd.VoidHand(0, "none", "op")).reason is Reason.NO_HAND
    # It needs a verdict like any other hand.
    house.send(cmd.RecordDeck(2, b"deck"))
    house.dealer.new_deck()
    assert house.reject(cmd.StartHand()).reason is Reason.HAND_NOT_STARTABLE
    house.send(cmd.RecordVerdict(1, 1))
    house.send(cmd.StartHand())
    assert house.hand.from_version == house.state.from_version


ASKED_TO_SHOW = pytest.mark.parametrize("kind", ev.PromptKind)


def may_hide(**changes: object) -> House:
    """Two players; seat 1 shows first and wins, and who loses wants to be asked."""
    house = House(knobs(RULES, **changes), up={1: "2c Ad Ah As", 2: "5d 9c 8h 3s"})
    for seat in (1, 2):
        house.sit(seat, muck_losing=False)
    house.start()
    return house


def decide_hand(house: House, kind: ev.PromptKind) -> None:
    """Play until somebody is asked whether to show: who won uncalled, or who lost."""
    if kind is ev.PromptKind.UNCALLED_WINNER:
        house.play("1 bring_in, 2 fold")
    else:
        house.passive(street=8)


def asked_to_show(kind: ev.PromptKind, **changes: object) -> House:
    house = may_hide(**changes)
    decide_hand(house, kind)
    assert [prompt.kind for prompt in house.hand.prompts] == [kind]
    return house


@ASKED_TO_SHOW
def test_one_operator_takes_no_paid_pot_back(kind: ev.PromptKind):
    house = asked_to_show(kind)
    stacks = (house.at(1).stack, house.at(2).stack)
    assert sum(stacks) == 20_000
    refusal = house.reject(cmd.VoidHand(1, "broken", "op"))
    assert (refusal.reason, refusal.rule) == (Reason.HAND_ALREADY_ENDED, "B.21")
    assert "use ResolveHand" in refusal.text
    assert kinds(house.tick(10_000)) == ["HandMucked", "HandEnded"], "the clock ends it"
    assert (house.at(1).stack, house.at(2).stack) == stacks
    house.send(cmd.RecordDispute(1, 1, ("TEST",)))
    house.send(cmd.RecordResolution(1, 2, ev.ResolutionChoice.VOID, ()))
    assert (house.at(1).stack, house.at(2).stack) == (10_000, 10_000)


@pytest.mark.parametrize("street", range(3, 8))
def test_a_hand_is_voided_as_long_as_no_pot_is_paid(street: int):
    house = started(1, 2)
    house.passive(street=street)
    house.send(cmd.VoidHand(1, "broken", "op"))
    assert (house.at(1).stack, house.at(2).stack) == (10_000, 10_000)
    assert house.state.rake_taken == 0


@ASKED_TO_SHOW
def test_a_closing_table_does_not_wait_for_an_answer_without_a_clock(kind: ev.PromptKind):
    """Nobody else could end the hand of a player who is gone: no clock, and no void any more."""
    house = asked_to_show(kind, show_clock_ms=0)
    assert kinds(house.send(cmd.CloseTable("op")))[:4] == ["TableDraining", "TableClosing", "HandMucked", "HandEnded"]


@ASKED_TO_SHOW
def test_a_closing_table_asks_only_where_a_clock_runs(kind: ev.PromptKind):
    for clock, asks in ((0, False), (10_000, True)):
        house = may_hide(show_clock_ms=clock)
        house.send(cmd.CloseTable("op"))
        decide_hand(house, kind)
        assert (house.state.hand is not None) is asks


@ASKED_TO_SHOW
def test_closing_leaves_a_question_to_its_clock(kind: ev.PromptKind):
    house = asked_to_show(kind)
    assert kinds(house.send(cmd.CloseTable("op"))) == ["TableDraining", "TableClosing"]
    assert house.hand.prompts


def test_a_void_before_the_hand_returns_the_antes():
    house = House(RULES, [1])
    house.sit(2, auto_post=False)
    house.ready_deck()
    house.send(cmd.StartHand())
    assert house.send(cmd.VoidHand(1, "broken", "op")) == [ev.AntesReturned(1, (ev.Refund(1, 50, 10_000),), "broken")]
    assert house.state.deck_hand_no == 1


def test_a_void_sends_leavers_off_after_its_verdict():
    house = started(1, 2, 3)
    house.send(cmd.LeaveSeat("a2"))
    house.send(cmd.CloseTable("op"))
    assert kinds(house.send(cmd.VoidHand(1, "broken", "op"))) == ["HandVoided", "LeaveRequested", "LeaveRequested"]
    events = house.send(cmd.RecordVerdict(1, 1))
    assert [e.claim for e in events if isinstance(e, ev.CashOutRequested)] == [10_000] * 3


def test_the_button_moves_after_a_void():
    house = House(knobs(WILLIAM_HILL, **FREE), [1, 2])
    house.start()
    assert house.hand.button == 2
    house.send(cmd.VoidHand(1, "broken", "op"))
    house.start()
    assert house.hand.button == 1


# --- verdicts ----------------------------------------------------------------


def ended(**changes: object) -> House:
    house = House(knobs(RULES, **changes), [1, 2])
    house.start()
    end(house)
    return house


def test_a_verdict_comes_once_and_in_turn():
    house = ended()
    assert house.reject(cmd.RecordVerdict(2, 1)).reason is Reason.NO_HAND
    assert house.reject(cmd.RecordVerdict(0, 1)).reason is Reason.ALREADY_DONE
    house.send(cmd.RecordVerdict(1, 1))
    for command in (
        cmd.RecordVerdict(1, 1),
        cmd.RecordDispute(1, 1, ()),
        cmd.RecordResolution(1, 1, ev.ResolutionChoice.VOID, ()),
    ):
        assert house.reject(command).reason is Reason.ALREADY_DONE


def test_a_dispute_freezes_the_table_until_it_is_resolved():
    house = ended()
    events = house.send(cmd.RecordDispute(1, 7, ("WRONG_AWARD",)))
    assert events == [ev.TableHandDisputed(1, 7, ("WRONG_AWARD",)), ev.TablePaused("HAND_DISPUTED", "")]
    assert house.reject(cmd.RecordDispute(1, 7, ())).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.ResumeTable("op")).reason is Reason.TABLE_PAUSED
    house.send(cmd.LeaveSeat("a2"))
    stacks = (ev.SeatStack(1, 1, 10_020), ev.SeatStack(2, 2, 9_980))
    events = house.send(cmd.RecordResolution(1, 8, ev.ResolutionChoice.REFEREE, stacks))
    assert events == [
        ev.TableHandResolved(1, 8, ev.ResolutionChoice.REFEREE, stacks),
        ev.CashOutRequested("XTS", 2, "a2", 9_980, 1),
    ]
    assert (house.state.paused, house.state.disputed_hand, house.state.verified_hand) == ("", 0, 1)


def test_a_resolution_names_sittings_that_are_there():
    house = ended()
    stacks = (ev.SeatStack(5, 5, 100),)
    refusal = house.reject(cmd.RecordResolution(1, 8, ev.ResolutionChoice.REFEREE, stacks))
    assert refusal.reason is Reason.UNKNOWN_SITTING


def test_a_pause_of_an_operator_outlives_a_dispute():
    house = ended()
    house.send(cmd.PauseTable("maintenance", "op"))
    assert kinds(house.send(cmd.RecordDispute(1, 7, ()))) == ["TableHandDisputed"]
    house.send(cmd.RecordResolution(1, 8, ev.ResolutionChoice.TABLE, ()))
    assert house.state.paused == "maintenance"
    assert house.at(1).stack == 10_050


def test_a_hand_resolved_as_void_never_happened():
    house = ended(rake_bps=1_000, no_rake_before_fourth=False)
    assert (house.at(1).stack, house.state.rake_taken) == (10_040, 10)
    house.send(cmd.RecordDispute(1, 7, ()))
    events = house.send(cmd.RecordResolution(1, 8, ev.ResolutionChoice.VOID, ()))
    assert only(events, ev.TableHandResolved).stacks == (ev.SeatStack(1, 1, 10_000), ev.SeatStack(2, 2, 10_000))
    assert (house.at(1).stack, house.at(2).stack, house.state.rake_taken) == (10_000, 10_000, 0)


@pytest.mark.parametrize("claimed", [0, 3, 500])
@pytest.mark.parametrize("choice", list(ev.ResolutionChoice))
def test_a_false_rake_does_not_outlive_the_dispute(choice: ev.ResolutionChoice, claimed: int):
    """What the hand says it took was never at the seats: the decision puts the table's books right again."""
    house = ended(rake_bps=1_000, no_rake_before_fourth=False)
    house.state.rake_taken = house.state.ended_rake = claimed  # as a disputed HandEnded leaves it
    assert conservation.check(house.state) is not None
    stacks = () if choice is ev.ResolutionChoice.TABLE else (ev.SeatStack(1, 1, 10_030), ev.SeatStack(2, 2, 9_950))
    house.send(cmd.RecordResolution(1, 8, choice, stacks))
    rake = {ev.ResolutionChoice.TABLE: 10, ev.ResolutionChoice.REFEREE: 20, ev.ResolutionChoice.VOID: 0}[choice]
    assert house.state.rake_taken == rake
    assert conservation.check(house.state) is None


@pytest.mark.parametrize("choice", list(ev.ResolutionChoice))
def test_how_the_last_hand_ended_is_kept_only_where_it_was_paid_so(choice: ev.ResolutionChoice):
    house = ended()
    house.send(cmd.RecordDispute(1, 7, ()))
    assert house.state.last_hand is not None
    stacks = (ev.SeatStack(1, 1, 10_020), ev.SeatStack(2, 2, 9_980))
    house.send(cmd.RecordResolution(1, 8, choice, stacks if choice is ev.ResolutionChoice.REFEREE else ()))
    assert (house.state.last_hand is None) == (choice is not ev.ResolutionChoice.TABLE)


def test_a_decision_that_makes_chips_is_not_conserved():
    house = ended(rake_bps=1_000, no_rake_before_fourth=False)
    stacks = (ev.SeatStack(1, 1, 10_051), ev.SeatStack(2, 2, 9_950))
    answer = step(house.state, cmd.RecordResolution(1, 8, ev.ResolutionChoice.REFEREE, stacks), Context(1, 99, ""))
    assert not isinstance(answer, Rejection)
    assert conservation.check(answer[1]) == "rake of -1"


def test_a_hand_that_can_never_be_verified_is_resolved_without_a_dispute():
    house = started(1, 2)
    house.send(cmd.VoidHand(1, "broken", "op"))
    house.send(cmd.RecordResolution(1, 8, ev.ResolutionChoice.VOID, ()))
    house.start()
    assert house.hand.hand_no == 2

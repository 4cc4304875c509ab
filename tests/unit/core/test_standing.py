"""What protects money outlives whatever an operator paused for, and ends with its cause.

See architecture.md, "Money that does not fit".
"""

from __future__ import annotations

import itertools

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.amounts import MAX_AMOUNT
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Reason
from stud_core.state import DEALER_SILENT, Life
from tests.support.core_table import FREE, knobs
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)
BLOCK = cmd.PauseTable("SETTLEMENT_BLOCKED", "")
PAUSE = cmd.PauseTable("lunch", "op")
RESUME = cmd.ResumeTable("op")


def ended() -> House:
    """A table whose first hand has ended, and of which one player waits for his cash-out of before."""
    house = House(RULES, [1, 2, 3])
    house.send(cmd.LeaveSeat("a3"))
    house.start()
    house.act(1, "bring_in")
    house.act(2, "fold")
    house.tick(10_000)
    return house


CAUSES: dict[str, tuple[cmd.Command, cmd.Command]] = {
    "HAND_DISPUTED": (cmd.RecordDispute(1, 7, ()), cmd.RecordResolution(1, 8, ev.ResolutionChoice.TABLE, ())),
    "SETTLEMENT_BLOCKED": (BLOCK, cmd.RecordSettlement()),
    "CASH_OUT_BLOCKED": (cmd.RecordCashOutBlocked(3, "CLAIM_MISMATCH"), cmd.RecordCashOut(3, 10_000)),
}


@pytest.mark.parametrize("reason", CAUSES)
def test_no_operator_resumes_over_it_and_its_end_does(reason: str):
    house, (begin, end) = ended(), CAUSES[reason]
    house.send(begin)
    assert house.state.paused == reason
    assert house.reject(begin).reason in {Reason.ALREADY_DONE, Reason.TABLE_PAUSED}
    assert house.reject(RESUME).reason is Reason.TABLE_PAUSED
    house.send(end)
    assert (house.state.paused, house.state.standing) == ("", "")
    assert house.state.settlement_blocked is False
    assert house.reject(end).reason is Reason.ALREADY_DONE


@pytest.mark.parametrize("reason", CAUSES)
def test_it_stands_beside_what_an_operator_paused_for(reason: str):
    house, (begin, end) = ended(), CAUSES[reason]
    house.send(PAUSE)
    house.send(begin)
    assert house.state.standing == reason
    assert house.reject(RESUME).reason is Reason.TABLE_PAUSED
    house.send(end)
    assert (house.state.paused, house.state.standing) == ("lunch", "")
    house.send(RESUME)
    assert house.state.paused == ""


@pytest.mark.parametrize("causes", list(itertools.permutations(CAUSES)))
@pytest.mark.parametrize("ends", list(itertools.permutations(CAUSES)))
def test_the_table_goes_on_when_the_last_of_them_has_ended(causes: tuple[str, ...], ends: tuple[str, ...]):
    house = ended()
    for reason in causes:
        house.send(CAUSES[reason][0])
    for reason in ends:
        assert house.state.paused
        assert house.reject(RESUME).reason is Reason.TABLE_PAUSED
        house.send(CAUSES[reason][1])
    assert house.state.paused == ""


def test_a_settlement_that_goes_through_does_not_end_draining():
    house = ended()
    house.send(cmd.DrainTable("op"))
    house.send(BLOCK)
    assert house.send(cmd.RecordSettlement()) == [ev.TableResumed("")]
    assert (house.state.life, house.state.paused) == (Life.DRAINING, "")


def test_an_operators_word_for_it_is_no_block():
    house = ended()
    house.send(cmd.PauseTable("SETTLEMENT_BLOCKED", "op"))
    assert house.state.standing == ""
    house.send(RESUME)


def test_a_fault_of_the_service_is_seen_over_an_operators_pause():
    house = ended()
    house.send(PAUSE)
    house.send(cmd.PauseTable("NOT_CONSERVED", ""))
    assert house.reject(cmd.PauseTable("NOT_CONSERVED", "")).reason is Reason.TABLE_PAUSED
    assert house.state.paused == "NOT_CONSERVED"
    house.send(RESUME)
    assert house.state.paused == ""


# --- amounts that no ledger books ----------------------------------------------


@pytest.mark.parametrize("amount", [MAX_AMOUNT + 1, 2**63 - 1, 10**19])
def test_what_the_wallet_cannot_book_is_not_asked_for(amount: int):
    house = House(knobs(WILLIAM_HILL, **FREE), [1])
    bought = house.reject(cmd.TakeSeat("a2", 2, amount))
    added = house.reject(cmd.AddChips("a1", amount))
    assert (bought.reason, added.reason) == (Reason.BUY_IN_TOO_LARGE, Reason.TOP_UP_OUT_OF_LIMITS)
    assert str(MAX_AMOUNT) in bought.text
    assert str(MAX_AMOUNT) in added.text


def test_what_it_can_book_is():
    house = House(knobs(WILLIAM_HILL, **FREE), [1])
    house.send(cmd.TakeSeat("a2", 2, MAX_AMOUNT))
    house.send(cmd.AddChips("a1", MAX_AMOUNT))


@pytest.mark.parametrize("reason", CAUSES)
def test_an_operator_may_pause_what_stands_already_and_then_its_end_does_not_go_on(reason: str):
    house, (begin, end) = ended(), CAUSES[reason]
    house.send(begin)
    house.send(PAUSE)
    assert house.reject(PAUSE).reason is Reason.TABLE_PAUSED
    house.send(end)
    assert (house.state.paused, house.state.standing) == ("lunch", "")
    house.send(RESUME)
    assert house.state.paused == ""


def test_a_silent_dealer_is_no_reason_to_lose_an_operators_pause():
    """Whichever comes first: the operator's stays when the cards have come."""
    house = House(RULES, [1, 2])
    house.send(cmd.PauseTable(DEALER_SILENT, ""))
    house.send(PAUSE)
    assert house.reject(cmd.PauseTable(DEALER_SILENT, "")).reason is Reason.TABLE_PAUSED
    house.send(cmd.ResumeTable(""))
    assert house.state.paused == "lunch"
    house.send(RESUME)
    house.send(cmd.PauseTable(DEALER_SILENT, ""))
    house.send(cmd.ResumeTable(""))
    assert house.state.paused == ""


def test_a_settlement_that_was_not_blocked_says_so():
    assert ended().reject(cmd.RecordSettlement()).text == "no settlement is blocked"

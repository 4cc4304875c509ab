"""The check that no chip appears or vanishes, shown states in which one did."""

from __future__ import annotations

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core.conservation import check
from stud_core.presets import PLAYNOW
from tests.support.core_table import FREE, knobs
from tests.unit.core.house import House


def running() -> House:
    house = House(knobs(PLAYNOW, **FREE), [1, 2])
    house.start()
    house.play("1 bring_in")
    return house


def test_nothing_is_wrong():
    assert check(running().state) is None


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("rake_taken", -1, "rake of -1"),
        ("rake_taken", 1, "20001 at the table, but 20000 paid in and 0 paid out"),
        ("paid_out", 5, "20000 at the table, but 20000 paid in and 5 paid out"),
    ],
)
def test_faults_of_the_table(field: str, value: int, text: str):
    state = msgspec.structs.replace(running().state, **{field: value})
    assert check(state) == text


@pytest.mark.parametrize("field", ["stack", "pending"])
def test_negative_chips(field: str):
    state = running().state
    sitting = msgspec.structs.replace(state.sittings[1], **{field: -5})
    problem = check(msgspec.structs.replace(state, sittings=state.sittings | {1: sitting}))
    assert problem is not None
    assert "sitting 1" in problem


@pytest.mark.parametrize(("field", "value"), [("awarded", 1_000), ("rake", -1), ("bet", [-1] * 9), ("paid", [-1] * 9)])
def test_faults_of_the_hand(field: str, value: object):
    state = running().state
    hand = msgspec.structs.replace(state.running, **{field: value})
    problem = check(msgspec.structs.replace(state, hand=hand))
    assert problem is not None
    assert "hand 1" in problem


def test_a_claim_counts_until_it_is_paid():
    house = House(knobs(PLAYNOW, **FREE), [1])
    house.send(cmd.LeaveSeat("a1"))
    assert check(house.state) is None
    state = msgspec.structs.replace(house.state, sittings={})
    assert check(state) == "0 at the table, but 10000 paid in and 0 paid out"

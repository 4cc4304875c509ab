"""The arithmetic of the river, over all 462 ways to get there."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

import pytest

from stud_core.events import DealMode
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.river import RiverPlan, river_plan
from stud_core.ruleset import RiverShortage, Ruleset
from tests.support.core_table import knobs

TUPLES = [tuple(reversed(counts)) for counts in combinations_with_replacement(range(2, 9), 5)]
COMMUNITY = {
    (8, 8, 8, 8, 8), (8, 8, 8, 8, 7), (8, 8, 8, 8, 6), (8, 8, 8, 8, 5),
    (8, 8, 8, 7, 7), (8, 8, 8, 7, 6), (8, 8, 7, 7, 7),
}  # fmt: skip
EXACT = {(8, 8, 8, 8, 4), (8, 8, 8, 7, 5), (8, 8, 8, 6, 6), (8, 8, 7, 7, 6), (8, 7, 7, 7, 7)}


def modes(ruleset: Ruleset) -> Counter[str]:
    return Counter(river_plan(ruleset, counts).mode.name for counts in TUPLES)


def test_there_are_462_ways_to_the_river():
    assert len(TUPLES) == len(set(TUPLES)) == 462
    assert modes(PLAYNOW) == {"NORMAL": 424, "RECYCLE": 31, "COMMUNITY": 7}
    assert modes(WILLIAM_HILL) == {"NORMAL": 455, "COMMUNITY": 7}


@pytest.mark.parametrize("ruleset", [PLAYNOW, WILLIAM_HILL], ids=lambda ruleset: ruleset.name)
def test_no_plan_deals_a_card_that_is_not_there(ruleset: Ruleset):
    for counts in TUPLES:
        plan = river_plan(ruleset, counts)
        dealt = 3 * counts[0] + sum(counts[1:4])
        burnt = 3 if ruleset.burns else 0
        assert plan.stub == 52 - dealt - burnt >= 1
        if plan.mode is DealMode.COMMUNITY:
            assert counts in COMMUNITY
            assert plan.pool >= 1
        else:
            assert plan.pool >= counts[4]
        if plan.mode is DealMode.NORMAL:
            assert plan.pool == plan.stub - plan.burn
            assert plan.burn == ruleset.burns
        if plan.mode is DealMode.RECYCLE:
            assert not plan.burn
            assert (plan.pool == counts[4]) == (counts in EXACT)


def test_nothing_runs_short_below_seven_players():
    for counts in TUPLES:
        if counts[0] <= 6:
            assert river_plan(PLAYNOW, counts).mode is DealMode.NORMAL
        elif counts[0] == 7:
            mode = river_plan(PLAYNOW, counts).mode
            assert (mode is DealMode.RECYCLE) == (counts == (7, 7, 7, 7, 7))


@pytest.mark.knob("river_burn_reserve", 0, 1, 2)
def test_the_reserve_decides_the_boundary():
    exact = (7, 7, 7, 7, 7)
    assert river_plan(knobs(PLAYNOW, river_burn_reserve=0), exact) == RiverPlan(DealMode.NORMAL, False, 7, 7)
    tight = (7, 7, 7, 7, 6)
    assert river_plan(knobs(PLAYNOW, river_burn_reserve=1), tight) == RiverPlan(DealMode.NORMAL, True, 7, 6)
    assert river_plan(knobs(PLAYNOW, river_burn_reserve=2), tight) == RiverPlan(DealMode.RECYCLE, False, 7, 10)


@pytest.mark.knob("river_shortage", RiverShortage.COMMUNITY)
def test_burns_without_recycling_go_to_a_community_card():
    ruleset = knobs(PLAYNOW, river_shortage=RiverShortage.COMMUNITY)
    assert river_plan(ruleset, (7, 7, 7, 7, 7)) == RiverPlan(DealMode.COMMUNITY, False, 7, 3)


@pytest.mark.rules("W20", "W21")
@pytest.mark.knob("river_shortage", RiverShortage.COMMUNITY)
def test_nothing_is_recycled_by_the_page_without_burns():
    """With burns it would show: PlayNow deals these four from the shuffled burns and stub."""
    assert river_plan(PLAYNOW, (8, 8, 8, 8, 4)) == RiverPlan(DealMode.RECYCLE, False, 1, 4)
    burning = knobs(WILLIAM_HILL, burns=True)
    assert river_plan(burning, (8, 8, 8, 8, 4)) == RiverPlan(DealMode.COMMUNITY, False, 1, 3)

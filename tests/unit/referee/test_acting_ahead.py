"""Bet-ahead is a switch of the ruleset: a pre-action in a log is right where it is on, and disputed where it is off."""

from __future__ import annotations

import pytest

from stud_core import events as ev
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.verdict_events import HandVerified
from tests.support.core_table import knobs
from tests.support.referee_court import CALLS, Court, change_first, codes, passive, with_fields
from tests.support.referee_hands import config_of


@pytest.mark.rules("W28")
@pytest.mark.knob("pre_actions", True)
async def test_acting_ahead_where_it_is_on():
    assert WILLIAM_HILL.pre_actions
    court = Court(config_of(WILLIAM_HILL))
    await court.open()
    court.rig.forge_table = change_first(ev.ActionTaken, with_fields(by=ev.By.PRE_ACTION))
    await court.rig.start()
    await court.rig.play_out(weights=CALLS)
    assert isinstance(await court.hear(), HandVerified)
    acted = [event for _, events in court.rig.commits for event in events if isinstance(event, ev.ActionTaken)]
    assert acted[0].by is ev.By.PRE_ACTION


@pytest.mark.rules("W28")
@pytest.mark.knob("pre_actions", False)
@pytest.mark.parametrize("rules", [PLAYNOW, knobs(WILLIAM_HILL, pre_actions=False)], ids=["playnow", "switched off"])
async def test_acting_ahead_where_it_is_off(rules):
    court = Court(config_of(rules))
    await court.open()
    court.rig.forge_table = change_first(ev.ActionTaken, with_fields(by=ev.By.PRE_ACTION))
    assert "ILLEGAL_ACTION" in codes(await passive(court))

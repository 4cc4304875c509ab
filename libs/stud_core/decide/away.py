"""Sitting out, for whatever reason, and what comes of it when it lasts (B.17): the seat is given up."""

from __future__ import annotations

from stud_core import events as ev
from stud_core.decide.draft import Draft
from stud_core.presence import is_idle
from stud_core.state import Sitting


def put_out(draft: Draft, sitting: Sitting, reason: ev.OutReason) -> None:
    """Have a player sit out from now on; where the house has a clock for it, it runs."""
    clock = draft.state.rules.ruleset.sit_out_max_ms or 0
    draft.emit(ev.SatOut(sitting.sitting_no, sitting.seat, reason, draft.deadline(clock)))


def send_off_idle(draft: Draft) -> bool:
    """Give up the seats of those who have sat out too long; return whether there were any."""
    state, now = draft.state, draft.ctx.now_ms
    idle = [sitting for sitting in state.sittings.values() if is_idle(state, sitting, now)]
    for sitting in idle:
        draft.emit(ev.LeaveRequested(sitting.sitting_no, sitting.seat, idle=True))
    return bool(idle)

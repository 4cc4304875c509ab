"""The referee and the waiting list: who is offered what is decided again, and no seat goes to somebody else."""

from __future__ import annotations

from typing import Any

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from tests.support.core_table import knobs
from tests.support.referee_court import CALLS, Court, change_first, codes, with_fields
from tests.support.referee_hands import config_of

STACK = 10_000


async def court_of() -> Court:
    court = Court(config_of(knobs(PLAYNOW, seats=3, waiting_list=3, offer_ms=20_000)))
    await court.open()
    await court.hand(weights=CALLS)
    for name in ("w1", "w2", "w3"):
        await court.rig.send(cmd.JoinWaitingList(name, STACK), actor=name)
    return court


async def leave(court: Court) -> None:
    await court.rig.send(cmd.LeaveSeat("a3"), actor="a3")
    await court.rig.send(cmd.RecordCashOut(3, court.rig.state.sittings[3].claim or 0))


async def test_a_whole_life_of_a_waiting_list_is_verified():
    court = await court_of()
    rig = court.rig
    await leave(court)
    rig.now_ms += 120_000
    await rig.send(cmd.RestartClocks("OUTAGE"))
    rig.now_ms += 20_000
    await rig.send(cmd.Tick())  # w1 lets the offer pass
    await rig.send(cmd.LeaveWaitingList("w2"), actor="w2")
    await rig.send(cmd.TakeSeat("w3", None, STACK), actor="w3")
    await rig.send(cmd.RecordFunding(4, STACK))
    await court.hand(weights=CALLS)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (ev.SeatOffered, {"account": "w2"}),
        (ev.SeatOffered, {"expires_at_ms": 1}),
        (ev.WaitingLeft, {"expired": True}),
    ],
)
async def test_what_was_written_otherwise_is_found(kind: type, fields: dict[str, Any]):
    court = await court_of()
    court.rig.forge_table = change_first(kind, with_fields(**fields))
    await leave(court)
    await court.rig.send(cmd.LeaveWaitingList("w1"), actor="w1")
    assert "NOT_DECIDED" in codes(await court.disputed())


async def test_a_seat_that_was_kept_for_somebody_else_is_not_given_away():
    court = await court_of()
    await leave(court)
    court.rig.forge_table = change_first(ev.BuyInRequested, with_fields(account="x"))
    await court.rig.send(cmd.TakeSeat("w1", None, STACK), actor="x")
    await court.rig.send(cmd.RecordFunding(4, STACK))
    assert "NOT_DECIDED" in codes(await court.disputed())

"""The referee and those who sit out: a seat is given up neither too early nor in a hand, and clocks are the house's."""

from __future__ import annotations

from typing import Any

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from tests.support.core_table import knobs
from tests.support.referee_court import CALLS, Court, broken_off, change_first, codes, until_turn, with_fields
from tests.support.referee_hands import config_of

BOTH = {"sit_out_max_ms": 60_000, "sit_out_max_hands": 2}


async def court_of(**changes: Any) -> Court:
    court = Court(config_of(knobs(PLAYNOW, **{"rathole_ms": 3_600_000, **BOTH, **changes})))
    await court.open((10_000, 10_000, 10_000, 10_000))
    await court.hand()
    await court.rig.send(cmd.SitOut("a4"), actor="a4")
    return court


async def paid(court: Court) -> None:
    sitting = court.rig.state.sittings[4]
    await court.rig.send(cmd.RecordCashOut(4, sitting.claim or 0))


async def test_a_seat_given_up_by_the_clock_is_verified():
    court = await court_of()
    court.rig.now_ms += 60_000
    await court.rig.send(cmd.Tick())
    await paid(court)
    await court.hand()


async def test_a_seat_given_up_for_missed_hands_is_verified_by_one_who_judged_them_and_by_one_who_did_not():
    for judged in (True, False):
        court = await court_of(sit_out_max_ms=None)
        await court.hand(weights=CALLS)
        await court.hand(weights=CALLS)
        assert court.rig.state.seats[4] == 0
        if not judged:
            court.appoint()
            await court.referee.load()
        await paid(court)
        await court.hand()


async def test_a_clock_that_started_afresh_is_verified():
    court = await court_of()
    court.rig.now_ms += 120_000
    await court.rig.send(cmd.RestartClocks("OUTAGE"))
    court.rig.now_ms += 60_000
    await court.rig.send(cmd.Tick())
    await paid(court)
    await court.hand()


async def test_it_is_followed_by_a_referee_that_folds_the_log():
    court = await court_of()
    court.rig.now_ms += 120_000
    await court.rig.send(cmd.RestartClocks("OUTAGE"))
    await court.hand(weights=CALLS)
    court.appoint()
    await court.referee.load()
    court.rig.now_ms += 60_000
    await court.rig.send(cmd.Tick())
    await court.hand()


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (ev.SatOut, {"leaves_at_ms": 1}, "WRONG_OPTIONS"),
        (ev.ClockRestarted, {"deadline_ms": 1}, "WRONG_OPTIONS"),
        (ev.LeaveRequested, {"idle": False}, "NOT_DECIDED"),
        (ev.CashOutRequested, {"back_until_ms": 0}, "NOT_DECIDED"),
    ],
)
async def test_what_was_written_otherwise_is_found(kind: type, fields: dict[str, Any], code: str):
    court = await court_of()
    rig = court.rig
    rig.forge_table = change_first(kind, with_fields(**fields))
    await rig.send(cmd.SitIn("a4"), actor="a4")
    await rig.send(cmd.SitOut("a4"), actor="a4")
    await rig.send(cmd.RestartClocks("OUTAGE"))
    rig.now_ms += 60_000
    if kind is ev.ClockRestarted:
        await rig.send(cmd.SitIn("a4"), actor="a4")
    else:
        await rig.send(cmd.Tick())
    assert code in codes(await court.disputed())


@pytest.mark.parametrize("waits_ms", [0, 59_999])
async def test_a_seat_that_is_taken_too_early_is_found(waits_ms: int):
    court = await court_of()
    court.rig.now_ms += waits_ms
    stack = court.rig.state.sittings[4].stack
    gone = ev.CashOutRequested("XTS", 4, "a4", stack, 1, court.rig.now_ms + 3_600_000)
    await court.rig.write([ev.LeaveRequested(4, 4, idle=True), gone])
    assert "NOT_DECIDED" in codes(await court.disputed())


async def test_a_seat_of_somebody_who_is_there_is_not_taken():
    court = await court_of()
    await court.rig.send(cmd.SitIn("a4"), actor="a4")
    court.rig.now_ms += 120_000
    stack = court.rig.state.sittings[4].stack
    await court.rig.write([ev.LeaveRequested(4, 4, idle=True), ev.CashOutRequested("XTS", 4, "a4", stack, 1)])
    assert "NOT_DECIDED" in codes(await court.disputed())


async def test_a_player_is_not_sent_off_out_of_a_hand():
    court = await court_of()
    turn = await until_turn(court)
    place = court.rig.state.at(turn.seat)
    await court.rig.send(cmd.SitOut(place.account), actor=place.account)
    court.rig.now_ms += 60_000
    await court.rig.write([ev.LeaveRequested(place.sitting_no, place.seat, idle=True)])
    assert "WRONG_ORDER" in codes(await broken_off(court))


async def test_the_clock_of_somebody_who_does_not_sit_out_cannot_start_afresh():
    for sitting_no in (1, 9):
        court = await court_of()
        rig = court.rig
        restarted = ev.ClockRestarted(None, None, rig.now_ms + 60_000, "OUTAGE", sitting_no)
        rig.head = await rig.append(rig.table_stream, rig.head, [restarted], meta(rig.now_ms))
        rig.state.version = rig.head.version
        assert "WRONG_ORDER" in codes(await court.disputed())


def meta(at_ms: int) -> Any:
    from stud_wire.commits import Meta

    return Meta(at_ms, build="test")

"""The referee counts time chips and looks at each deadline: nobody has more time than the house gives."""

from __future__ import annotations

from typing import Any

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from tests.support.core_table import knobs
from tests.support.referee_court import CALLS, Court, broken_off, change_first, codes, until_turn, with_fields
from tests.support.referee_hands import config_of

KNOBS = {"time_bank_ms": 30_000, "time_bank_chips": 2, "time_bank_refill_hands": 2, "reconnect_ms": 20_000}


async def court_of(**changes: Any) -> Court:
    court = Court(config_of(knobs(PLAYNOW, **{**KNOBS, **changes})))
    await court.open()
    await court.hand(weights=CALLS)
    return court


async def use(court: Court) -> None:
    rig = court.rig
    account = rig.state.at(rig.hand.turn_seat).account
    await rig.send(cmd.UseTimeChip(account, rig.hand.turn_id), actor=account)


async def protect(court: Court) -> None:
    rig = court.rig
    rig.now_ms = rig.hand.deadline_ms
    await rig.send(cmd.ProtectTurn(rig.hand.turn_id))


async def play_on(court: Court) -> Any:
    await court.rig.play_out(weights=CALLS)
    return await court.hear()


@pytest.mark.parametrize("judged", [True, False])
async def test_chips_and_protection_are_verified_for_hands_on_end(judged: bool):
    court = await court_of()
    for _ in range(4):
        await until_turn(court)
        await use(court)
        await protect(court)
        await court.rig.send(cmd.RestartClocks("OUTAGE"))
        if not judged:
            court.appoint()
            await court.referee.load()
        verdict = await play_on(court)
        assert type(verdict).__name__ == "HandVerified", verdict
        await court.rig.verdict(court.book.final_version)


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (ev.ClockExtended, {"deadline_ms": lambda e: e.deadline_ms + 1}, "WRONG_OPTIONS"),
        (ev.ClockExtended, {"time_chips": 2}, "WRONG_OPTIONS"),
        (ev.ClockExtended, {"reason": ev.Extension.RECONNECT}, "EARLY_TIMEOUT"),
        (ev.ClockExtended, {"turn_id": 1}, "WRONG_ORDER"),
        (ev.ClockExtended, {"seat": lambda e: e.seat % 3 + 1}, "WRONG_ORDER"),
        (ev.HandStarted, {"dealt_in": lambda e: tuple(more(player) for player in e.dealt_in)}, "WRONG_START"),
    ],
)
async def test_what_was_written_otherwise_is_found(kind: type, fields: dict[str, Any], code: str):
    court = await court_of()
    court.rig.forge_table = change_first(kind, with_fields(**fields))
    await until_turn(court)
    await use(court)
    assert code in codes(await broken_off(court))


def more(player: ev.DealtIn) -> ev.DealtIn:
    return ev.DealtIn(player.seat, player.sitting_no, player.account, player.stack, (player.time_chips or 0) + 1)


async def extended(court: Court, at_ms: int, **fields: Any) -> set[str]:
    """Write an extension that no engine decides, and hear what is found."""
    rig = court.rig
    hand = rig.hand
    told = {"reason": ev.Extension.TIME_CHIP, "deadline_ms": hand.deadline_ms + 30_000, "time_chips": 1, **fields}
    await rig.write([ev.ClockExtended(hand.turn_id, hand.turn_seat, **told)], at_ms=at_ms)
    return codes(await broken_off(court))


async def test_a_chip_that_came_too_late_is_found():
    court = await court_of()
    await until_turn(court)
    assert "LATE_ACTION" in await extended(court, court.rig.hand.deadline_ms + 1)


async def test_a_chip_that_nobody_has_is_found():
    court = await court_of(time_bank_ms=0)
    await until_turn(court)
    assert "ILLEGAL_ACTION" in await extended(court, court.rig.now_ms, time_chips=0)
    court = await court_of(time_bank_chips=1, time_bank_refill_hands=None)
    await until_turn(court)
    await use(court)
    assert "ILLEGAL_ACTION" in await extended(court, court.rig.now_ms, time_chips=0)


async def test_more_time_for_a_connection_that_is_not_due_is_found():
    court = await court_of(reconnect_ms=None)
    await until_turn(court)
    end = court.rig.hand.deadline_ms
    lost = {"reason": ev.Extension.RECONNECT, "time_chips": 2}
    assert "ILLEGAL_ACTION" in await extended(court, end, deadline_ms=end + 20_000, **lost)
    court = await court_of()
    await until_turn(court)
    await protect(court)
    end = court.rig.hand.deadline_ms
    assert "ILLEGAL_ACTION" in await extended(court, end, deadline_ms=end + 20_000, **lost)


async def test_a_clock_that_starts_afresh_without_what_was_added_is_found():
    court = await court_of()
    await until_turn(court)
    await use(court)
    court.rig.forge_table = change_first(ev.ClockRestarted, with_fields(deadline_ms=lambda e: e.deadline_ms - 30_000))
    await court.rig.send(cmd.RestartClocks("OUTAGE"))
    assert "WRONG_OPTIONS" in codes(await broken_off(court))

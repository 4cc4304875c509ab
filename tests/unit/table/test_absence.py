"""A table that gives up seats of those who are away too long, and remembers what leavers took along."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_core import events as ev
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from table_service import views
from tests.support.choosing import STAY
from tests.support.playing_memory import DEPOSIT, Game
from tests.support.system_memory import MemorySystem, simulated, virtual_ms
from wallet_service.servicer import WalletServicer

MINUTE = 60_000
AWAY: dict[str, Any] = {
    "ruleset": ruleset_pb2.Ruleset(sit_out_max_ms=MINUTE, sit_out_max_hands=3, rathole_ms=60 * MINUTE),
    "override_fields": ["sit_out_max_ms", "sit_out_max_hands", "rathole_ms"],
}


def written(system: MemorySystem, game: Game, kind: type) -> list[Any]:
    stored = system.store.data.logs[game.actor.stream]
    return [event for commit, _ in stored for event in decode_commit(commit.body).events if isinstance(event, kind)]


async def balance(system: MemorySystem, account: str) -> int:
    app = system.service("wallet")
    servicer = WalletServicer(app._runtime.log, app.books, app)
    asked = wallet.GetAccountRequest(currency="EUR")
    return int((await system.calls(servicer, "GetAccount", asked, account)).balance)


@simulated
async def test_whoever_is_away_for_a_minute_loses_the_seat_and_no_chip(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open(**AWAY)
        await game.seat("ada")
        await game.send("ada", pb.SitOutRequest())
        seat = views.table_view(game.table).seats[0]
        assert (seat.sitting_out, seat.leaves_at_ms) == (True, virtual_ms() + MINUTE)
        await asyncio.sleep(59)
        assert game.table.seats[1]
        await game.until(lambda t: t.of("ada") is None, 90)
        assert views.table_view(game.table).seats[0] == pb.SeatView(seat=1)
        assert [leave.idle for leave in written(system, game, ev.LeaveRequested)] == [True]
        assert await balance(system, "ada") == DEPOSIT


@simulated
async def test_whoever_misses_three_hands_loses_the_seat(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3, **AWAY)
        await game.until_turn()
        away = game.on_turn
        await game.send(away, pb.SitOutRequest())
        await game.play(1, STAY)
        missed = []
        while views.sitting_of(game.table, away) is not None:
            missed.append(next(s.hands_missed for s in views.table_view(game.table).seats if s.account == away))
            await game.play(game.table.verified_hand + 1, STAY)
        await game.until(lambda t: t.of(away) is None)
        assert missed[-1] == 2
        assert game.table.verified_hand == 4


@simulated
async def test_after_a_restart_of_ours_the_whole_minute_is_there_again(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open(**AWAY)
        await game.seat("ada")
        await game.send("ada", pb.SitOutRequest())
        await system.crash("table")
        await asyncio.sleep(600)
        await system.start("table")
        await game.until(lambda t: t.sittings[1].out_until_ms > virtual_ms())
        (restarted,) = written(system, game, ev.ClockRestarted)
        assert restarted == ev.ClockRestarted(None, None, virtual_ms() + MINUTE, "SERVICE_RESTARTED", 1)
        await asyncio.sleep(59)
        await game.send("ada", pb.SitInRequest())
        await asyncio.sleep(120)
        assert game.table.seats[1]


@simulated
async def test_a_timer_that_is_late_takes_no_seat(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open(**AWAY)
        await game.seat("ada")
        await game.send("ada", pb.SitOutRequest())
        first = game.table.sittings[1].out_until_ms
        game.actor._timer.set(first + 1_001)
        await game.until(lambda t: t.sittings[1].out_until_ms > first, 90)
        assert game.table.sittings[1].out_until_ms == virtual_ms() + MINUTE
        await game.until(lambda t: t.of("ada") is None, 90)
        assert len(written(system, game, ev.ClockRestarted)) == 1


@simulated
async def test_an_outage_of_the_log_takes_no_seat(tmp_path):
    system = MemorySystem(tmp_path)
    system.watching = True
    async with system:
        game = Game(system)
        await game.open(**AWAY)
        await game.seat("ada")
        await game.send("ada", pb.SitOutRequest())
        await asyncio.sleep(50)
        system.store.stop()
        await asyncio.sleep(120)
        system.store.start()
        await asyncio.sleep(30)
        assert game.table.seats[1]
        await game.until(lambda t: t.of("ada") is None, 90)
        assert len(written(system, game, ev.ClockRestarted)) == 1


@simulated
async def test_whoever_comes_back_too_soon_is_told_what_to_bring_also_after_a_restart(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open(**AWAY)
        await game.seat("ada", 8_000)
        await game.send("ada", pb.LeaveSeatRequest())
        await game.until(lambda t: t.of("ada") is None, 90)
        await asyncio.sleep(60)
        await system.crash("table")
        await system.start("table")
        with pytest.raises(Refused) as refused:
            await game.send("ada", pb.TakeSeatRequest(amount=7_999))
        assert (refused.value.reason, refused.value.metadata["min"]) == ("BUY_IN_TOO_SMALL", "8000")
        assert "for 3540 seconds more" in refused.value.text
        assert (await game.seat("ada", 8_000, deposit=0)).outcome == pb.SEAT_OUTCOME_SEATED

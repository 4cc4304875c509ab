"""Time chips over the service, what a lost connection is given, and that everybody sees it where the house shows it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated, virtual_ms

CLOCK_MS = 10_000
FIELDS = ["time_bank_ms", "time_bank_chips", "reconnect_ms", "show_connection"]


def house(**fields: Any) -> dict[str, Any]:
    return {"ruleset": ruleset_pb2.Ruleset(**fields), "override_fields": list(fields)}


EVERYTHING = house(time_bank_ms=30_000, time_bank_chips=2, reconnect_ms=20_000, show_connection=True)


async def begun(system: MemorySystem, *, here: bool, **fields: Any) -> Game:
    game = Game(system)
    await game.begin(3, **fields)
    await game.until_turn()
    if here:
        for sitting in game.table.sittings.values():
            game.actor.presence.connected(sitting.account)
    return game


def written(game: Game, kind: type) -> list[Any]:
    stored = game.system.store.data.logs[game.actor.stream]
    return [event for commit, _ in stored for event in decode_commit(commit.body).events if isinstance(event, kind)]


async def seats(game: Game) -> dict[str, pb.SeatView]:
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), "eve")
    return {seat.account: seat for seat in answer.update.view.seats if seat.account}


@simulated
async def test_a_time_chip_makes_the_turn_longer_for_everybody_to_see(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=True, **EVERYTHING)
        who, deadline = game.on_turn, game.hand.deadline_ms
        assert (await seats(game))[who].time_chips == 2
        request = pb.UseTimeChipRequest(turn_id=game.hand.turn_id, request_id="once")
        version = (await game.send(who, request)).version
        assert (await game.send(who, request)).version == version, "the same request is one chip"
        assert game.hand.deadline_ms == deadline + 30_000
        assert (await seats(game))[who].time_chips == 1
        await asyncio.sleep((deadline + 29_000 - virtual_ms()) / 1000)
        await game.act()
        await game.play(1, STAY)  # the referee agrees


@simulated
async def test_without_a_chip_it_is_refused(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=True)
        with pytest.raises(Refused, match="NO_TIME_CHIP"):
            await game.send(game.on_turn, pb.UseTimeChipRequest(turn_id=game.hand.turn_id))


@simulated
async def test_a_chip_after_the_deadline_is_a_timeout(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=True, **EVERYTHING)
        who, turn_id, deadline = game.on_turn, game.hand.turn_id, game.hand.deadline_ms
        game.actor._timer.cancel()
        await asyncio.sleep((deadline + 1 - virtual_ms()) / 1000)
        with pytest.raises(Refused, match="DEADLINE_PASSED"):
            await game.send(who, pb.UseTimeChipRequest(turn_id=turn_id))
        assert written(game, ev.ActionTaken)[-1].by is ev.By.TIMEOUT


@pytest.mark.parametrize("here", [True, False])
@simulated
async def test_a_lost_connection_is_waited_for_once(tmp_path, here: bool):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=here, **EVERYTHING)
        turn_id, deadline = game.hand.turn_id, game.hand.deadline_ms
        await game.until(lambda t: t.running.turn_id != turn_id)
        waited = written(game, ev.ClockExtended)
        assert [event.reason for event in waited] == ([] if here else [ev.Extension.RECONNECT])
        assert virtual_ms() >= deadline + (0 if here else 20_000)
        assert written(game, ev.ActionTaken)[0].by is ev.By.TIMEOUT


@simulated
async def test_whoever_is_back_in_that_time_acts(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=False, **EVERYTHING)
        who = game.on_turn
        await game.until(lambda t: t.running.protected)
        game.actor.presence.connected(who)
        await asyncio.sleep(15)
        assert game.on_turn == who
        await game.act()
        assert written(game, ev.ActionTaken)[0].by is ev.By.PLAYER


@simulated
async def test_an_action_a_moment_late_counts_for_somebody_whose_connection_is_lost(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=False, **EVERYTHING)
        request = game.act_request(game.choose(STAY))
        game.actor._timer.cancel()
        await asyncio.sleep((game.hand.deadline_ms + 500 - virtual_ms()) / 1000)
        await game.send(game.on_turn, request)
        assert [event.reason for event in written(game, ev.ClockExtended)] == [ev.Extension.RECONNECT]
        assert written(game, ev.ActionTaken)[0].by is ev.By.PLAYER


@simulated
async def test_where_the_house_waits_for_nobody_the_clock_is_the_clock(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=False)
        turn_id, deadline = game.hand.turn_id, game.hand.deadline_ms
        await game.until(lambda t: t.running.turn_id != turn_id)
        assert virtual_ms() - deadline < 1_000
        assert written(game, ev.ClockExtended) == []


@pytest.mark.knob("show_connection", False, True)
@pytest.mark.parametrize("shown", [False, True])
@simulated
async def test_who_is_connected_is_seen_where_the_house_shows_it(tmp_path, shown: bool):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=False, **house(show_connection=shown))
        game.actor.presence.connected("ada")
        await asyncio.sleep(1.1)
        seen = {account: seat.connection for account, seat in (await seats(game)).items()}
        here, away = pb.CONNECTION_CONNECTED, pb.CONNECTION_AWAY
        assert seen == ({"ada": here, "bea": away, "cleo": away} if shown else dict.fromkeys(seen, 0))
        version = game.actor.head.version
        game.actor.presence.disconnected("ada")
        await asyncio.sleep(1.1)
        assert ((await seats(game))["ada"].connection == away) is shown
        assert game.actor.head.version == version, "nothing of it is in the log"


@simulated
async def test_whoever_comes_and_goes_costs_the_others_one_update_a_second(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=False, **house(show_connection=True))
        told: list[Any] = []
        game.actor.hub.refresh = lambda present, *_: told.append(present)  # type: ignore[method-assign]
        for _ in range(100):
            game.actor.presence.connected("ada")
            game.actor.presence.disconnected("ada")
        await asyncio.sleep(1.1)
        assert told == [], "she is where she was"
        for _ in range(100):
            game.actor.presence.connected("ada")
        game.actor.presence.connected("a spectator")
        await asyncio.sleep(1.1)
        assert len(told) == 1


@simulated
async def test_after_a_restart_everybody_is_away_until_they_are_back(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await begun(system, here=True, **house(show_connection=True))
        await system.crash("table")
        await system.start("table")
        await system.actor(game.id)
        assert {seat.connection for seat in (await seats(game)).values()} == {pb.CONNECTION_AWAY}
        game.actor.presence.connected("ada")
        await asyncio.sleep(1.1)
        assert (await seats(game))["ada"].connection == pb.CONNECTION_CONNECTED

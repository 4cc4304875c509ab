"""What a house may add, over real gRPC with a driven clock: time chips, lost connections, absence, waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.events import Verb
from tests.component.test_rows_over_grpc import acts, after, mine, refused, runs_out, written
from tests.support.choosing import STAY
from tests.support.driven import DrivenSystem, driven
from tests.support.playing_memory import NAMES, Game
from tests.support.system_memory import virtual_ms


async def game_of(system: DrivenSystem, players: int = 3, preset: str = "playnow", **fields: Any) -> Game:
    game = Game(system)
    house = {"ruleset": ruleset_pb2.Ruleset(**fields), "override_fields": list(fields)}
    await game.begin(players, preset, **house)
    return game


@driven
async def test_a_time_chip_and_the_time_for_a_lost_connection(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await game_of(system, time_bank_ms=30_000, reconnect_ms=20_000, show_connection=True)
        who = await game.until_turn(street=5)
        turn_id, deadline = game.hand.turn_id, game.hand.deadline_ms
        await game.send(who, pb.UseTimeChipRequest(turn_id=turn_id))
        why = await refused(game.send(who, pb.UseTimeChipRequest(turn_id=turn_id)))
        assert (why.reason, game.hand.deadline_ms) == ("NO_TIME_CHIP", deadline + 30_000)
        await system.run_to(game.hand.deadline_ms + 2)
        await system.until(lambda: game.hand.protected)  # nobody has a stream open
        assert game.hand.turn_id == turn_id
        done = await runs_out(system, game)
        assert (done.verb, done.by) == (Verb.CHECK, ev.By.TIMEOUT)
        there = after(game, 0)
        await system.connect(game.id, there)
        done = await runs_out(system, game)
        assert [e.reason for e in written(game, ev.ClockExtended)] == [ev.Extension.TIME_CHIP, ev.Extension.RECONNECT]
        await game.play(1, STAY)


@driven
async def test_call_any_ahead(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await game_of(system, preset="william_hill", pre_check_call_any=True)
        await game.until_turn(street=5)
        await system.connect(game.id, *NAMES[:3])
        await acts(game, Verb.BET)
        who, hand = after(game, 1), game.hand
        told: dict[str, Any] = {"hand_no": hand.hand_no, "street": hand.street, "price": hand.level}
        await game.send(who, pb.SetPreActionRequest(verb=seat_pb2.VERB_CALL, any_price=True, **told))
        assert (await mine(game, who)).pre_action.any_price
        await acts(game, Verb.RAISE)
        await system.until(lambda: game.hand.bet.count(2_000) == 2)
        assert written(game, ev.ActionTaken)[-1].by is ev.By.PRE_ACTION


@driven
async def test_away_for_too_long_coming_back_and_waiting_for_the_seat(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = Game(system)
        fields: dict[str, Any] = {
            "seats": 2,
            "sit_out_max_ms": 60_000,
            "rathole_ms": 3_600_000,
            "waiting_list": 2,
            "offer_ms": 20_000,
        }
        await game.open("playnow", ruleset=ruleset_pb2.Ruleset(**fields), override_fields=list(fields))
        for name in NAMES[:2]:
            await game.deposit(name, 100_000)
        await game.send("ada", pb.TakeSeatRequest(amount=8_000))
        await game.send("ada", pb.SitOutRequest())
        await game.send("bea", pb.TakeSeatRequest(amount=5_000))
        for name, place in (("cleo", 1), ("dora", 2)):
            await game.deposit(name, 100_000)
            assert (await game.send(name, pb.JoinWaitingListRequest(amount=5_000))).position == place
        await system.run_to(game.table.sittings[1].out_until_ms + 2)
        await system.until(lambda: game.table.waiting[0].seat == 1)
        assert (await mine(game, "cleo")).waiting.expires_at_ms == game.table.waiting[0].expires_at_ms
        await system.run_to(game.table.waiting[0].expires_at_ms + 2)
        await system.until(lambda: game.table.waiting[0].account == "dora" and game.table.waiting[0].seat)
        assert (await refused(game.send("eve", pb.TakeSeatRequest(amount=5_000)))).reason == "TABLE_FULL"
        await game.send("dora", pb.LeaveWaitingListRequest())
        await system.until(lambda: game.table.of("ada") is None)
        why = await refused(game.send("ada", pb.TakeSeatRequest(amount=7_999)))
        assert (why.reason, why.metadata["min"]) == ("BUY_IN_TOO_SMALL", "8000")
        await system.run_to(virtual_ms() + 3_600_000)
        assert (await game.send("ada", pb.TakeSeatRequest(amount=5_000))).outcome == pb.SEAT_OUTCOME_SEATED

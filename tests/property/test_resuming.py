"""Whoever was cut off at any version and comes back sees exactly what he would see had he never left."""

import asyncio
import random
from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.state import Phase
from table_service.hub import KEEP
from tests.support.choosing import LIVELY
from tests.support.deep import either
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated, virtual_ms

pytestmark = pytest.mark.search
ACCOUNTS = ("ada", "bea", "cleo", "eve")
SEEDS = range(either(2, 40, 1))
HANDS = either(3, 3, 1)


class Stayed:
    """A viewer who never left: every update of his, by version, and the last of all."""

    def __init__(self, game: Game, account: str) -> None:
        self.stream = Stream(game, account, watch=True)
        self.steps: dict[int, pb.TableUpdate] = {}
        self.last = pb.TableUpdate()

    def read(self) -> None:
        while not self.stream.answers.empty():
            update = self.stream.answers.get_nowait().update
            assert update.current
            if update.events or not update.reset:
                self.steps[update.version] = update
            self.last = update


def shown(update: pb.TableUpdate) -> pb.TableUpdate:
    """What a client draws from: all of an update but how it came."""
    out = pb.TableUpdate()
    out.CopyFrom(update)
    for field in ("events", "reset", "current", "sent_at_ms"):
        out.ClearField(field)
    return out


async def come_back(game: Game, stayed: Stayed, account: str, version: int) -> None:
    known = stayed.steps[version]
    back = Stream(game, account, after_version=version, head_hash=known.head_hash, watch=version % 2 == 0)
    head = game.actor.head.version
    missed = []
    while not (update := await back.update()).current:
        missed.append(update)
        assert update.sent_at_ms == virtual_ms()
    assert update.reset
    assert shown(update) == shown(stayed.last)
    assert update.sent_at_ms == virtual_ms()  # so that what is left of a clock is what is left of it
    wanted = list(range(version + 1, head + 1))
    assert [step.version for step in missed] == wanted or (not missed and head - version > KEEP // 2)
    for step in missed:
        live = pb.TableUpdate()
        live.CopyFrom(stayed.steps[step.version])
        for field in ("mine", "current", "sent_at_ms"):
            live.ClearField(field)
        step.ClearField("sent_at_ms")
        assert step == live
    await back.close()


async def choose_ahead(game: Game, rng: random.Random) -> None:
    """Somebody who is not on turn chooses, or takes back, where the table has bet-ahead."""
    name = rng.choice(ACCOUNTS[:3])
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), name)
    mine, view = answer.update.mine, answer.update.view
    if mine.HasField("pre_action") and not mine.turn_id and mine.pre_options:
        await game.send(name, pb.ClearPreActionRequest())
    elif mine.pre_options:
        option = rng.choice(list(mine.pre_options))
        chosen = {"verb": option.verb, "size": option.size or seat_pb2.SIZE_UNSPECIFIED}
        told: dict[str, Any] = {"hand_no": view.hand_no, "street": view.street, "price": mine.price, **chosen}
        await game.send(name, pb.SetPreActionRequest(**told))


async def come_back_in(game: Game) -> None:
    """Who missed his ante while time went by does not sit out for ever: two are needed for a hand."""
    for sitting in list(game.table.sittings.values()):
        if sitting.sitting_out and sitting.stack:
            await game.send(sitting.account, pb.SitInRequest())


async def something(game: Game, rng: random.Random) -> None:
    """Time goes by, and now and then somebody does what is no action."""
    hand = game.table.hand
    await asyncio.sleep(rng.choice((0, 0.4, 6)))
    if hand is None or hand.phase is not Phase.BETTING or hand is not game.table.hand:
        return
    if rng.random() < 0.3:
        await choose_ahead(game, rng)
    if rng.random() < 0.02:
        await game.operate(pb.VoidHandRequest(hand_no=hand.hand_no, reason="power cut"))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("preset", ["playnow", "william_hill"])
def test_a_client_cut_off_at_any_version_has_what_one_has_that_never_left(tmp_path, preset, seed):
    @simulated
    async def run() -> None:
        rng = random.Random(f"{preset} {seed}")
        async with MemorySystem(tmp_path) as system:
            game = Game(system, seed=seed)
            await game.open(preset, hand_pause_ms=1500)
            await game.operate(pb.PauseTableRequest(reason="seating"))
            for name in ACCOUNTS[:3]:
                await game.seat(name, auto_post=rng.random() < 0.7, muck_losing=rng.random() < 0.5)
            stayed = {name: Stayed(game, name) for name in ACCOUNTS}
            await game.operate(pb.ResumeTableRequest())
            tried = 0
            while game.table.verified_hand < HANDS:
                await come_back_in(game)
                await game.step(LIVELY)
                await something(game, rng)
                await asyncio.sleep(0.001)
                for name, viewer in stayed.items():
                    viewer.read()
                    for version in sorted(viewer.steps):
                        if rng.random() < 0.2:
                            await come_back(game, viewer, name, version)
                            viewer.read()
                            tried += 1
            for viewer in stayed.values():
                await viewer.stream.close()
            assert tried > 15 * HANDS  # hands may be short: who is dealt what is not ours to say

    run()


@simulated
async def test_every_pair_of_versions_of_a_hand(tmp_path):
    """All of them, not some: cut off at each version of a hand, back at each later one, as player and as spectator."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system, seed=7)
        await game.begin(3, hand_pause_ms=500)
        stayed = {name: Stayed(game, name) for name in ("ada", "eve")}
        while game.table.verified_hand < 1:
            await game.step(LIVELY)
            await asyncio.sleep(0.001)
            for name, viewer in stayed.items():
                viewer.read()
                for version in sorted(viewer.steps):
                    await come_back(game, viewer, name, version)
        for viewer in stayed.values():
            await viewer.stream.close()

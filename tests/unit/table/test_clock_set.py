"""The wall clock is set while hands are played: nobody is folded, no turn lasts longer, every hand is verified."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.presets import WILLIAM_HILL
from stud_core.state import Sit
from stud_service.clock import Clock
from stud_wire.commits import decode_commit
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import EPOCH_MS, MemorySystem, simulated

HOUR_MS = 3_600_000
CLOCK_MS = WILLIAM_HILL.action_clock_ms
STEPS = pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS, 30_000, -30_000, 1_500, -1_500])


class Wall:
    """The wall clock of the simulated machine; every service has a clock of its own that follows it."""

    def __init__(self) -> None:
        self.set_ms = 0

    def ns(self) -> int:
        return (EPOCH_MS + self.set_ms) * 1_000_000 + self.monotonic_ns()

    def monotonic_ns(self) -> int:
        return int(asyncio.get_running_loop().time() * 1_000_000_000)

    def clock(self) -> Clock:
        return Clock(self.ns, self.monotonic_ns)


@asynccontextmanager
async def playing(tmp_path: Path, wall: Wall, **fields: Any) -> AsyncIterator[Game]:
    system = MemorySystem(tmp_path)
    system.clock = wall.clock
    async with system:
        game = Game(system)
        await game.begin(3, **fields)
        yield game


def commits(game: Game) -> list[Any]:
    return [decode_commit(stored.body) for stored, _ in game.system.store.data.logs[game.actor.stream]]


def events(game: Game, kind: Any) -> list[Any]:
    return [event for commit in commits(game) for event in commit.events if isinstance(event, kind)]


@STEPS
def test_a_running_turn_gets_a_fresh_clock_of_its_usual_length(tmp_path, by_ms):
    @simulated
    async def run() -> None:
        wall = Wall()
        async with playing(tmp_path, wall) as game:
            await game.until_turn(street=4)
            eve = Stream(game, "eve", watch=True)
            await eve.update()
            await asyncio.sleep(4)
            wall.set_ms += by_ms
            with capture_logs() as lines:
                update = await eve.update()
            (restarted,) = update.events
            assert restarted.clock_restarted.reason == "CLOCK_SET"
            now = EPOCH_MS + wall.set_ms + int(asyncio.get_running_loop().time() * 1000)
            left = update.view.turn.deadline_ms - now
            assert CLOCK_MS - 50 <= left <= CLOCK_MS
            assert CLOCK_MS - 50 <= update.view.turn.deadline_ms - update.sent_at_ms <= CLOCK_MS
            told = [line for line in lines if line["event"] == "clock_set"]
            assert {(line["log_level"], line["by_ms"], line["times"]) for line in told} == {("warning", by_ms, 1)}
            await game.play(2, STAY)
            await eve.close()
            assert not [e for e in events(game, ev.ActionTaken) if e.by is ev.By.TIMEOUT]

    run()


@STEPS
def test_who_does_not_act_after_a_step_is_timed_out_after_their_usual_time(tmp_path, by_ms):
    @simulated
    async def run() -> None:
        wall = Wall()
        async with playing(tmp_path, wall) as game:
            await game.until_turn(street=4)
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(4)
            wall.set_ms += by_ms
            await game.until(lambda table: any(s.sitting_out for s in table.sittings.values()), within_s=120)
            took_ms = (asyncio.get_running_loop().time() - began) * 1000
            assert 4_000 + CLOCK_MS <= took_ms <= 4_000 + CLOCK_MS + 1_100
            await game.play(1, STAY)  # the referee agrees

    run()


@STEPS
def test_what_was_sent_before_the_step_is_judged_as_in_time(tmp_path, by_ms):
    """It waits in the mailbox while the clock is set; and a command in the same moment comes after the fresh clock."""

    @simulated
    async def run() -> None:
        wall = Wall()
        async with playing(tmp_path, wall) as game:
            await game.until_turn(street=4)
            version = game.actor.head.version
            await asyncio.sleep(9)
            act = asyncio.ensure_future(game.act(STAY))
            wall.set_ms += by_ms
            clock: Any = game.actor.runtime.clock
            game.actor.clock_set(clock.follow())
            await act
            kinds = [type(e).__name__ for commit in commits(game)[version:] for e in commit.events]
            assert kinds[:2] == ["ClockRestarted", "ActionTaken"]
            assert [e.by for e in events(game, ev.ActionTaken)][-1] is ev.By.PLAYER
            await game.play(1, STAY)

    run()


@STEPS
def test_what_is_being_written_while_the_clock_is_set_is_restarted_behind_it(tmp_path, by_ms, monkeypatch):
    @simulated
    async def run() -> None:
        wall = Wall()
        async with playing(tmp_path, wall) as game:
            await game.until_turn(street=4)
            log = game.actor.runtime.log
            real = log.append

            async def meanwhile(append: Any) -> Any:
                monkeypatch.setattr(log, "append", real)
                wall.set_ms += by_ms
                clock: Any = game.actor.runtime.clock
                game.actor.clock_set(clock.follow())
                return await real(append)

            monkeypatch.setattr(log, "append", meanwhile)
            await game.act(STAY)
            await asyncio.sleep(0.05)
            now = EPOCH_MS + wall.set_ms + int(asyncio.get_running_loop().time() * 1000)
            assert CLOCK_MS - 100 <= game.hand.deadline_ms - now <= CLOCK_MS
            await game.play(1, STAY)
            assert not [e for e in events(game, ev.ActionTaken) if e.by is ev.By.TIMEOUT]

    run()


@STEPS
def test_between_hands_the_next_one_is_neither_early_nor_an_hour_late(tmp_path, by_ms):
    @simulated
    async def run() -> None:
        wall = Wall()
        async with playing(tmp_path, wall, hand_pause_ms=20_000) as game:
            await game.play(1, STAY)
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(3)
            wall.set_ms += by_ms
            await game.until(lambda table: table.hand is not None, within_s=60)
            assert 18 <= asyncio.get_running_loop().time() - began <= 21
            await game.play(2, STAY)

    run()


@STEPS
def test_a_dealer_is_not_called_silent_because_the_clock_was_set(tmp_path, by_ms):
    @simulated
    async def run() -> None:
        wall = Wall()
        async with playing(tmp_path, wall) as game:
            await game.until_turn()
            await game.system.crash("dealer")
            while game.hand.deal is None:
                await game.act(STAY)
            await asyncio.sleep(2)
            wall.set_ms += by_ms
            await asyncio.sleep(5)
            assert game.table.paused == ""
            await asyncio.sleep(30)
            assert game.table.paused == "DEALER_SILENT"
            await game.system.start("dealer")
            await game.play(1, STAY)

    run()


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS])
def test_a_log_from_before_the_step_is_taken_up_as_of_now(tmp_path, by_ms):
    """The clock is set while the service is down: a pause, a turn and a reservation of the past end as they would."""

    @simulated
    async def run() -> None:
        wall = Wall()
        async with playing(tmp_path, wall, hand_pause_ms=20_000) as game:
            await game.until_turn(street=4)
            await game.system.crash("wallet")
            reserved = asyncio.ensure_future(game.seat("zoe", deposit=0))
            await game.until(lambda table: any(s.status is Sit.RESERVED for s in table.sittings.values()))
            reserved.cancel()
            await game.system.crash("table")
            wall.set_ms += by_ms
            await game.system.start("table")
            await game.system.actor(game.id)
            await game.until(lambda table: table.running.turn_seat)
            now = EPOCH_MS + wall.set_ms + int(asyncio.get_running_loop().time() * 1000)
            await asyncio.sleep(0.1)
            assert CLOCK_MS - 200 <= game.hand.deadline_ms - now <= CLOCK_MS + 200
            await asyncio.sleep(9)
            assert not any(s.status is Sit.RESERVED for s in game.table.sittings.values())
            await game.system.start("wallet")
            await game.play(1, STAY)
            await game.system.crash("table")
            wall.set_ms += by_ms
            await game.system.start("table")
            await game.system.actor(game.id)
            await game.until(lambda table: table.hand is not None, within_s=25)
            await game.play(2, STAY)

    run()


@simulated
async def test_an_ante_prompt_gets_a_fresh_clock_too(tmp_path):
    wall = Wall()
    system = MemorySystem(tmp_path)
    system.clock = wall.clock
    async with system:
        game = Game(system)
        await game.open("playnow")
        for name in ("ada", "bea"):
            await game.seat(name, auto_post=False)
        await game.until(lambda table: table.hand is not None and table.hand.prompts)
        wall.set_ms += HOUR_MS
        await asyncio.sleep(3)
        for prompt in game.hand.prompts:
            await game.send(game.table.at(prompt.seat).account, pb.PostAnteRequest(prompt_id=prompt.prompt_id))
        assert not events(game, ev.AnteMissed)
        await game.play(1, STAY)

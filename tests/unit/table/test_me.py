"""What a player is told of themselves over all tables, at once, and nobody else is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_eventlog.trouble import Trouble
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from tests.support.watchers import MeWatcher


async def me(system: MemorySystem, account: str) -> pb.GetMeResponse:
    answer: pb.GetMeResponse = await system.call("GetMe", pb.GetMeRequest(), account)
    return answer


async def two_tables(system: MemorySystem) -> tuple[Game, Game]:
    first, second = Game(system), Game(system, "t-2", seed=1)
    await first.begin(3)
    await second.begin(2)
    return first, second


@simulated
async def test_who_has_no_seat_is_told_of_nothing_until_they_sit_down(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        watcher = MeWatcher(system, "eve")
        await watcher.until(len)
        assert watcher.said[0].reset
        assert not watcher.sittings
        await game.play(1, STAY)
        assert len(watcher.said) == 1
        await game.seat("eve")
        await watcher.until(lambda _: [s.status for s in watcher.sittings.values()] == [pb.SEAT_STATUS_SEATED])
        assert watcher.said[1].sittings[0].status == pb.SEAT_STATUS_RESERVED
        assert watcher.said[1].sittings[0].reserved_until_ms > 0
        await watcher.close()


@simulated
async def test_turns_of_all_tables_wait_in_one_place(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        first, second = await two_tables(system)
        watchers = {account: MeWatcher(system, account) for account in ("ada", "bea", "cleo")}
        for game in (first, second):
            await game.until_turn()
        for _ in range(6):
            await asyncio.sleep(0.01)
            turns = {
                account: {
                    sitting.turn.table: sitting.turn for sitting in watcher.sittings.values() if sitting.turn.turn_id
                }
                for account, watcher in watchers.items()
            }
            for game in (first, second):
                hand, on_turn = game.hand, game.on_turn
                turn = turns[on_turn].pop(game.id)
                assert (turn.turn_id, turn.to_call, turn.deadline_ms) == (hand.turn_id, hand.to_call, hand.deadline_ms)
                assert turn.deadline_ms > 0
            assert not any(turns.values())
            for game in (first, second):
                await game.act(STAY)
                await game.until(lambda table: table.hand is not None and table.hand.turn_seat)
        for watcher in watchers.values():
            await watcher.close()


@simulated
async def test_one_look_says_what_the_stream_has_said_so_far(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        first, second = await two_tables(system)
        watcher = MeWatcher(system, "ada")
        for _ in range(60):
            for game in (first, second):
                await game.step(STAY)
            await asyncio.sleep(0.001)
            seen = {}
            for sitting in (await me(system, "ada")).sittings:
                sitting.version = 0
                seen[sitting.table, sitting.sitting_no] = sitting
            told = watcher.sittings
            for sitting in told.values():
                sitting.version = 0
            assert told == seen
            assert len(seen) == 2
        assert first.table.verified_hand + second.table.verified_hand > 2
        await watcher.close()


@simulated
async def test_prompts_and_top_ups_are_told(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        watcher = MeWatcher(system, "ada")
        await game.operate(pb.PauseTableRequest(reason="seating"))
        await game.seat("ada", auto_post=False)
        await game.seat("bea")
        await game.operate(pb.ResumeTableRequest())
        await watcher.until(lambda _: any(sitting.prompts for sitting in watcher.sittings.values()))
        (sitting,) = watcher.sittings.values()
        assert sitting.prompts[0].amount == game.table.rules.ante
        assert sitting.prompts[0].deadline_ms > 0
        await game.send("ada", pb.PostAnteRequest(prompt_id=sitting.prompts[0].prompt_id))
        await game.send("ada", pb.AddChipsRequest(amount=2_000))
        await watcher.until(lambda _: [s.pending for s in watcher.sittings.values()] == [2_000])
        (sitting,) = watcher.sittings.values()
        assert (sitting.last_top_up.state, sitting.last_top_up.amount) == (pb.TOP_UP_STATE_PENDING, 2_000)
        assert not sitting.prompts
        await watcher.close()


@simulated
async def test_a_cash_out_is_told_from_the_wish_to_the_payment(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        watcher = MeWatcher(system, "ada")
        await watcher.until(len)
        sitting_no = next(iter(watcher.sittings.values())).sitting_no
        await game.send("ada", pb.LeaveSeatRequest())
        await game.play(1, STAY)
        await watcher.until(lambda _: not watcher.sittings)
        states = [sitting.status for message in watcher.said for sitting in message.sittings]
        assert pb.SEAT_STATUS_LEAVING in states
        paying = [s for message in watcher.said for s in message.sittings if s.status == pb.SEAT_STATUS_CASHING_OUT]
        (over,) = [over for message in watcher.said for over in message.over]
        assert (over.table, over.sitting_no) == ("t-1", sitting_no)
        assert over.paid > 0
        assert {sitting.cash_out for sitting in paying} <= {over.paid}
        assert not (await me(system, "ada")).sittings
        await watcher.close()


@simulated
async def test_a_seat_that_is_not_paid_for_is_over_with_nothing_paid(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        watcher = MeWatcher(system, "ada")
        await watcher.until(len)
        await game.deposit("ada", 10)
        seat = asyncio.create_task(game.seat("ada", deposit=0))
        await asyncio.gather(seat, return_exceptions=True)
        await watcher.until(lambda said: any(message.over for message in said))
        (over,) = watcher.said[-1].over
        assert not over.HasField("paid")
        await watcher.close()


@simulated
async def test_who_reads_nothing_is_then_told_how_it_is_and_not_how_it_was(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        watcher = MeWatcher(system, "ada")
        await watcher.until(len)
        watcher.reads.clear()
        await game.play(3, STAY)
        (stream,) = system.tables.registry.people._streams["ada"]
        assert len(stream.changed) <= 1
        watcher.reads.set()
        sitting = game.table.of("ada")
        assert sitting is not None
        await watcher.until(lambda _: next(iter(watcher.sittings.values())).stack == sitting.stack)
        assert len(watcher.said) <= 4
        await watcher.close()
        assert not len(system.tables.registry.people)


@simulated
async def test_a_restart_and_a_log_in_trouble_are_seen_here_too(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        watcher = MeWatcher(system, "ada")
        await watcher.until(len)
        runtime = system.runtimes["table"]
        runtime.set_trouble(Trouble("LOG_DISK", "it is full", "make room", refuses=True))
        await watcher.until(lambda _: next(iter(watcher.sittings.values())).paused == "LOG_DISK")
        runtime.set_trouble(None)
        await watcher.until(lambda _: not next(iter(watcher.sittings.values())).paused)
        before = {sitting.table: sitting.stack for sitting in (await me(system, "ada")).sittings}
        await system.stop("table")
        assert (await watcher.end()).reason == "STOPPING"
        await system.start("table")
        assert {sitting.table: sitting.stack for sitting in (await me(system, "ada")).sittings} == before


@simulated
async def test_a_choice_ahead_that_takes_the_turn_leaves_none_to_take(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2, preset="william_hill")
        await game.until_turn(street=4)
        other = next(name for name in ("ada", "bea") if name != game.on_turn)
        hand = game.hand
        choice = pb.SetPreActionRequest(
            hand_no=hand.hand_no, street=hand.street, price=hand.level, verb=seat_pb2.VERB_FOLD
        )
        await game.send(other, choice)
        watcher = MeWatcher(system, other)
        await watcher.until(len)
        await game.act(STAY)
        ended = await game.until(lambda t: t.hand is None or t.hand.deal is not None or t.hand.street > 4)
        version = ended.version
        await asyncio.sleep(1)
        turns = [sitting.turn.turn_id for message in watcher.said for sitting in message.sittings]
        assert not [turn for turn in turns if 0 < turn <= version]
        await watcher.close()


@simulated
async def test_a_fault_in_telling_players_of_themselves_stops_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)

        def broken(*_: Any) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(system.tables.registry.people, "note", broken)
        with capture_logs() as logs:
            await game.play(1, STAY)
        assert {line["event"] for line in logs if line.get("log_level") == "error"} == {"watchers_not_told"}


@simulated
async def test_two_devices_of_one_account_are_told_the_same_and_others_nothing_of_it(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        one, two, other = MeWatcher(system, "ada"), MeWatcher(system, "ada"), MeWatcher(system, "eve")
        await game.play(1, STAY)
        await asyncio.sleep(1)
        assert one.sittings == two.sittings
        assert len(other.said) == 1
        for watcher in (one, two, other):
            await watcher.close()

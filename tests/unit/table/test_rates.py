"""What one player may make a table do: what answers his turn or a prompt always, everything else so often."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_eventlog import keys
from stud_service.refusals import Refused
from table_service import handlers
from table_service.actor import CHOICES_A_STEP
from tests.support.choosing import STAY
from tests.support.playing_memory import NAMES, Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated

BURST, PER_S = 20, 2
LIMITED: dict[str, Callable[[int], Any]] = {
    "take_seat": lambda n: pb.TakeSeatRequest(amount=10_000),
    "add_chips": lambda n: pb.AddChipsRequest(amount=1),
    "leave_seat": lambda n: pb.LeaveSeatRequest(),
    "sit_out": lambda n: pb.SitOutRequest(),
    "sit_in": lambda n: pb.SitInRequest(),
    "set_preferences": lambda n: pb.SetPreferencesRequest(auto_post=bool(n % 2)),
    "set_pre_action": lambda n: pb.SetPreActionRequest(verb=seat_pb2.VERB_FOLD),
    "clear_pre_action": lambda n: pb.ClearPreActionRequest(),
    "join_waiting_list": lambda n: pb.JoinWaitingListRequest(amount=10_000),
    "leave_waiting_list": lambda n: pb.LeaveWaitingListRequest(),
    "act": lambda n: pb.ActRequest(turn_id=n, verb=seat_pb2.VERB_FOLD),
    "use_time_chip": lambda n: pb.UseTimeChipRequest(turn_id=n),
    "post_ante": lambda n: pb.PostAnteRequest(prompt_id=n),
    "choose_show": lambda n: pb.ChooseShowRequest(prompt_id=n),
}


def test_every_command_is_among_them():
    assert set(LIMITED) == {*handlers.COMMANDS, *handlers.CHOICES, *handlers.BESIDE, "take_seat"}


async def outcome(awaitable: Any) -> str:
    try:
        answer = await awaitable
    except Refused as refused:
        return refused.reason
    return getattr(answer, "reason", "")


async def off_turn(game: Game) -> str:
    """A table in a hand; returns who is not on turn."""
    await game.begin(3)
    on_turn = await game.until_turn()
    return next(name for name in NAMES if name != on_turn)


@pytest.mark.parametrize("name", LIMITED)
def test_what_answers_nothing_is_taken_so_often(tmp_path, name):
    """Whether it is accepted or refused; each account and each table for itself, and it goes on after the pause."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game, other = Game(system), Game(system, "t-2")
            who = await off_turn(game)
            await other.open()
            make = LIMITED[name]
            await asyncio.sleep(1)  # what it took to sit down is forgiven
            before = game.actor.head.version
            reasons = [await outcome(game.send(who, make(n))) for n in range(2 * BURST)]
            assert "RATE_LIMITED" not in reasons[:BURST]
            assert set(reasons[BURST + 1 + CHOICES_A_STEP :]) == {"RATE_LIMITED"}
            assert game.actor.head.version - before <= BURST + 1
            with pytest.raises(Refused) as refused:
                await game.send(who, make(1))
            assert (refused.value.code.name, refused.value.metadata["limit"]) == ("RESOURCE_EXHAUSTED", str(PER_S))
            assert await outcome(other.send(who, make(1))) != "RATE_LIMITED"
            assert await outcome(game.send("stranger", make(1))) != "RATE_LIMITED"
            await asyncio.sleep(int(refused.value.metadata["retry_after_ms"]) / 1000)
            assert await outcome(game.send(who, make(1))) != "RATE_LIMITED"

    run()


@simulated
async def test_a_stream_is_no_way_around_it(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        who = await off_turn(game)
        stream = Stream(game, who)
        await asyncio.sleep(1)
        result = pb.CommandResult()
        for number in range(BURST + 10):
            request = LIMITED["set_preferences"](number)
            request.table, request.request_id = game.id, f"p-{number}"
            result = await stream.ask(set_preferences=request)
        assert result.reason == "RATE_LIMITED"
        assert int(result.metadata["retry_after_ms"]) in range(1, 501)
        assert await outcome(game.send(who, pb.SitOutRequest())) == "RATE_LIMITED"
        await stream.close()


@simulated
async def test_a_choice_ahead_after_each_step_of_the_table_is_not_counted(tmp_path):
    """However fast the table is: as fast as it is asked to move nobody can ask more than it moves."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        for name in ("ada", "bea", "cleo"):
            for number in range(BURST + 3):  # seats and what follows have used up the rest
                await outcome(game.send(name, LIMITED["set_preferences"](number)))
        chosen = 0
        while game.table.verified_hand < 6:
            hand = game.table.hand
            if hand is not None and hand.turn_seat:
                waiting = next(n for n in ("ada", "bea", "cleo") if n != game.on_turn)
                for _ in range(CHOICES_A_STEP):
                    assert await outcome(game.send(waiting, pb.ClearPreActionRequest())) != "RATE_LIMITED"
                    chosen += 1
            await game.step(STAY)
        assert chosen > 4 * BURST


@simulated
async def test_who_has_used_up_everything_can_still_answer_their_turn(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        while game.table.verified_hand < 2:
            hand = game.table.hand
            if hand is not None and hand.turn_seat:
                who, last = game.on_turn, ""
                for _ in range(BURST + 3):
                    last = await outcome(game.send(who, pb.ClearPreActionRequest()))
                assert last == "RATE_LIMITED"
                stale = game.act_request(game.choose(STAY), turn_id=1)
                assert await outcome(game.send(who, stale)) == "RATE_LIMITED"
                await game.act(STAY)
            else:
                await game.step(STAY)


@simulated
async def test_who_has_used_up_everything_can_still_answer_a_prompt(tmp_path):
    """Also by the preference that answers it."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.operate(pb.PauseTableRequest(reason="seating"))
        for name in ("ada", "bea", "cleo"):
            await game.seat(name, auto_post=False)
        await game.operate(pb.ResumeTableRequest())
        await game.until(lambda table: table.hand is not None and len(table.hand.prompts) == 3)
        last = ""
        for name in ("ada", "bea"):
            for _ in range(BURST + 3):
                last = await outcome(game.send(name, pb.ClearPreActionRequest()))
            assert last == "RATE_LIMITED"
        prompt = game.hand.prompts[0]
        assert await outcome(game.send("ada", pb.PostAnteRequest(prompt_id=prompt.prompt_id))) == ""
        assert await outcome(game.send("bea", pb.SetPreferencesRequest(auto_post=True))) == ""
        assert len(game.hand.prompts) == 1


@simulated
async def test_what_was_done_before_is_answered_however_often_it_comes_again(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        who = await off_turn(game)
        asked = pb.SitOutRequest(request_id="out")
        first = await game.send(who, asked)
        for _ in range(5 * BURST):
            assert await game.send(who, asked) == first
        assert await outcome(game.send(who, pb.SitInRequest())) == ""


@simulated
async def test_what_changes_nothing_writes_nothing(tmp_path):
    async with MemorySystem(tmp_path, commands_burst=1000) as system:
        game = Game(system)
        who = await off_turn(game)
        log, stream = system.runtimes["table"].log, keys.table_log(keys.shard_of(game.id), game.id)
        for request in (pb.SetPreferencesRequest(auto_post=True), pb.SitInRequest(), pb.ClearPreActionRequest()):
            version = (await log.head(stream)).version
            for _ in range(30):
                request.request_id = ""
                await outcome(game.send(who, request))
            assert (await log.head(stream)).version == version


@simulated
async def test_a_play_stream_that_does_not_subscribe_ends(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        stream = Stream(game, "eve")
        stream.requests.get_nowait()  # what it would subscribe with
        began = asyncio.get_running_loop().time()
        refused = await stream.end()
        assert (refused.reason, refused.metadata["field"]) == ("INVALID_FIELD", "subscribe")
        assert asyncio.get_running_loop().time() - began == pytest.approx(10, abs=0.1)

"""A preference that answers an open question runs against that question's clock; late, it is a wish for later hands.

And what comes after a deadline is refused by a rule that every table has.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.commands import Act, Command, PostAnte, SetPreferences
from stud_core.state import Phase, Sitting
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated, virtual_ms

BOTH = pytest.mark.parametrize("preset", ["playnow", "william_hill"])


async def asked(system: MemorySystem, preset: str, *, antes: bool) -> tuple[Game, Sitting]:
    """Three players are asked: for their antes, or who has lost whether he shows."""
    game = Game(system)
    await game.open(preset)
    await game.operate(pb.PauseTableRequest(reason="seating"))
    for name in ("ada", "bea", "cleo"):
        await game.seat(name, auto_post=not antes, muck_losing=False)
    await game.operate(pb.ResumeTableRequest())
    wanted = Phase.ANTES if antes else Phase.SHOW_PROMPTS
    while not (game.table.hand is not None and game.hand.prompts and game.hand.phase is wanted):
        await game.step(STAY)
    return game, game.table.at(game.hand.prompts[0].seat)


def wish(who: Sitting) -> SetPreferences:
    return SetPreferences(who.account, auto_post=True, muck_losing=True)


def sent(game: Game, received_ms: int, command: Command) -> Any:
    """Hands in a command that arrived at a given time."""
    mail = game.actor._mail(command, "", "", b"", None)
    mail.received_ms = received_ms
    game.actor._mailbox.put(mail)
    return mail.future


async def late_by(game: Game, ms: int) -> int:
    """Waits, with the table's own timer out of order, until so long after the deadline; returns that."""
    deadline = game.hand.deadline_ms or game.hand.prompts[0].deadline_ms
    game.actor._timer.cancel()
    await asyncio.sleep((deadline + ms - virtual_ms()) / 1000)
    return deadline


async def kinds(game: Game, after: int) -> list[str]:
    commits = await game.system.runtimes["table"].log.read(game.actor.stream, after)
    return [type(event).__name__ for commit in commits for event in decode_commit(commit.body).events]


def answer(antes: bool) -> str:
    return "AntePosted" if antes else "HandMucked"


@pytest.mark.rules("P6", "P44")
@pytest.mark.parametrize("antes", [True, False])
@BOTH
@simulated
async def test_a_player_ticks_the_box_and_is_asked_no_more(tmp_path: Path, preset: str, antes: bool):
    async with MemorySystem(tmp_path) as system:
        game, who = await asked(system, preset, antes=antes)
        version = game.actor.head.version
        await game.send(who.account, pb.SetPreferencesRequest(auto_post=True, muck_losing=True))
        assert (await kinds(game, version))[:2] == ["PreferencesSet", answer(antes)]
        update = await system.call("GetTable", pb.GetTableRequest(table=game.id), who.account)
        assert not update.update.mine.prompts
        hand_no = game.hand.hand_no if game.table.hand is not None else game.table.hand_no
        await game.play(hand_no, STAY)  # the referee agrees


@pytest.mark.parametrize("antes", [True, False])
@simulated
async def test_what_came_in_time_counts_however_long_it_queued(tmp_path: Path, antes: bool):
    async with MemorySystem(tmp_path) as system:
        game, who = await asked(system, "playnow", antes=antes)
        version = game.actor.head.version
        deadline = await late_by(game, 500)
        await sent(game, deadline, wish(who))
        assert (await kinds(game, version))[:2] == ["PreferencesSet", answer(antes)]


@simulated
async def test_after_the_deadline_the_timeout_comes_first_and_the_wish_stands(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game, who = await asked(system, "playnow", antes=True)
        version = game.actor.head.version
        deadline = await late_by(game, 1)
        await sent(game, deadline + 1, wish(who))
        found = await kinds(game, version)
        assert found[:2] == ["AnteMissed", "SatOut"]
        assert "AntePosted" not in found
        assert found[-1] == "PreferencesSet"
        assert game.table.sittings[who.sitting_no].auto_post


@pytest.mark.parametrize("antes", [True, False])
@simulated
async def test_more_than_a_second_late_is_our_fault_and_it_answers(tmp_path: Path, antes: bool):
    async with MemorySystem(tmp_path) as system:
        game, who = await asked(system, "playnow", antes=antes)
        version = game.actor.head.version
        deadline = await late_by(game, 1_500)
        await sent(game, deadline + 1_500, wish(who))
        assert (await kinds(game, version))[:3] == ["ClockRestarted", "PreferencesSet", answer(antes)]


# ------------------------------------------------------------------- the rule that is cited


async def _late_action(system: MemorySystem, preset: str) -> tuple[Game, Command]:
    game = Game(system)
    await game.begin(preset=preset)
    await game.until_turn()
    return game, Act(game.on_turn, game.hand.turn_id, ev.Verb.BRING_IN)


async def _late_ante(system: MemorySystem, preset: str) -> tuple[Game, Command]:
    game, who = await asked(system, preset, antes=True)
    return game, PostAnte(who.account, game.hand.prompts[0].prompt_id)


@pytest.mark.parametrize("make", [_late_action, _late_ante], ids=["action", "ante"])
@BOTH
@simulated
async def test_what_is_late_is_refused_by_what_both_pages_leave_open(tmp_path: Path, preset: str, make: Any):
    """PlayNow's P25 and P55 are no statements of William Hill's page, and neither says what a timeout does."""
    async with MemorySystem(tmp_path) as system:
        game, command = await make(system, preset)
        deadline = await late_by(game, 1)
        answered = sent(game, deadline + 1, command)
        with pytest.raises(Refused) as refused:
            await answered
        assert (refused.value.reason, refused.value.metadata["rule"]) == ("DEADLINE_PASSED", "B.18")

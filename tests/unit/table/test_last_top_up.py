"""What a player sees of his last request for more chips: until the next one, and also after a restart."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from tests.support.choosing import STAY
from tests.support.playing_memory import DEPOSIT, Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated
from tests.unit.table.test_views import get

REQUESTED, PENDING = pb.TOP_UP_STATE_REQUESTED, pb.TOP_UP_STATE_PENDING
ADDED, REFUSED = pb.TOP_UP_STATE_ADDED, pb.TOP_UP_STATE_REFUSED


async def last(game: Game, account: str = "ada") -> pb.TopUpView:
    """What he sees, as it stands and from nothing but the log."""
    seen = (await get(game, account)).mine
    await game.system.crash("table")
    await game.system.start("table")
    again = (await get(game, account)).mine
    assert (again.HasField("last_top_up"), again.last_top_up) == (seen.HasField("last_top_up"), seen.last_top_up)
    return seen.last_top_up


def shown(number: int, amount: int, state: pb.TopUpState.ValueType, **why: Any) -> pb.TopUpView:
    return pb.TopUpView(top_up_no=number, amount=amount, state=state, **why)


async def more(game: Game, amount: int) -> None:
    await game.send("ada", pb.AddChipsRequest(amount=amount))


@simulated
async def test_asked_for_waiting_added_and_asked_for_again(tmp_path: Path):
    """Within a hand chips wait; a second request takes the place of the first in what is shown."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.until_turn()
        assert not (await get(game, "ada")).mine.HasField("last_top_up")
        await system.crash("wallet")
        await more(game, 300)
        assert await last(game) == shown(1, 300, REQUESTED)
        await system.start("wallet")
        await game.until(lambda t: t.sittings[1].pending)
        assert await last(game) == shown(1, 300, PENDING)
        await system.crash("wallet")
        await more(game, 200)
        assert await last(game) == shown(2, 200, REQUESTED)
        await system.start("wallet")
        await game.until(lambda t: t.sittings[1].pending == 500)
        assert await last(game) == shown(2, 200, PENDING)
        await game.play(1, STAY)
        assert await last(game) == shown(2, 200, ADDED)
        assert not (await get(game, "bea")).mine.HasField("last_top_up")
        assert not (await get(game, "olga")).HasField("mine")


@simulated
async def test_the_first_is_added_while_the_second_is_asked_for(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2, hand_pause_ms=60_000)
        await game.until_turn()
        await more(game, 300)
        await game.until(lambda t: t.sittings[1].pending == 300)
        await system.crash("wallet")
        await more(game, 200)
        await game.play(1, STAY)
        assert game.table.sittings[1].pending == 0
        assert await last(game) == shown(2, 200, REQUESTED)
        await system.start("wallet")
        await game.until(lambda t: not t.sittings[1].top_up_open)
        assert await last(game) == shown(2, 200, ADDED)


@simulated
async def test_beyond_the_balance_it_is_accepted_and_then_seen_as_refused(tmp_path: Path):
    """With chips of an earlier one still waiting; a stream shows it in the update of the wallet's answer."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.until_turn()
        await more(game, 300)
        await game.until(lambda t: t.sittings[1].pending == 300)
        stream = Stream(game, "ada")
        left = DEPOSIT - 10_300
        await game.operate_wallet("Withdraw", account="ada", amount=left - 7)
        answer = await game.send("ada", pb.AddChipsRequest(amount=8))
        assert answer.top_up_no == 2
        short = shown(2, 8, REFUSED, reason="INSUFFICIENT_FUNDS", balance=7)
        async with asyncio.timeout(10):
            while (await stream.update()).mine.last_top_up != short:
                pass
        assert await last(game) == short
        await game.play(1, STAY)
        assert (await last(game), game.table.sittings[1].pending) == (short, 0)
        await more(game, 7)
        await game.until(lambda t: not t.sittings[1].top_up_open)
        assert (await last(game)).state in {PENDING, ADDED}
        assert not (await last(game)).HasField("balance")


@pytest.mark.parametrize("reason", ["ACCOUNT_FROZEN"])
@simulated
async def test_another_reason_has_no_balance(tmp_path: Path, reason: str):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.seat("ada")
        await game.operate_wallet("FreezeAccount", account="ada", reason="looked at")
        await more(game, 100)
        await game.until(lambda t: not t.sittings[1].top_up_open)
        assert await last(game) == shown(1, 100, REFUSED, reason=reason)


@simulated
async def test_who_leaves_with_one_open_sees_it_until_they_are_gone_and_a_new_sitting_begins_without(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.seat("ada")
        await system.crash("wallet")
        await more(game, 100)
        await game.send("ada", pb.LeaveSeatRequest())
        assert await last(game) == shown(1, 100, REQUESTED)
        await system.start("wallet")
        await game.until(lambda t: not t.sittings)
        assert not (await get(game, "ada")).HasField("mine")
        await game.seat("ada", deposit=0)
        assert not (await get(game, "ada")).mine.HasField("last_top_up")

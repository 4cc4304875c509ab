"""How players are called: a public id, and the name and picture of their token; nobody looks like somebody else."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_service.identity import Caller, set_caller
from stud_service.refusals import Refused
from table_service.profiles import Profiles
from table_service.servicer import TableServicer
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated

_ids = itertools.count()


async def take_seat(
    game: Game, account: str, nickname: str = "", avatar: str = "", **fields: Any
) -> pb.TakeSeatResponse:
    """Sits down with a token that says how the player is called."""
    await game.deposit(account, 100_000)
    request = pb.TakeSeatRequest(
        table=game.id, amount=10_000, auto_post=True, request_id=f"named-{next(_ids)}", **fields
    )
    return await ask(game, account, nickname, avatar, request)


async def ask(game: Game, account: str, nickname: str, avatar: str, request: pb.TakeSeatRequest) -> pb.TakeSeatResponse:
    tables = game.system.tables

    async def as_caller() -> pb.TakeSeatResponse:
        set_caller(Caller(account, frozenset({"player"}), nickname=nickname, avatar=avatar))
        return await TableServicer(tables.registry, tables.streams).TakeSeat(request, None)  # type: ignore[arg-type]

    return await asyncio.get_running_loop().create_task(as_caller())


async def seats(game: Game, who: str = "eve") -> dict[int, tuple[str, str]]:
    """Name and picture by seat, as somebody who watches sees them."""
    update = (await game.system.call("GetTable", pb.GetTableRequest(table=game.id), who)).update
    return {seat.seat: (seat.name, seat.avatar) for seat in update.view.seats if seat.player}


async def opened(game: Game) -> None:
    await game.open("william_hill")
    await game.operate(pb.PauseTableRequest(reason="seating"))


def test_a_public_id_is_the_accounts_own_under_one_key_and_says_nothing_of_it():
    ids = [Profiles(b"k" * 32).player_id(f"account-{number}") for number in range(1000)]
    assert len(set(ids)) == 1000
    assert all(len(each) == 16 and each.isalnum() for each in ids)
    assert ids[7] == Profiles(b"k" * 32).player_id("account-7") != Profiles(b"l" * 32).player_id("account-7")


@simulated
async def test_everybody_sees_the_name_and_the_picture_of_the_token(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        watcher = Stream(game, "eve", watch=True)
        await take_seat(game, "ada", "  Ada   Lee ", "owl-3", seat=1)
        await take_seat(game, "bea", seat=2)
        assert await seats(game) == {1: ("Ada Lee", "owl-3"), 2: ("", "")}
        asked: list[Any] = []
        while len(asked) < 2:
            asked += [e.buy_in_requested for e in (await watcher.update()).events if e.HasField("buy_in_requested")]
        assert [(event.profile.name, event.profile.name_key) for event in asked] == [("Ada Lee", ""), ("", "")]
        await watcher.close()


@simulated
async def test_the_last_hand_knows_who_played_it(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        for number, name in enumerate(("Ada", "Bea"), 1):
            await take_seat(game, name.lower(), name, seat=number)
        await game.operate(pb.ResumeTableRequest())
        while game.table.verified_hand < 1:
            await game.step()
        update = (await system.call("GetTable", pb.GetTableRequest(table=game.id), "eve")).update
        players = Profiles(system.tables.registry.master)
        assert {(seat.name, seat.player) for seat in update.view.last_hand.seats} == {
            ("Ada", players.player_id("ada")),
            ("Bea", players.player_id("bea")),
        }


@simulated
async def test_who_looks_like_somebody_at_the_table_is_refused(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        await take_seat(game, "ada", "Oleg")
        with pytest.raises(Refused, match="NAME_TAKEN"):
            await take_seat(game, "bea", "Оlеg")
        assert sorted(await seats(game)) == [1]
        await take_seat(game, "bea", "Olga")
        await take_seat(game, "cleo")
        await take_seat(game, "dana")  # without a name nobody looks like anybody
        assert sorted(await seats(game)) == [1, 2, 3, 4]


@simulated
async def test_two_who_look_alike_and_sit_down_at_once_do_not_both_sit(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        both = await asyncio.gather(
            take_seat(game, "ada", "Oleg"), take_seat(game, "bea", "OLEG"), return_exceptions=True
        )
        assert [isinstance(answer, Refused) and answer.reason for answer in both].count("NAME_TAKEN") == 1
        assert len(await seats(game)) == 1


@simulated
async def test_a_name_is_free_again_when_its_owner_has_left(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        await take_seat(game, "ada", "Oleg")
        await game.send("ada", pb.LeaveSeatRequest())
        await asyncio.sleep(5)
        await take_seat(game, "bea", "oleg")
        assert list((await seats(game)).values()) == [("oleg", "")]


@simulated
@pytest.mark.parametrize(("nickname", "avatar", "field"), [("a\x00", "", "nickname"), ("Ann", "../x y", "avatar")])
async def test_what_cannot_be_shown_is_refused_and_nobody_sits(tmp_path: Path, nickname: str, avatar: str, field: str):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        with pytest.raises(Refused) as refused:
            await take_seat(game, "ada", nickname, avatar)
        assert (refused.value.reason, refused.value.metadata["field"]) == ("INVALID_FIELD", field)
        assert await seats(game) == {}


@simulated
async def test_a_repeated_call_is_answered_though_the_token_has_another_name_by_now(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        await game.deposit("ada", 100_000)
        request = pb.TakeSeatRequest(table=game.id, amount=10_000, request_id="once")
        first = await ask(game, "ada", "Ada", "", request)
        assert (await ask(game, "ada", "Ida", "", request)).sitting_no == first.sitting_no
        assert await seats(game) == {1: ("Ada", "")}


@simulated
async def test_names_outlive_a_restart(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await opened(game)
        await take_seat(game, "ada", "Ada", "owl")
        before = await seats(game)
        await system.stop("table")
        await system.start("table")
        assert await seats(game) == before == {1: ("Ada", "owl")}

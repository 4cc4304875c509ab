"""The waiting list over the service: a place that survives a restart, an offer that is seen by its owner and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.state import Waiter
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated, virtual_ms
from tests.support.watchers import LobbyWatcher, MeWatcher, Watcher

LIST: dict[str, Any] = {
    "ruleset": ruleset_pb2.Ruleset(seats=2, waiting_list=2, offer_ms=20_000),
    "override_fields": ["seats", "waiting_list", "offer_ms"],
}
STACK = 10_000


async def full(system: MemorySystem, *waiting: str) -> Game:
    """Two players at a table of two that is paused, and some who wait."""
    game = Game(system)
    await game.open(**LIST)
    await game.operate(pb.PauseTableRequest(reason="seating"))
    for name in ("ada", "bea"):
        await game.seat(name)
    for name in waiting:
        await game.deposit(name, 50_000)
        await join(game, name)
    return game


async def join(game: Game, name: str, **fields: Any) -> pb.JoinWaitingListResponse:
    answer: pb.JoinWaitingListResponse = await game.send(name, pb.JoinWaitingListRequest(amount=STACK, **fields))
    return answer


async def mine(game: Game, account: str) -> pb.PrivateView:
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), account)
    view: pb.PrivateView = answer.update.mine
    return view


async def view(game: Game) -> pb.TableView:
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), "eve")
    shown: pb.TableView = answer.update.view
    return shown


async def seen(stream: Stream, what: Callable[[Any], Any], told: list[pb.TableUpdate] | None = None) -> pb.TableUpdate:
    """The first update that is so; all that came until then are added to ``told``."""
    while True:
        update = await stream.update()
        if told is not None:
            told.append(update)
        if what(update):
            return update


async def lobby(game: Game) -> pb.TableSummary:
    lines: list[pb.TableSummary] = list((await game.system.call("ListTables", pb.ListTablesRequest(), "eve")).tables)
    return lines[0]


@simulated
async def test_everybody_sees_how_many_wait_and_each_their_own_place(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system)
        assert [(await join(game, name)).position for name in ("cleo", "dora")] == [1, 2]
        assert ((await view(game)).waiting, (await lobby(game)).waiting) == (2, 2)
        place = (await mine(game, "dora")).waiting
        assert (place.position, place.amount, place.seat, place.expires_at_ms) == (2, STACK, 0, 0)
        assert not (await mine(game, "ada")).HasField("waiting")
        assert await mine(game, "eve") == pb.PrivateView()
        with pytest.raises(Refused, match="WAITING_LIST_FULL"):
            await join(game, "eve")


@simulated
async def test_who_waits_is_told_so_wherever_they_look_and_nobody_else_is(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system, "cleo", "dora")
        watchers = {name: MeWatcher(system, name) for name in ("cleo", "dora", "eve", "ada")}
        with_room = LobbyWatcher(system, min_free_seats=1)
        everybody: list[Watcher[Any]] = [*watchers.values(), with_room]
        for watcher in everybody:
            await watcher.until(len)
        cleo, dora = watchers["cleo"], watchers["dora"]
        assert [(w.waiting[game.id].position, w.waiting[game.id].amount) for w in (cleo, dora)] == [
            (1, STACK),
            (2, STACK),
        ]
        await game.send("ada", pb.LeaveSeatRequest())
        await cleo.until(lambda _: cleo.waiting[game.id].seat == 1)
        assert cleo.waiting[game.id].expires_at_ms == virtual_ms() + 20_000
        await dora.until(lambda _: game.id not in dora.waiting or dora.waiting[game.id].seat == 1, within_s=60)
        assert game.id not in cleo.waiting
        seat = await game.send("dora", pb.TakeSeatRequest(amount=STACK))
        await dora.until(lambda _: game.id not in dora.waiting and dora.sittings)
        assert seat.seat == 1
        answer = await system.call("GetMe", pb.GetMeRequest(), "dora")
        assert (len(answer.sittings), len(answer.waiting)) == (1, 0)
        await game.deposit("eve", 50_000)
        await join(game, "eve")
        await watchers["eve"].until(lambda said: said[-1].waiting)
        (place,) = (await system.call("GetMe", pb.GetMeRequest(), "eve")).waiting
        assert (place.table, place.place.position, place.currency) == (game.id, 1, "EUR")
        assert not watchers["ada"].waiting
        assert not with_room.tables
        for watcher in everybody:
            await watcher.close()


@simulated
async def test_an_offer_is_its_owners_alone_and_the_seat_is_taken_by_it(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system, "cleo", "dora")
        await game.send("ada", pb.LeaveSeatRequest())
        until = virtual_ms() + 20_000
        shown = await view(game)
        assert (shown.seats[0].offered_until_ms, shown.seats[0].account) == (until, "")
        offer = (await mine(game, "cleo")).waiting
        assert (offer.position, offer.seat, offer.expires_at_ms) == (1, 1, until)
        assert (await mine(game, "dora")).waiting.seat == 0
        for other in ("dora", "eve"):
            with pytest.raises(Refused, match="TABLE_FULL"):
                await game.send(other, pb.TakeSeatRequest(amount=STACK))
        taken = await game.send("cleo", pb.TakeSeatRequest(amount=STACK))
        assert (taken.outcome, taken.seat) == (pb.SEAT_OUTCOME_SEATED, 1)
        assert ((await lobby(game)).waiting, (await mine(game, "dora")).waiting.position) == (1, 1)


@simulated
async def test_an_offer_that_passes_is_the_next_ones(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system, "cleo", "dora")
        await game.send("ada", pb.LeaveSeatRequest())
        await asyncio.sleep(19)
        assert (await mine(game, "cleo")).waiting.seat == 1
        await asyncio.sleep(2)
        assert not (await mine(game, "cleo")).HasField("waiting")
        assert (await mine(game, "dora")).waiting.seat == 1
        await game.send("dora", pb.LeaveWaitingListRequest())
        await game.until(lambda t: t.of("ada") is None)
        assert (await view(game)).waiting == 0
        assert (await game.send("cleo", pb.TakeSeatRequest(amount=STACK))).seat == 1


@simulated
async def test_a_restart_loses_nobodys_place_and_shortens_no_offer(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system, "cleo", "dora")
        await game.send("ada", pb.LeaveSeatRequest())
        await game.until(lambda t: t.of("ada") is None)
        await system.crash("table")
        await asyncio.sleep(600)
        await system.start("table")
        await game.until(lambda t: t.waiting and t.waiting[0].expires_at_ms > virtual_ms())
        assert game.table.waiting == (Waiter("cleo", STACK, 1, virtual_ms() + 20_000), Waiter("dora", STACK))
        await asyncio.sleep(19)
        assert (await game.send("cleo", pb.TakeSeatRequest(amount=STACK))).outcome == pb.SEAT_OUTCOME_SEATED


@simulated
async def test_the_same_request_again_is_one_place(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system)
        first = await join(game, "cleo", request_id="once")
        assert await join(game, "cleo", request_id="once") == first
        with pytest.raises(Refused, match="ALREADY_WAITING"):
            await join(game, "cleo", request_id="twice")
        await game.send("cleo", pb.LeaveWaitingListRequest(request_id="out"))
        await game.send("cleo", pb.LeaveWaitingListRequest(request_id="out"))
        assert (await join(game, "cleo", request_id="once")).position == 0
        with pytest.raises(Refused, match="NOT_WAITING"):
            await game.send("cleo", pb.LeaveWaitingListRequest())


@simulated
async def test_a_stream_of_somebody_who_waits_has_the_offer_and_then_the_seat(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system, "cleo")
        stream = Stream(game, "cleo")
        await game.send("ada", pb.LeaveSeatRequest())
        offered = await seen(stream, lambda update: update.mine.waiting.seat)
        assert (offered.mine.sitting_no, offered.mine.waiting.seat) == (0, 1)
        await game.send("cleo", pb.TakeSeatRequest(amount=STACK))
        seated = await seen(stream, lambda update: update.mine.sitting_no)
        assert not seated.mine.HasField("waiting")


@simulated
async def test_nobody_else_is_told_who_waits(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system)
        stream = Stream(game, "eve", watch=True)
        await join(game, "cleo")
        await game.send("ada", pb.LeaveSeatRequest())
        told: list[pb.TableUpdate] = []
        await seen(stream, lambda update: update.view.seats[0].offered_until_ms, told)
        (offered,) = [e.seat_offered for update in told for e in update.events if e.HasField("seat_offered")]
        assert (offered.account, offered.seat) == ("", 1)
        assert b"cleo" not in b"".join(update.SerializeToString() for update in told)


@simulated
async def test_a_closed_table_and_one_without_a_list_say_so(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        with pytest.raises(Refused, match="NO_WAITING_LIST"):
            await join(game, "cleo")
        await game.operate(pb.CloseTableRequest())
        await asyncio.sleep(2)
        with pytest.raises(Refused, match="TABLE_NOT_OPEN"):
            await join(game, "cleo")
        with pytest.raises(Refused, match="NOT_WAITING"):
            await game.send("cleo", pb.LeaveWaitingListRequest())


@simulated
async def test_the_log_has_the_list_and_the_referee_reads_past_it(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = await full(system, "cleo")
        await game.operate(pb.ResumeTableRequest())
        await game.play(1)
        await game.send("cleo", pb.LeaveWaitingListRequest())
        await game.play(2)
        stored = system.store.data.logs[game.actor.stream]
        events = [event for commit, _ in stored for event in decode_commit(commit.body).events]
        assert [type(e).__name__ for e in events if isinstance(e, ev.WaitingJoined | ev.WaitingLeft)] == [
            "WaitingJoined",
            "WaitingLeft",
        ]

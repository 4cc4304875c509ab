"""What a stream may be asked to do beyond the first version of the contract: it tells the same, in fewer messages."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_client.plain import ACCEPTS
from table_service import hub as hubs
from table_service import views
from table_service.hub import Done, Hub, Viewer
from table_service.private_views import Own, own, private_view
from table_service.updates import Step
from tests.support.choosing import LIVELY
from tests.support.deep import either
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated

INLINE, BATCH, DELTA = ACCEPTS
EVERY_SET = [some for size in range(4) for some in itertools.combinations(ACCEPTS, size)]
SETS = EVERY_SET[:: either(1, 1, 7)]


def test_our_client_asks_for_all_that_there_is():
    others = {pb.CAPABILITY_UNSPECIFIED, pb.CAPABILITY_SEVERAL_TABLES}  # a session is of one table
    assert set(ACCEPTS) == set(pb.Capability.values()) - others


def without_time(update: pb.TableUpdate) -> pb.TableUpdate:
    """What the update says: not when it was sent, and not a result, which another stream does not get."""
    bare = pb.TableUpdate()
    bare.CopyFrom(update)
    bare.ClearField("sent_at_ms")
    bare.ClearField("result")
    return bare


@pytest.mark.parametrize("accepts", SETS, ids=lambda some: "+".join(pb.Capability.Name(c)[11:] for c in some) or "none")
def test_whatever_a_client_accepts_it_is_told_the_same(tmp_path, accepts):
    """Whole hands, players who leave and sit down among them; each command has its one result."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system, seed=len(accepts))
            await game.begin(4)
            names = ("ada", "bea", "cleo", "dora", "eve")
            plain = {name: Stream(game, name, watch=True) for name in names}
            asking = {name: Stream(game, name, accepts=accepts) for name in names[:4]}
            asking["eve"] = Stream(game, "eve", watch=True, accepts=accepts)
            asked: dict[str, list[str]] = {name: [] for name in names}
            await asyncio.sleep(0.05)
            while game.table.verified_hand < 4:
                await take_turn(game, asking, asked)
            for name, command in (
                ("ada", {"leave_seat": pb.LeaveSeatRequest()}),
                ("bea", {"sit_out": pb.SitOutRequest()}),
            ):
                send(game, asking[name], asked[name], command)
            await asyncio.sleep(2)
            await game.step()
            await asyncio.sleep(2)
            for name in names:
                want, got = plain[name].said(), asking[name].said()
                results = [said for said in got if isinstance(said, pb.CommandResult)]
                assert [result.request_id for result in results] == asked[name]
                updates = [without_time(said) for said in got if isinstance(said, pb.TableUpdate)]
                assert updates == [without_time(said) for said in want if isinstance(said, pb.TableUpdate)]
                assert not any(result.reason for result in results)
            assert sum(map(len, asked.values())) > 30
            for stream in (*plain.values(), *asking.values()):
                await stream.close()

    run()


async def take_turn(game: Game, streams: dict[str, Stream], asked: dict[str, list[str]]) -> None:
    """Has whoever is on turn act over their own stream, and everybody asked to show say no."""
    command: dict[str, Any]
    table = await game.until(lambda t: t.hand is not None and (t.hand.turn_seat or t.hand.prompts))
    if table.running.turn_seat:
        name, command = game.on_turn, {"act": game.act_request(game.choose(LIVELY))}
    else:
        prompt = table.running.prompts[0]
        name = table.at(prompt.seat).account
        command = {"choose_show": pb.ChooseShowRequest(prompt_id=prompt.prompt_id)}
    send(game, streams[name], asked[name], command)
    await game.actor.settled.wait()


def send(game: Game, stream: Stream, asked: list[str], command: dict[str, Any]) -> None:
    (name, body), *_ = command.items()
    body.table, body.request_id = game.id, f"r-{stream.task.get_name()}-{len(asked)}"
    asked.append(body.request_id)
    stream.requests.put_nowait(pb.PlayRequest(**{name: body}))


@simulated
async def test_a_part_that_is_not_made_again_is_as_if_it_were(tmp_path):
    """The public view and each player's own, kept from step to step, beside both made anew."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system, seed=3)
        await game.begin(5)
        compared = 0
        while game.table.verified_hand < 6:
            await game.step(LIVELY)
            actor, table = game.actor, game.table
            assert actor._view() == views.PublicView().draw(table, actor._halted_for, actor._held_for)
            assert pb.TableView.FromString(actor._view()).SerializeToString() == actor._view()
            for sitting in table.sittings.values():
                part = pb.TableUpdate.FromString(actor.private_part(sitting.account))
                assert part.mine == private_view(own(table, sitting, game.cards(sitting.account)))
                compared += 1
        assert compared > 300


# --- one stream -----------------------------------------------------------------------------------------------------


def queued(viewer: Viewer) -> list[int]:
    return [data.shared[0] for data in viewer.queue._queue]  # type: ignore[attr-defined]


def step(version: int, *, quiet: bool = False, full: bool = False) -> Step:
    return Step(version, b"", bytes([version]), quiet, full)


async def test_a_step_that_asks_nobody_waits_for_the_next_and_not_for_long(monkeypatch):
    monkeypatch.setattr(hubs, "HOLD_S", 0.01)
    hub, patient, other = Hub(), Viewer("ada", accepts=[BATCH]), Viewer("bea")
    hub.add(patient)
    hub.add(other)
    for version, quiet in ((1, True), (2, True), (3, False)):
        hub.publish(step(version, quiet=quiet), lambda account: b"")
        assert queued(other) == list(range(1, version + 1))
    assert queued(patient) == [1, 2, 3]
    assert len(await patient.waiting()) == 3
    hub.publish(step(4, quiet=True), lambda account: b"")
    assert queued(patient) == []
    async with asyncio.timeout(5):
        assert len(await patient.waiting()) == 1


async def test_what_is_held_back_comes_before_the_end():
    hub, viewer = Hub(), Viewer("ada", accepts=[BATCH])
    hub.add(viewer)
    hub.publish(step(1, quiet=True), lambda account: b"")
    hub.finish()
    assert len(await viewer.waiting()) == 1
    assert await viewer.waiting() == []


def test_who_is_behind_by_too_much_is_told_so_whether_held_back_or_not():
    async def run() -> None:
        hub, viewer = Hub(), Viewer("ada", limit=4, accepts=[BATCH])
        hub.add(viewer)
        for version in range(9):
            hub.publish(step(version, quiet=True), lambda account: b"")
        assert viewer.why is not None
        assert viewer.why.reason == "RESUME_FROM_VERSION"
        assert viewer.queue.qsize() <= 6

    asyncio.run(run())


async def test_one_message_holds_so_many_and_no_more():
    viewer = Viewer("ada", accepts=[BATCH])
    for version in range(100):
        viewer.show(step(version), b"")
    assert [len(await viewer.waiting()) for _ in range(2)] == [hubs.BATCH_LIMIT, 100 - hubs.BATCH_LIMIT]


def parts(viewer: Viewer) -> Sequence[bytes]:
    return [data.mine for data in viewer.queue._queue]  # type: ignore[attr-defined]


def test_a_part_comes_when_it_has_changed_and_in_every_full_view():
    viewer = Viewer("ada", accepts=[DELTA])
    for version, part, full in ((1, b"a", True), (2, b"a", False), (3, b"b", False), (4, b"b", True), (5, b"", False)):
        viewer.show(step(version, full=full), part)
    viewer.show(step(6), b"")
    none = pb.TableUpdate(mine=pb.PrivateView()).SerializeToString()
    assert parts(viewer) == [b"a", b"", b"b", b"b", none, b""]


def test_the_result_comes_with_the_step_only_on_the_stream_that_waits_for_it():
    hub = Hub()
    waits, other, opponent = (Viewer(name, accepts=[INLINE]) for name in ("ada", "ada", "bea"))
    for viewer in (waits, other, opponent):
        hub.add(viewer)
    waits.awaits, other.awaits, opponent.awaits = b"asked", b"other", b"asked"
    hub.publish(step(1), lambda account: b"x", Done("ada", "r-1", b"asked"))
    hub.publish(step(2), lambda account: b"x", Done("ada", "r-1", b"asked"))
    results = [[data.result for data in viewer.queue._queue] for viewer in (waits, other, opponent)]  # type: ignore[attr-defined]
    made = pb.TableUpdate(result=pb.CommandResult(request_id="r-1", version=1)).SerializeToString()
    assert results == [[made, b""], [b"", b""], [b"", b""]]
    assert (waits.awaits, other.awaits, opponent.awaits) == (b"", b"other", b"asked")


@pytest.mark.parametrize("same", [True, False])
def test_one_request_id_on_two_streams_at_once_has_one_result_on_each(tmp_path, same):
    """The same content is done once and told to both; other content under the same id is refused, on its own stream."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3)
            first, second = (Stream(game, "ada", accepts=ACCEPTS) for _ in range(2))
            await asyncio.sleep(0.05)
            before = game.actor.head.version
            for stream, muck in ((first, False), (second, not same)):
                body = pb.SetPreferencesRequest(table=game.id, muck_losing=muck, auto_post=False, request_id="twice")
                stream.requests.put_nowait(pb.PlayRequest(set_preferences=body))
            await asyncio.sleep(1)
            told = [
                [said for said in stream.said() if isinstance(said, pb.CommandResult)] for stream in (first, second)
            ]
            assert [len(results) for results in told] == [1, 1]
            assert [bool(results[0].version > before) for results in told] == [True, same]
            assert told[1][0].reason == ("" if same else "REQUEST_ID_REUSED")
            for stream in (first, second):
                await stream.close()

    run()


def test_what_a_player_sees_alone_does_not_show_when_it_is_printed():
    assert "down" not in repr(Own(1, 2, (50, 51), True, True, None))

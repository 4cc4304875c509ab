"""What a player's streams show of a choice ahead: made, taken back, being done, and come to nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import Verb
from stud_eventlog.types import Append, Head, LogUnavailable
from stud_service.refusals import Refused
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated


def request(game: Game, verb: Verb, **fields: Any) -> pb.SetPreActionRequest:
    hand = game.hand
    told = {"hand_no": hand.hand_no, "street": hand.street, "price": hand.level, **fields}
    return pb.SetPreActionRequest(verb=seat_pb2.Verb.ValueType(int(verb)), **told)


@asynccontextmanager
async def fifth_street(tmp_path: Path) -> AsyncIterator[tuple[Game, str, dict[str, Stream]]]:
    """A game, who comes after the player on turn, and his streams: Play, Watch, and an opponent's."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn(street=5)
        hand = game.hand
        who = game.table.at(hand.order[(hand.order.index(hand.turn_seat) + 1) % len(hand.order)]).account
        other = next(name for name in ("ada", "bea", "cleo") if name not in {who, game.on_turn})
        streams = {
            "play": Stream(game, who),
            "watch": Stream(game, who, watch=True),
            "other": Stream(game, other, watch=True),
        }
        for stream in streams.values():
            assert (await stream.update()).current
        yield game, who, streams
        for stream in streams.values():
            await stream.close()


def drained(stream: Stream) -> list[pb.TableUpdate]:
    answers = [stream.answers.get_nowait() for _ in range(stream.answers.qsize())]
    return [answer.update for answer in answers if answer.HasField("update")]


@simulated
async def test_all_of_a_players_streams_see_what_one_of_them_chose_and_took_back(tmp_path):
    async with fifth_street(tmp_path) as (game, who, streams):
        version = game.actor.head.version
        for make, verb in ((request(game, Verb.BET), seat_pb2.VERB_BET), (pb.ClearPreActionRequest(), 0)):
            await game.send(who, make)
            for name in ("play", "watch"):
                update = await streams[name].update()
                assert (update.version, update.reset, update.current, len(update.events)) == (version, True, True, 0)
                assert update.mine.pre_action.verb == verb
                assert update.mine.HasField("pre_action") == bool(verb)
        await asyncio.sleep(0.1)
        assert drained(streams["other"]) == []


@simulated
async def test_what_changes_nothing_is_sent_to_nobody(tmp_path):
    async with fifth_street(tmp_path) as (game, who, streams):
        first = request(game, Verb.BET, request_id="one")
        await game.send(who, first)
        await game.send(who, first)
        await game.send(who, request(game, Verb.BET, request_id="two"))
        await game.send(who, pb.ClearPreActionRequest())
        await game.send(who, pb.ClearPreActionRequest())
        await asyncio.sleep(0.1)
        assert [update.mine.pre_action.verb for update in drained(streams["play"])] == [seat_pb2.VERB_BET, 0]


@simulated
async def test_the_update_that_gives_a_turn_to_a_choice_asks_its_player_nothing(tmp_path):
    async with fifth_street(tmp_path) as (game, who, streams):
        await game.send(who, request(game, Verb.BET))
        for stream in streams.values():
            drained(stream)
        seat = next(s.seat for s in game.table.sittings.values() if s.account == who)
        await game.act({Verb.CHECK: 1})
        await game.until(lambda table: table.running.level)
        await asyncio.sleep(0.1)
        for name in ("play", "watch"):
            given, done = drained(streams[name])
            assert given.view.turn.seat == seat
            assert (given.mine.turn_id, len(given.mine.options), len(given.mine.pre_options)) == (0, 0, 0)
            assert given.mine.pre_action.verb == seat_pb2.VERB_BET
            assert not done.mine.HasField("pre_action")
            assert done.events[0].action_taken.verb == seat_pb2.VERB_BET
        given, done = drained(streams["other"])
        assert given.view.turn.seat == seat  # as it is for everybody


@simulated
async def test_no_answer_that_a_client_can_draw_is_ever_refused(tmp_path):
    """Over whole hands of players who choose whenever they may and answer whenever they are asked."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system, seed=4)
        await game.begin(4)
        names = ("ada", "bea", "cleo", "dora")
        streams = {name: Stream(game, name) for name in names}
        asked = chosen = 0
        while game.table.verified_hand < 12:
            await asyncio.sleep(0.005)
            for name, stream in streams.items():
                updates = drained(stream)
                if not updates:
                    continue
                last = updates[-1]
                if last.version != game.actor.head.version:
                    continue  # somebody else was quicker: what it offers may be gone, and a newer one is on its way
                if last.mine.turn_id:
                    option = game.rng.choice(list(last.mine.options))
                    act = pb.ActRequest(turn_id=last.mine.turn_id, verb=option.verb, to=option.to, size=option.size)
                    await game.send(name, act)
                    asked += 1
                elif last.mine.pre_options and not last.mine.HasField("pre_action"):
                    option = game.rng.choice(list(last.mine.pre_options))
                    told: dict[str, Any] = {
                        "hand_no": last.view.hand_no,
                        "street": last.view.street,
                        "price": last.mine.price,
                    }
                    ahead = pb.SetPreActionRequest(verb=option.verb, size=option.size, **told)
                    try:
                        await game.send(name, ahead)
                    except Refused:  # a choice of somebody before them came about while it was on its way
                        assert game.actor.head.version > last.version
                    chosen += 1
                for prompt in last.mine.prompts:
                    await game.send(name, pb.ChooseShowRequest(prompt_id=prompt.prompt_id, show=True))
        for stream in streams.values():
            await stream.close()
        assert asked > 20
        assert chosen > 10


@simulated
async def test_a_choice_that_is_being_done_is_not_taken_back(tmp_path, monkeypatch):
    async with fifth_street(tmp_path) as (game, who, _):
        await game.send(who, request(game, Verb.BET, request_id="mine"))
        refused: list[Any] = []
        real = game.actor._after

        def as_soon_as_it_is_due(*args: Any) -> None:
            real(*args)
            if game.actor.ahead.is_due(who) and not refused:
                for body in (pb.ClearPreActionRequest(request_id="c"), request(game, Verb.FOLD, request_id="f")):
                    body.table = game.id
                    task = asyncio.ensure_future(game.system.call(_method(body), body, who))
                    task.add_done_callback(lambda done: refused.append(done.exception()))

        monkeypatch.setattr(game.actor, "_after", as_soon_as_it_is_due)
        await game.act({Verb.CHECK: 1})
        await game.until(lambda table: table.running.level)
        await asyncio.sleep(0.1)
        assert [why.reason for why in refused] == ["PRE_ACTION_NOT_ALLOWED", "PRE_ACTION_NOT_ALLOWED"]


def _method(body: Any) -> str:
    return type(body).__name__.removesuffix("Request")


@simulated
async def test_a_choice_that_cannot_be_done_gives_its_player_the_turn(tmp_path, monkeypatch):
    """The log refuses it when its turn comes: it came to nothing, and the player is asked after all."""
    async with fifth_street(tmp_path) as (game, who, streams):
        await game.send(who, request(game, Verb.BET))
        drained(streams["play"])
        log = game.actor.runtime.log
        real = log.append

        async def full_for_once(append: Append) -> Head:
            if not game.actor.ahead.is_due(who):
                return await real(append)
            monkeypatch.setattr(log, "append", real)
            raise LogUnavailable("the disk is full")

        monkeypatch.setattr(log, "append", full_for_once)
        await game.act({Verb.CHECK: 1})
        given = await streams["play"].update()
        assert (given.mine.turn_id, given.mine.pre_action.verb) == (0, seat_pb2.VERB_BET)
        after_all = await streams["play"].update()
        while after_all.mine.HasField("pre_action"):  # how it stood may be told once more, as services come to it
            after_all = await streams["play"].update()
        assert (after_all.version, after_all.reset, len(after_all.events)) == (given.version, True, 0)
        assert (after_all.mine.turn_id, after_all.mine.HasField("pre_action")) == (game.hand.turn_id, False)
        assert len(after_all.mine.options) > 1
        await game.send(who, game.act_request(game.choose(STAY)))


@simulated
async def test_sitting_out_while_the_choice_is_due_leaves_the_turn_to_the_player(tmp_path):
    async with fifth_street(tmp_path) as (game, who, streams):
        await game.send(who, request(game, Verb.BET))
        drained(streams["play"])
        on_turn = game.on_turn
        act = game.send(on_turn, game.act_request(game.choose({Verb.CHECK: 1})))
        out = game.send(who, pb.SitOutRequest())
        await asyncio.gather(act, out)  # the second is in the mailbox before the choice is due
        await asyncio.sleep(0.1)
        last = drained(streams["play"])[-1]
        assert (last.mine.turn_id, last.mine.HasField("pre_action")) == (game.hand.turn_id, False)
        assert game.hand.level == 0


@pytest.mark.parametrize("watch", [True, False])
def test_a_watch_stream_keeps_a_choice_alive_as_a_play_stream_does(tmp_path, watch):
    @simulated
    async def run() -> None:
        async with fifth_street(tmp_path) as (game, who, streams):
            await game.send(who, request(game, Verb.BET))
            gone, stays = ("play", "watch") if watch else ("watch", "play")
            await streams[gone].close()
            assert game.actor.ahead.of(who) is not None
            await streams[stays].close()
            assert game.actor.ahead.of(who) is None

    run()

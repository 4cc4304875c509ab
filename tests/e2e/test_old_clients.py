"""A client that was built when the baseline was made plays a hand of today's system, with nothing but its own stubs."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from stud_client.calling import open_channel
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from tests.support.playing import BUY_IN, Table
from tests.support.system import PATIENCE_S, Live, shared

pytestmark = shared("refusals")
BASELINE = Path(__file__).resolve().parents[2] / "protos/baseline.binpb"
CHEAP = ("VERB_CHECK", "VERB_CALL", "VERB_BRING_IN")


class Stubs:
    """What a generator made of the baseline: messages by name, and nothing of today's contract."""

    def __init__(self) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(BASELINE.read_bytes()).file:
            self._pool.Add(file)
        self.verbs: Any = self._pool.FindEnumTypeByName("stud.common.v1.Verb")

    def __getattr__(self, name: str) -> Any:
        found = self._pool.FindMessageTypeByName(f"stud.table.v1.{name}")
        return message_factory.GetMessageClass(found)


class OldPlayer:
    """Draws from the last update alone, as the baseline's comments say, and answers whatever it is asked."""

    def __init__(self, stubs: Stubs, call: Any, table: str) -> None:
        self.stubs, self.call, self.table = stubs, call, table
        self.cheap = {stubs.verbs.values_by_name[name].number for name in CHEAP}
        self.answers: list[Any] = []
        self.updates: list[Any] = []
        self._ids = (f"old-{number}" for number in itertools.count(1))

    async def play(self, until_hand: int) -> None:
        stubs = self.stubs
        subscribe = stubs.Subscribe(table=self.table)
        await self.call.write(stubs.PlayRequest(subscribe=subscribe))
        async for response in self.call:
            if response.HasField("result"):
                self.answers.append(response.result)
                continue
            update = response.update
            self.updates.append(update)
            mine = update.mine
            if mine.turn_id:
                option = next(o for o in mine.options if o.verb in self.cheap)
                act = stubs.ActRequest(table=self.table, turn_id=mine.turn_id, verb=option.verb, to=option.to)
                act.request_id = next(self._ids)
                await self.call.write(stubs.PlayRequest(act=act))
            if update.view.verified_hand >= until_hand:
                return


async def plays(live: Live, stubs: Stubs, account: str, table: str) -> OldPlayer:
    """Play one hand as somebody, to its verdict."""
    token = mint(account, ["player"], 3600, load_private_key(live.stack.keys_dir))
    async with open_channel(live.stack.endpoints["table"]) as channel:
        method = channel.stream_stream(
            "/stud.table.v1.TableService/Play",
            request_serializer=stubs.PlayRequest.SerializeToString,
            response_deserializer=stubs.PlayResponse.FromString,
        )
        call: Any = method(metadata=[("authorization", f"Bearer {token}")])
        try:
            player = OldPlayer(stubs, call, table)
            await player.play(1)
            return player
        finally:
            call.cancel()


@pytest.mark.parametrize("preset", ["playnow", "william_hill"])
async def test_a_client_with_the_stubs_of_the_baseline_plays_a_hand_to_its_verdict(live: Live, preset: str) -> None:
    stubs = Stubs()
    async with await Table.begin(live, "old", seated=False, preset=preset) as table:
        names = list(table.players)
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
            playing = [tasks.create_task(plays(live, stubs, name, table.id)) for name in names]
            await table.resume()
        acted = 0
        for player in [task.result() for task in playing]:
            acted += len(player.answers)
            assert not [answer.reason for answer in player.answers if answer.reason]
            assert all(len(update.view.seats) == 8 for update in player.updates)
            (ended,) = [e.hand_ended for u in player.updates for e in u.events if e.HasField("hand_ended")]
            last = player.updates[-1].view
            chips = sum(seat.stack for seat in last.seats) + last.pot_total + ended.rake
            assert chips == len(names) * BUY_IN
        assert acted >= 3 * 5  # nobody folds: each street has an action of everybody
        await table.end()
        await table.check()

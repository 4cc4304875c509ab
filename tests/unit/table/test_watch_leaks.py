"""Nothing that is told of the lobby, or to somebody of themselves, says anything of a hidden card or of somebody else's
own: over many hands, and by the shape of the messages. Each leak that is planted is found.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from msgspec.structs import replace

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_core.hand_words import hand_in_words
from stud_core.state import Table
from table_service import me, people
from table_service.actor import TableActor
from tests.support.choosing import LIVELY
from tests.support.deep import either
from tests.support.playing_memory import NAMES, Game
from tests.support.system_memory import MemorySystem, simulated
from tests.support.system_redis import CARD, bytes_in, cards_in, fields_in
from tests.support.watchers import AccountWatcher, LobbyWatcher, MeWatcher, Watcher

TOLD = (
    pb.WatchLobbyResponse,
    pb.ListTablesResponse,
    pb.WatchMeResponse,
    pb.GetMeResponse,
    wallet.WatchAccountResponse,
)
HANDS = either(40, 3_000, 8)
RANKS_AND_HANDS = "pair|flush|straight|full house|quads|three of a kind|high card|ace|king|queen|jack"
CARD_WORDS = re.compile(rf"\b(?:[2-9TJQKA][cdhs])\b|\b(?:{RANKS_AND_HANDS})s?\b", re.IGNORECASE)


class Leak(AssertionError):
    """Something was told that must not be."""


def parts(descriptor: Any, seen: set[str]) -> Iterator[FieldDescriptor]:
    """Every field that a message can have, however deep."""
    if descriptor.full_name not in seen:
        seen.add(descriptor.full_name)
        for field in descriptor.fields:
            yield field
            if field.message_type is not None:
                yield from parts(field.message_type, seen)


@pytest.mark.parametrize("kind", TOLD, ids=lambda kind: kind.__name__)
def test_there_is_no_place_for_a_card_or_for_bytes(kind: type[Message]):
    fields = list(parts(kind.DESCRIPTOR, set()))
    assert len(fields) > 5
    assert not [f.full_name for f in fields if f.enum_type is not None and f.enum_type.full_name == CARD]
    assert not [f.full_name for f in fields if f.type == FieldDescriptor.TYPE_BYTES]


def test_the_search_knows_a_message_that_has_room_for_cards():
    names = {f.full_name for f in parts(pb.GetTableResponse.DESCRIPTOR, set()) if f.enum_type is not None}
    assert "stud.table.v1.PrivateView.down" in names


def check_words(message: Message) -> None:
    """No text in it names a card or a hand."""
    for field, value in fields_in(message):
        if isinstance(value, str) and CARD_WORDS.search(value):
            raise Leak(f"{field.full_name}: {value}")
    if cards_in(message) or bytes_in(message):
        raise Leak(str(message))


def check_own(account: str, table: Table, sitting: pb.MySitting) -> None:
    """What somebody is told of a table, at the version at which it was told, is of their own sitting there."""
    own = table.of(account)
    if own is None or sitting.version != table.version:
        return
    if sitting.sitting_no != own.sitting_no:
        raise Leak(f"{account} was told of sitting {sitting.sitting_no}")
    hand = table.hand
    on_turn = hand.turn_id if hand is not None and hand.turn_seat == own.seat else 0
    if sitting.turn.turn_id not in {0, on_turn}:
        raise Leak(f"{account} was told of turn {sitting.turn.turn_id}")
    mine = {prompt.prompt_id for prompt in hand.prompts if prompt.seat == own.seat} if hand is not None else set()
    if not {prompt.prompt_id for prompt in sitting.prompts} <= mine:
        raise Leak(f"{account} was asked what others were")
    if sitting.stack not in {own.stack, 0} or sitting.last_top_up.top_up_no not in {0, own.top_up_no}:
        raise Leak(f"{account} was told of others' chips")


async def searched(system: MemorySystem, hands: int) -> int:
    """Plays at two tables with everybody watching; returns how many messages were looked through. Raises Leak."""
    games = [Game(system), Game(system, "t-2", seed=1)]
    await games[0].begin(4)
    await games[1].begin(3)
    await games[0].send("ada", pb.AddChipsRequest(amount=1_000))
    watchers: list[Watcher[Any]] = [LobbyWatcher(system), MeWatcher(system, "eve")]
    own = {account: MeWatcher(system, account) for account in NAMES[:4]}
    watchers += [*own.values(), AccountWatcher(system, "ada")]
    looked = dict.fromkeys(map(id, watchers), 0)
    try:
        while sum(game.table.verified_hand for game in games) < hands:
            for game in games:
                await game.step(LIVELY)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            tables = {game.id: game.table for game in games}
            for watcher in watchers:
                for message in watcher.said[looked[id(watcher)] :]:
                    check_words(message)
                    if isinstance(watcher, MeWatcher):
                        account = next((name for name, found in own.items() if found is watcher), "eve")
                        for sitting in message.sittings:
                            check_own(account, tables[sitting.table], sitting)
                            if account == "eve":
                                raise Leak("eve was told of a sitting")
                looked[id(watcher)] = len(watcher.said)
            for account in (*own, "eve"):
                for sitting in (await system.call("GetMe", pb.GetMeRequest(), account)).sittings:
                    check_words(sitting)
                    check_own(account, tables[sitting.table], sitting)
            for game in games:
                for name in (name for name in NAMES[:4] if _is_broke(game, name)):
                    await game.send(name, pb.AddChipsRequest(amount=10_000))
    finally:
        for watcher in watchers:
            await watcher.close()
    return sum(looked.values())


def _is_broke(game: Game, name: str) -> bool:
    sitting = game.table.of(name)
    return sitting is not None and not (sitting.stack or sitting.pending or sitting.top_up_open or game.table.hand)


@simulated
async def test_nothing_hidden_is_told_over_many_hands(tmp_path: Path):
    async with MemorySystem(tmp_path, commands_per_s=10_000, calls_per_s=100_000, calls_burst=100_000) as system:
        assert await searched(system, HANDS) > 20 * HANDS


def others_sitting(actor: TableActor, account: str) -> me.Facts | None:
    """The facts of the next one at the table."""
    sittings = list(actor.table.sittings.values())
    at = next((number for number, sitting in enumerate(sittings) if sitting.account == account), None)
    return None if at is None else people_facts(actor, sittings[(at + 1) % len(sittings)].account)


def cards_in_words(actor: TableActor, account: str) -> me.Facts | None:
    """What somebody's down cards make, in a text."""
    facts = people_facts(actor, account)
    hand = actor.table.hand
    if facts is None or hand is None or not hand.down[facts.seat]:
        return facts
    down = actor.vault.seat_cards(actor.table, facts.seat)
    return replace(facts, paused=hand_in_words((*down, *hand.up[facts.seat])))


def everybodys_turn(actor: TableActor, account: str) -> me.Facts | None:
    """The turn, whosever it is."""
    facts, hand = people_facts(actor, account), actor.table.hand
    return facts if facts is None or hand is None else replace(facts, turn_id=hand.turn_id)


people_facts = people._facts


@pytest.mark.parametrize("leak", [others_sitting, cards_in_words, everybodys_turn])
@simulated
async def test_a_leak_that_is_planted_in_what_one_is_told_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak: Callable[..., Any]
):
    monkeypatch.setattr(people, "_facts", leak)
    async with MemorySystem(tmp_path, commands_per_s=10_000, calls_per_s=100_000, calls_burst=100_000) as system:
        with pytest.raises(Leak):
            await searched(system, 40)


@simulated
async def test_a_leak_that_is_planted_in_the_lobby_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    honest = TableActor.summary

    def leaky(self: TableActor) -> pb.TableSummary:
        line = pb.TableSummary()
        line.CopyFrom(honest(self))
        hand = self.table.hand
        if hand is not None:
            cards = self.vault.live_cards(self.table)
            line.name = next((hand_in_words((*down, *hand.up[seat])) for seat, down in cards.items() if down), "")
        return line

    monkeypatch.setattr(TableActor, "summary", leaky)
    async with MemorySystem(tmp_path, commands_per_s=10_000, calls_per_s=100_000, calls_burst=100_000) as system:
        with pytest.raises(Leak):
            await searched(system, 40)

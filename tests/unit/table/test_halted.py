"""Tables that stand although nobody paused them: everybody who looks is told why."""

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from rules_service.servicer import RulesServicer
from stud.common.v1 import seat_pb2
from stud.events.v1 import commit_pb2, table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud.table.v1 import table_service_pb2 as pb
from stud_core import deck
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core.gate import Wait
from stud_core.state import SYSTEM_PAUSES
from stud_eventlog import keys, trouble
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import Append, Head
from stud_service.refusals import Refused
from stud_wire.commits import Meta, encode_commit, encode_event
from table_service.hub import Viewer
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import update_of
from tests.support.system_memory import MemorySystem, simulated


async def refusal(awaitable: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        await awaitable
    return refused.value


def watched(game: Game) -> list[Viewer]:
    viewers = [Viewer(name) for name in ("ada", "eve")]
    for viewer in viewers:
        game.actor.hub.add(viewer)
    return viewers


async def shown(game: Game, viewers: list[Viewer]) -> set[tuple[str, str]]:
    """What everybody sees as the reason: viewers in their last update, GetTable, the lobby."""
    views = []
    for viewer in viewers:
        updates = [update_of(viewer.queue.get_nowait()) for _ in range(viewer.queue.qsize())]
        assert updates[-1].reset
        views.append(updates[-1].view)
    asked = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), "eve")
    views.append(asked.update.view)
    (line,) = (await game.system.call("ListTables", pb.ListTablesRequest(), "eve")).tables
    return {(view.paused, view.waiting_for) for view in views} | {(line.paused, "PAUSED")}


def goes_back(game: Game) -> None:
    """The log loses its last commit, and nobody holds its bytes."""
    del game.system.store.data.logs[game.actor.stream][-1]
    log: Any = game.system.runtimes["table"].log
    log._writer.acknowledged._held.clear()


@simulated
async def test_whoever_watches_a_table_whose_log_went_back_in_time_is_told_when_it_is_found_by_an_append(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        viewers = watched(game)
        goes_back(game)
        assert (await refusal(game.act())).reason == "LOG_BEHIND"
        assert await shown(game, viewers) == {("LOG_BEHIND", "PAUSED")}
        assert (await refusal(game.act())).reason == "LOG_BEHIND"
        assert all(viewer.queue.empty() for viewer in viewers)


@pytest.mark.parametrize("stopping", [False, True])
def test_a_table_that_takes_no_more_decisions_takes_none_that_are_kept_in_memory_either(tmp_path, stopping):
    """Whatever a player may send: a choice ahead that was accepted would never be done, and nobody would say so."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin()
            await game.until_turn(street=5)
            hand = game.hand
            nxt = game.table.at(hand.order[(hand.order.index(hand.turn_seat) + 1) % len(hand.order)]).account
            game.actor.ahead.connected(nxt)
            ahead = {"hand_no": 1, "street": 5, "price": hand.level, "verb": seat_pb2.VERB_FOLD}
            if stopping:
                await game.actor.stop()
            else:
                goes_back(game)
                assert (await refusal(game.act())).reason == "LOG_BEHIND"
            for name in set(pb.PlayRequest.DESCRIPTOR.fields_by_name) - {"subscribe", "unsubscribe"}:
                fields: Any = {"set_pre_action": ahead, "act": {"verb": 1}, "add_chips": {"amount": 1}}.get(name, {})
                asked = game.send(nxt, type(getattr(pb.PlayRequest(), name))(**fields))
                assert (await refusal(asked)).reason == ("STOPPING" if stopping else "LOG_BEHIND"), name
            assert game.actor.ahead.of(nxt) is None

    run()


@simulated
async def test_everybody_is_told_though_one_of_them_cannot_be_shown_their_cards(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        ada, eve = watched(game)
        goes_back(game)

        def broken(account: str) -> bytes:
            raise ValueError(account)

        monkeypatch.setattr(game.actor, "private_part", lambda account: broken(account) if account == "ada" else b"")
        with capture_logs():
            assert (await refusal(game.act())).reason == "LOG_BEHIND"
        assert ada.why is not None
        assert await shown(game, [eve]) == {("LOG_BEHIND", "PAUSED")}


@simulated
async def test_and_when_it_is_found_on_reconnecting_although_nobody_does_anything(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        viewers = watched(game)
        system.store.stop()
        goes_back(game)
        system.store.start()
        await system.runtimes["table"].log.wait_available()
        assert await shown(game, viewers) == {("LOG_BEHIND", "PAUSED")}
        assert not game.actor._timer.is_set


@simulated
async def test_a_log_that_is_found_broken_while_the_table_is_played_stops_it_and_says_so(tmp_path):
    """Another writer's commit makes the table read its log again, and a byte of it was changed meanwhile."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        viewers = watched(game)
        rows = system.store.data.logs[game.actor.stream]
        other = MemoryEventLog(system.store)
        head = await other.head(game.actor.stream)
        body = encode_commit([ev.PreferencesSet(1, 1, auto_post=False, muck_losing=False)], Meta(0, "else"))
        await other.append(Append(game.actor.stream, head.version, head.hash, b"somebody-else-00", body))
        commit, stored = rows[2]
        rows[2] = replace(commit, body=commit.body[:-1] + bytes([commit.body[-1] ^ 1])), stored
        with capture_logs() as lines:
            assert (await refusal(game.act())).reason == "LOG_BROKEN"
            assert (await refusal(game.operate(pb.CloseTableRequest()))).reason == "LOG_BROKEN"
        assert [line["log_level"] for line in lines if line["event"] == "log_broken"] == ["critical"]
        assert await shown(game, viewers) == {("LOG_BROKEN", "PAUSED")}


@simulated
async def test_a_table_that_cannot_take_what_it_is_told_is_paused_for_the_reason(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        shard = keys.shard_of("t-1")
        ref = de.LogRef("stream", 1, 2, bytes(32))
        nonsense = de.DeckCardsDealt(1, 2, ref, (), (ev.UpCard(1, 3),), (), None, None, (3,))
        for version in (3, 4):
            stream, feed = keys.deck_log(shard, "t-1"), keys.dealer_feed(shard)
            system.store._put(feed, stream, Head(version, bytes(32)), 0, encode_event(nonsense))
            system.store.wake_readers()
            await game.until(lambda t: t.parked)
        await asyncio.sleep(1)
        (first, second) = await system.runtimes["table"].log.dead_list("table")
        assert "UNEXPECTED_CARDS" in first.reason
        assert "behind a parked message" in second.reason
        assert game.table.stands_for == "UNEXPECTED_CARDS"
        paused = game.actor.head.version
        await game.act(STAY)  # the hand goes on, as far as its cards have come
        await asyncio.sleep(5)
        assert "table_paused" not in await events_of(game, paused)


async def events_of(game: Game, after: int) -> list[str]:
    """What was written to the table's log after a version."""
    commits = [
        commit_pb2.Commit.FromString(stored.body)
        async for stored in MemoryEventLog(game.system.store).read_all(game.actor.stream, after)
    ]
    return [str(event.WhichOneof("body")) for commit in commits for event in commit.events]


@simulated
async def test_a_hand_whose_dealer_is_silent_says_so_and_goes_on_by_itself_when_the_cards_come(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        await system.crash("dealer")
        while game.hand.deal is None:
            await game.act(STAY)
        viewers = watched(game)
        await game.until(lambda t: t.paused, 31)
        assert game.table.paused == "DEALER_SILENT"
        assert update_of(viewers[0].queue.get_nowait()).view.paused == "DEALER_SILENT"
        await system.start("dealer")
        await game.until(lambda t: not t.paused, 5)
        await game.play(2)


@simulated
async def test_a_dealer_that_is_only_started_again_is_not_called_silent(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        await system.crash("dealer")
        while game.hand.deal is None:
            await game.act(STAY)
        asked = game.actor.head.version
        await asyncio.sleep(20)
        await system.start("dealer")
        await game.play(1)
        assert "table_paused" not in await events_of(game, asked)


@simulated
async def test_a_hand_that_a_dealer_dealt_from_the_wrong_place_is_ended_by_operators_and_the_next_is_played(
    tmp_path, monkeypatch
):
    """The dealer takes a card from the end of the deck, and then has none left for the next street. His message line is
    parked; the operators void the hand, drop the deal that cannot be made, and have the rest of the line replayed.
    """
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        real = deck._dealt

        def wrong(*asked: Any) -> de.DeckCardsDealt:
            dealt, clear = real(*asked), asked[3]
            up = (ev.UpCard(dealt.up[0].seat, clear.cards[51]), *dealt.up[1:])
            return msgspec.structs.replace(dealt, up=up, positions=(51, *dealt.positions[1:]))

        with capture_logs() as lines:
            monkeypatch.setattr(deck, "_dealt", wrong)
            await game.until_turn(street=4)
            monkeypatch.undo()
            while game.hand.deal is None:
                await game.act(STAY)
            await game.until(lambda t: t.paused, 31)
            assert game.table.paused == "DEALER_SILENT"
            await game.operate(pb.VoidHandRequest(hand_no=1, reason="the deck is wrong"))
            await asyncio.sleep(2)
        assert "poison" in {line["event"] for line in lines}
        assert (game.table.paused, {s.stack for s in game.table.sittings.values()}) == ("", {10_000})

        log, shard = MemoryEventLog(system.store), keys.shard_of("t-1")
        line = await log.dead_take("dealer", shard, "t-1")
        assert "DECK_TOO_SHORT" in line[0].reason
        await log.dead_discard("dealer", shard, "t-1", up_to=line[0].number)
        await log.request_retry("dealer", shard, "t-1")
        await game.until(lambda t: t.deck_hand_no == 2, 10)
        await resolve(game, 1)
        assert game.table.verified_hand == 1
        await game.play(3)
        await game.close()


async def resolve(game: Game, hand_no: int) -> None:
    """Two operators agree that a hand is void, unless the referee has said so himself."""
    app = game.system.service("rules")
    servicer = RulesServicer(game.system.runtimes["rules"], app.referee, app.resolver)
    await asyncio.sleep(1)
    if game.table.verified_hand >= hand_no:
        return
    choice = table_events_pb2.RESOLUTION_CHOICE_VOID
    for operator in ("olga", "otto"):
        request = rules.ResolveHandRequest(
            table=game.id, hand_no=hand_no, choice=choice, reason="void", request_id=operator
        )
        await game.system.calls(servicer, "ResolveHand", request, operator, ("operator",))
    await game.until(lambda t: t.verified_hand >= hand_no, 10)


IN_TROUBLE = {
    "LOG_AWAY",
    trouble.volatile([]).code,
    trouble.full(0.9).code,
    *[trouble.refused(code, "").code for code in (*trouble._REFUSALS, "NEW")],
}


def test_a_client_can_tell_every_name_of_the_system_from_an_operators_words():
    """From the contract alone: the view's comments name them, or how they begin."""
    contract = (Path(__file__).parents[3] / "protos/stud/table/v1/table_service.proto").read_text()
    paused, waiting_for = contract.split("string paused = 3;")[0], contract.split("string paused = 3;")[1]
    told = set(re.findall(r"[A-Z_]{4,}", paused.split("Why the table is paused")[1]))
    assert told >= SYSTEM_PAUSES
    assert all(name.startswith("LOG_") for name in IN_TROUBLE)
    told = set(re.findall(r"[A-Z_]{4,}", waiting_for.split("string waiting_for = 4;")[0]))
    assert told == {wait.value for wait in Wait if wait not in {Wait.NOTHING, Wait.HAND_RUNNING}}


@simulated
async def test_an_operator_does_not_pause_in_the_systems_words(tmp_path):
    """Such a pause would end by itself, with a cause that never was."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        for word in (*sorted(SYSTEM_PAUSES), "LOG_BROKEN", "UNEXPECTED_CARDS", " dealer_silent ", *IN_TROUBLE):
            with pytest.raises(Refused, match="other words") as refused:
                await game.operate(pb.PauseTableRequest(reason=word))
            assert refused.value.reason == "INVALID_FIELD"
        await game.operate(pb.PauseTableRequest(reason="the dealer is silent"))
        await asyncio.sleep(5)
        assert game.table.paused == "the dealer is silent"

"""Hands that are over, for those who were in them: the same as they saw at the table, and never a card more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stud.common.v1 import card_pb2
from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import DealtIn, DeckReady, Delta, HandEnded, HandStarted, PotAwarded
from stud_core.state import Table
from stud_service.identity import Caller
from stud_service.refusals import Refused
from stud_wire.codec import WireError
from table_service import history
from table_service.hand_index import Ended, HandIndex, Place
from table_service.vault import Vault
from tests.support.choosing import LIVELY, STAY
from tests.support.deep import either
from tests.support.playing_memory import NAMES, Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated
from tests.support.system_redis import BOXES, bytes_in, cards_in

LIMITS: dict[str, Any] = {"commands_per_s": 10_000, "calls_per_s": 100_000, "calls_burst": 100_000}
HANDS = either(12, 400, 4)


async def hand(system: MemorySystem, account: str, hand_no: int, table: str = "t-1", role: str = "player") -> Any:
    return await system.call("GetHand", pb.GetHandRequest(table=table, hand_no=hand_no), account, role)


async def hands(system: MemorySystem, account: str, **asked: Any) -> list[pb.HandSummary]:
    """All pages."""
    request, found = pb.ListHandsRequest(**asked), []
    while True:
        answer = await system.call("ListHands", request, account)
        found += answer.hands
        if not answer.next_page_token:
            return found
        request.page_token = answer.next_page_token


async def seen_at_the_table(game: Game, hands_: int) -> dict[str, dict[int, set[int]]]:
    """Plays, and returns what each player saw face down of their own, by hand; the last hands are kept in `ended`."""
    streams = {name: Stream(game, name, watch=True) for name in (*NAMES[:4], "eve")}
    while game.table.verified_hand < hands_:
        await game.step(LIVELY)
        for name in NAMES[:4]:
            sitting = game.table.of(name)
            if sitting is not None and not (sitting.stack or sitting.pending or sitting.top_up_open or game.table.hand):
                await game.send(name, pb.AddChipsRequest(amount=10_000))
    await asyncio.sleep(0.01)
    own: dict[str, dict[int, set[int]]] = {name: {} for name in streams}
    game.ended = {}  # type: ignore[attr-defined]
    for name, stream in streams.items():
        for said in stream.said():
            assert isinstance(said, pb.TableUpdate)
            own[name].setdefault(said.view.hand_no, set()).update(int(card) - 1 for card in said.mine.down)
            last = said.view.last_hand
            if last.hand_no and (last.hand_no != said.view.hand_no or not said.view.phase):
                game.ended[last.hand_no] = last  # type: ignore[attr-defined]
        await stream.close()
    return own


async def search(system: MemorySystem, number: int) -> tuple[int, int]:
    """Plays, and holds every hand against what was seen at the table; returns how many were looked at, and how many
    cards of others were not to be in them.
    """
    game = Game(system)
    await game.begin(4)
    own = await seen_at_the_table(game, number)
    looked = mucked = 0
    for account in NAMES[:4]:
        for line in await hands(system, account):
            if line.hand_no > number:
                continue
            told = await hand(system, account, line.hand_no)
            looked += 1
            assert told.hand == game.ended[line.hand_no]  # type: ignore[attr-defined]
            mine = {int(card) - 1 for card in told.down}
            assert mine >= own[account][line.hand_no]  # one that came with the end of the hand is only here
            assert told.hand_in_words if mine else not told.hand_in_words
            me = next(seat for seat in told.hand.seats if seat.account == account)
            assert len(mine) == me.down_count
            assert (told.seat, line.net) == (me.seat, me.won - me.paid)
            assert line.pot == sum(pot.amount for pot in told.hand.pots)
            of_others = {card for name in own if name != account for card in own[name].get(line.hand_no, set())}
            shown = {int(card) - 1 for seat in told.hand.seats for card in seat.shown}
            assert not mine & of_others
            others = of_others - shown
            mucked += len(others)
            bare = pb.GetHandResponse()
            bare.CopyFrom(told)
            bare.ClearField("down")
            assert not cards_in(bare) & (others | (mine - shown))
            assert not [data for name, data in bytes_in(told) if name in BOXES and data]
    return looked, mucked


@simulated
async def test_a_hand_is_told_as_it_ended_with_ones_own_cards_and_no_other_that_was_not_shown(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        assert min(await search(system, HANDS)) > HANDS


@simulated
async def test_a_card_of_somebody_else_is_found_where_it_is_planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class OfTheNext(Vault):
        """Opens the cards of another seat of the hand."""

        def seat_cards(self, table: Table, seat: int) -> tuple[int, ...]:
            other = next(player.seat for player in table.running.dealt_in if player.seat != seat)
            return super().seat_cards(table, other)

    monkeypatch.setattr("table_service.history.Vault", OfTheNext)
    async with MemorySystem(tmp_path, **LIMITS) as system:
        with pytest.raises(AssertionError):
            await search(system, 4)


@simulated
async def test_its_steps_are_what_everybody_was_told(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        game = Game(system)
        await game.begin(3)
        stream = Stream(game, "eve", watch=True)
        await game.play(2, STAY)
        told = await hand(system, "ada", 2)
        public = {said.version: said for said in stream.said() if isinstance(said, pb.TableUpdate)}
        for step in told.steps:
            assert (step.at_ms, list(step.events)) == (public[step.version].at_ms, list(public[step.version].events))
        kinds = [event.WhichOneof("body") for step in told.steps for event in step.events]
        assert kinds[0] == "antes_opened"
        assert kinds[-1] == "hand_ended"
        assert told.commitment
        assert told.config.table_id == game.id
        await stream.close()


@simulated
async def test_only_whoever_was_in_it_sees_a_hand_and_the_house_what_everybody_saw(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        game = Game(system)
        await game.begin(3)
        await game.play(1, STAY)
        for account, number in (("eve", 1), ("ada", 99), ("ada", game.table.hand_no + 1)):
            with pytest.raises(Refused, match="UNKNOWN_HAND"):
                await hand(system, account, number)
        with pytest.raises(Refused, match="INVALID_FIELD"):
            await hand(system, "ada", 0)
        with pytest.raises(Refused, match="UNKNOWN_TABLE"):
            await hand(system, "ada", 1, table="none")
        for role in ("operator", "cashier", "auditor"):
            told = await hand(system, "otto", 1, role=role)
            assert (told.seat, list(told.down)) == (0, [])
            assert len(told.hand.seats) == 3
        assert await hands(system, "eve") == []


@simulated
async def test_a_running_hand_is_nobodys_to_look_at(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn(street=5)
        with pytest.raises(Refused, match="UNKNOWN_HAND"):
            await hand(system, "ada", 1)
        assert await hands(system, "ada") == []


@simulated
async def test_hands_of_all_tables_are_listed_the_latest_first_a_page_at_a_time(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        games = [Game(system), Game(system, "t-2", seed=1)]
        for game in games:
            await game.begin(3)
        while min(game.table.verified_hand for game in games) < 4:
            for game in games:
                await game.step(STAY)
        for game in games:
            await game.operate(pb.PauseTableRequest(reason="a test"))
            await game.until(lambda t: t.hand is None and t.verified_hand == t.hand_no)
        whole = await hands(system, "ada")
        assert len(whole) == sum(game.table.hand_no for game in games) >= 8
        times = [line.ended_at_ms for line in whole]
        assert times == sorted(times, reverse=True)
        for size in (1, 3, 1000):
            assert await hands(system, "ada", page_size=size) == whole
        one = await hands(system, "ada", table="t-2", page_size=2)
        assert one == [line for line in whole if line.table == "t-2"]
        token = (await system.call("ListHands", pb.ListHandsRequest(page_size=1), "ada")).next_page_token
        with pytest.raises(Refused, match="page_token"):
            await system.call("ListHands", pb.ListHandsRequest(page_token=token), "bea")
        assert all(0 < line.started_at_ms <= line.ended_at_ms for line in whole)
        await system.stop("table")
        await system.start("table")
        assert await hands(system, "ada") == whole


@simulated
async def test_a_hand_that_was_voided_and_one_whose_first_antes_went_back_are_told(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn(street=4)
        await game.operate(pb.VoidHandRequest(hand_no=1, reason="a test"))
        told = await hand(system, "ada", 1)
        assert told.hand.voided
        assert told.hand == _last(game)
        (line,) = await hands(system, "ada")
        assert (line.voided, line.net, line.pot) == (True, 0, 0)


def _last(game: Game) -> pb.LastHand:
    return pb.TableUpdate.FromString(game.actor.present().shared).view.last_hand


@simulated
async def test_hands_of_a_closed_table_are_told_by_its_name(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        game = Game(system)
        await game.begin(2)
        await game.play(1, STAY)
        await game.close()
        await asyncio.sleep(120)
        assert await hands(system, "ada") == []
        found = await hands(system, "ada", table=game.id)
        assert [line.hand_no for line in found] == list(range(len(found), 0, -1))
        assert len((await hand(system, "ada", 1)).down) in {2, 3}


@simulated
async def test_two_hands_at_a_time_are_read_for_one_caller(tmp_path: Path):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        game = Game(system)
        await game.begin(2)
        await game.play(1, STAY)
        told = history.History(system.tables.registry)
        who = Caller("ada", frozenset({"player"}))
        waiting = [asyncio.create_task(told.get(pb.GetHandRequest(table=game.id, hand_no=1), who)) for _ in range(4)]
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        refused = [answer.reason for answer in answers if isinstance(answer, Refused)]
        assert refused == ["RATE_LIMITED"] * 2


@simulated
async def test_a_log_that_cannot_be_trusted_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with MemorySystem(tmp_path, **LIMITS) as system:
        game = Game(system)
        await game.begin(2)
        await game.play(1, STAY)

        def spoilt(_: bytes) -> Any:
            raise WireError("spoilt")

        monkeypatch.setattr(history, "decode_commit", spoilt)
        with pytest.raises(Refused, match="LOG_BROKEN"):
            await hand(system, "ada", 1)


def test_an_index_without_hands_knows_none():
    index = HandIndex()
    index.fold([DeckReady(1, b"c")], 5, 5)
    assert (len(index), index.hand(1), index.was_in("ada", 1)) == (0, None, False)
    assert Ended._fields[-1] == "voided"


def test_a_planted_card_would_be_found():
    """The search above looks into events too."""
    told = pb.GetHandResponse(steps=[pb.HandStep(events=[commit_pb2.Event()])])
    told.steps[0].events[0].hand_shown.cards.append(card_pb2.CARD_AC)
    assert cards_in(told) == {card_pb2.CARD_AC - 1}


def test_a_hundred_thousand_hands_are_a_few_megabytes_and_found_at_once():
    index, seats = HandIndex(), tuple(DealtIn(seat, seat, f"p{seat}", 100) for seat in range(1, 7))
    deltas = tuple(Delta(seat, f"p{seat}", 1 if seat == 1 else 0) for seat in range(1, 7))
    for number in range(1, 100_001):
        index.fold([HandStarted(number, 1, "test", 0, seats)], 10 * number, number)
        index.fold(
            [PotAwarded(0, 6, 0, ()), HandEnded(number, 10 * number - 5, (), deltas, 0)], 10 * number + 3, number
        )
    numbers = [index._numbers, *(part for of in index._of.values() for part in (of.hands, of.nets))]
    assert sum(part.itemsize * len(part) for part in numbers) < 20_000_000
    assert index.hand(77_777) == Ended(777_765, 777_773, 77_777, 77_777, 6, voided=False)
    assert index.was_in("p6", 100_000)
    place, net = next(index.before("p1", "t", Place(50_000, "t", 50_000)))
    assert (place, net) == (Place(49_999, "t", 49_999), 1)

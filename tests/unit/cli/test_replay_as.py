"""Through a player's eyes: their own cards of finished hands, opened in audited calls, and nothing more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from dealer_service.servicer import DealerServicer
from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_cli.exit_codes import CouldNotRun
from stud_cli.replay.own_cards import MOST, NO_REASON, NOT_PROVEN, TOO_MANY, OwnCards
from stud_cli.replay.reel import Reel
from stud_client import StudError
from stud_core.deck_events import DeckAudited
from stud_eventlog import keys
from stud_replay.hands import HandEntry, Outcome
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated


class HouseDealer:
    """The real dealer of a system in memory, called by an auditor."""

    def __init__(self, system: MemorySystem, auditor: str = "ann") -> None:
        app = system.service("dealer")
        self.servicer = DealerServicer(system.runtimes["dealer"], app._seeds, app.shoes)
        self.system, self.auditor = system, auditor
        self.asked: list[tuple[int, str]] = []

    async def AuditDownCards(self, request: pb.AuditDownCardsRequest) -> Any:
        self.asked.append((request.hand_no, request.account))
        try:
            return await self.system.calls(self.servicer, "AuditDownCards", request, self.auditor, ("auditor",))
        except Refused as refused:
            raise StudError(refused.reason, refused.text) from refused


async def reel_of(system: MemorySystem, own: OwnCards) -> Reel:
    reel = Reel(system.runtimes["table"].log, "t-1", own=own)
    await reel.fold()
    return reel


def traces(system: MemorySystem) -> list[DeckAudited]:
    rows = system.store.data.logs[keys.deck_log(keys.shard_of("t-1"), "t-1")]
    events = [event for commit, _ in rows for event in decode_commit(commit.body).events]
    return [event for event in events if isinstance(event, DeckAudited)]


@simulated
async def test_a_finished_hand_as_its_player_saw_it_and_a_running_one_sealed(tmp_path: Path):
    with capture_logs():
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3)
            await game.until_turn(street=7)
            held = {name: game.cards(name) for name in ("ada", "bea", "cleo")}
            await game.play(1, STAY)
            await game.until_turn(street=5, hand_no=2)
            dealer = HouseDealer(system)
            own = OwnCards("t-1", "bea", "asked by bea", dealer)
            reel = await reel_of(system, own)
            first, second = reel.timeline.hands.all[:2]
            down: dict[int, set[tuple[int, ...]]] = {}
            async for frame in reel.frames(1, reel.timeline.version):
                if frame.mine is not None:
                    down.setdefault(frame.hand_no, set()).add(tuple(card - 1 for card in frame.mine.down))
                    in_hand = frame.hand_no == 2 and frame.street > 0
                    assert ("hand 2 is not over" in frame.sealed) == in_hand
            assert down == {0: {()}, 1: {(), held["bea"][:2], held["bea"]}, 2: {()}}
            assert dealer.asked == [(1, "bea")]
            assert traces(system) == [DeckAudited(1, "ann", "asked by bea", "bea")]
            again = await reel.frame(first.last - 1)
            assert [card - 1 for card in again.mine.down] == list(held["bea"])  # type: ignore[union-attr]
            assert (await reel.frame(second.last)).sealed.startswith("hand 2 is not over")
            assert dealer.asked == [(1, "bea")]


@simulated
async def test_what_the_dealer_refuses_stays_face_down_and_says_why(tmp_path: Path):
    with capture_logs():
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3)
            await game.play(1, STAY)
            for auditor, reason, told in (("ada", "why", "OWN_INTEREST"), ("ann", "", NO_REASON)):
                own = OwnCards("t-1", "bea", reason, HouseDealer(system, auditor))
                reel = await reel_of(system, own)
                hand = reel.timeline.hands.all[0]
                frame = await reel.frame(hand.last - 1)
                assert told in frame.sealed
                assert frame.mine is not None
                assert not frame.mine.down
            assert traces(system) == []


def hand(number: int, outcome: Outcome = Outcome.ENDED) -> HandEntry:
    return HandEntry(number, number, number, 1, players=((1, "ada"), (2, "bea")), outcome=outcome)


class Fake:
    """A dealer that gives three cards, or raises."""

    def __init__(self, fault: Exception | None = None, *, proven: bool = True) -> None:
        self.fault, self.proven, self.asked = fault, proven, 0

    async def AuditDownCards(self, request: pb.AuditDownCardsRequest) -> pb.AuditDownCardsResponse:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        return pb.AuditDownCardsResponse(cards=[1, 2, 3], proven=self.proven)  # type: ignore[list-item]


async def test_no_more_hands_are_opened_than_one_look_may():
    dealer = Fake()
    own = OwnCards("t-1", "ada", "why", dealer)
    for number in range(1, MOST + 3):
        await own.open(hand(number))
        await own.open(hand(number))
    assert (dealer.asked, len(own.viewer.down)) == (MOST, MOST)
    assert own.viewer.sealed == {MOST + 1: TOO_MANY, MOST + 2: TOO_MANY}


async def test_nothing_is_asked_for_hands_without_the_player_or_that_run():
    dealer = Fake()
    own = OwnCards("t-1", "eve", "why", dealer)
    await own.open(hand(1))
    running = OwnCards("t-1", "ada", "why", dealer)
    await running.open(hand(1, Outcome.RUNNING))
    assert dealer.asked == 0
    assert own.viewer.sealed == {}
    await running.open(hand(1))  # it is over now
    assert running.viewer.down == {1: (0, 1, 2)}
    assert running.viewer.sealed == {}


@pytest.mark.parametrize(
    ("fault", "told", "asked"),
    [
        (StudError("UNAVAILABLE", "nobody there"), "the dealer does not open them: UNAVAILABLE", 1),
        (CouldNotRun("say who you are"), "nobody can be asked to open them: say who you are", 1),
        (StudError("LOG_BROKEN", "broken"), "LOG_BROKEN", 2),
    ],
    ids=["away", "nobody", "one hand"],
)
async def test_a_dealer_that_is_away_is_asked_once(fault: Exception, told: str, asked: int):
    dealer = Fake(fault)
    own = OwnCards("t-1", "ada", "why", dealer)
    await own.open(hand(1))
    await own.open(hand(2))
    assert dealer.asked == asked
    assert all(told in own.viewer.sealed[number] for number in (1, 2))
    assert own.viewer.down == {}


async def test_cards_that_the_deck_does_not_prove_are_not_shown():
    own = OwnCards("t-1", "ada", "why", Fake(proven=False))
    await own.open(hand(1))
    assert (own.viewer.down, own.viewer.sealed) == ({}, {1: NOT_PROVEN})

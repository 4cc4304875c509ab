"""Replay equals live: every version of many random hands, as its viewers got it then and as the log tells it now.

What is not in the log is left out: choices ahead of a turn, when an update was sent, why a table was halted.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path

import pytest
from google.protobuf import json_format
from structlog.testing import capture_logs

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.presets import PLAYNOW
from stud_core.state import Phase, Table
from stud_eventlog.types import StoredCommit
from stud_replay.frames import Frame, Projector
from stud_replay.plain import as_dict
from stud_replay.viewing import OPERATOR
from stud_replay.viewing import Viewer as Eyes
from stud_service.refusals import Refused
from table_service.hub import Viewer
from table_service.public_events import put_public
from tests.support.choosing import WEIGHTS
from tests.support.deep import either
from tests.support.playing_memory import NAMES, Game
from tests.support.replayed import cards_in
from tests.support.streams import update_of
from tests.support.system_memory import MemorySystem, simulated

HANDS = 6
"""Of each table: few enough for everybody to keep some chips."""

TABLES = either(2, 42, 1)
"""Of each ruleset; with two to eight players."""

EYES = (*NAMES, "eve")
"""The players, and somebody who only watches."""


class Recorded:
    """A game whose every update is kept until the replay was compared with it, and who held which cards."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.viewers = {name: Viewer(name, limit=100_000) for name in EYES}
        for viewer in self.viewers.values():
            game.actor.hub.add(viewer)
        self.down: dict[str, dict[int, tuple[int, ...]]] = {name: {} for name in EYES}
        self.projectors = {name: Projector(game.id, Table(), Eyes(name, self.down[name])) for name in EYES}
        self.projectors[""] = Projector(game.id, Table(), OPERATOR)
        self.compared = 0
        self.kept: Counter[str] = Counter()

    async def play(self, hands: int) -> None:
        while self.game.table.verified_hand < hands:
            before = self.game.table.verified_hand
            while self.game.table.verified_hand == before:
                await self._choose_ahead()
                with contextlib.suppress(Refused):  # a choice ahead was quicker
                    await self.game.step(WEIGHTS)
                self._note_cards()
            await self._between_hands()
            self.compare()

    async def _between_hands(self) -> None:
        """What only the player and the house are told: preferences, and more chips than there are."""
        game = self.game
        account = game.rng.choice([sitting.account for sitting in game.table.sittings.values()])
        for request in (
            pb.SetPreferencesRequest(muck_losing=game.rng.random() < 0.5),
            pb.AddChipsRequest(amount=game.rng.choice((1_000, 2_000_000))),
        ):
            with contextlib.suppress(Refused):
                await game.send(account, request)

    def _note_cards(self) -> None:
        hand = self.game.table.hand
        if hand is not None and hand.phase is not Phase.ANTES:
            for player in hand.dealt_in:
                with contextlib.suppress(KeyError, AssertionError):
                    self.down[player.account][hand.hand_no] = self.game.cards(player.account)

    async def _choose_ahead(self) -> None:
        """Now and then somebody whose turn it is not says what they will do; nobody may see it before it is done."""
        game, hand = self.game, self.game.table.hand
        if hand is None or hand.phase is not Phase.BETTING or game.rng.random() > 0.3:
            return
        waiting = [seat for seat in hand.order if hand.live[seat] and not hand.all_in[seat] and seat != hand.turn_seat]
        if waiting:
            verb = game.rng.choice((seat_pb2.VERB_FOLD, seat_pb2.VERB_CALL))
            request = pb.SetPreActionRequest(hand_no=hand.hand_no, street=hand.street, price=hand.level, verb=verb)
            with contextlib.suppress(Refused):
                await game.send(game.table.at(game.rng.choice(waiting)).account, request)

    def compare(self) -> None:
        """Hold what came against the log, up to where both have come."""
        log = self.game.system.runtimes["table"].log
        rows = log.store.data.logs[self.game.actor.stream]  # type: ignore[attr-defined]
        commits = [commit for commit, _ in rows[self.compared : self.game.actor.head.version]]
        operator = {commit.version: self.projectors[""].show(commit) for commit in commits}
        for name, viewer in self.viewers.items():
            live = [update_of(viewer.queue.get_nowait()) for _ in range(viewer.queue.qsize())]
            frames = {commit.version: self.projectors[name].show(commit) for commit in commits}
            for update in live:
                if update.version in frames:
                    self.same(name, update, frames[update.version], operator[update.version])
            assert {update.version for update in live} >= set(frames) - {1}  # that opened the table
            for commit in commits:
                self.hides(frames[commit.version], commit, self.down[name])
        for commit in commits:
            self.hides(operator[commit.version], commit, {})
        self.compared += len(commits)
        self.kept["versions"] += len(commits)

    def same(self, name: str, update: pb.TableUpdate, frame: Frame, operator: Frame) -> None:
        told = (update.table, update.version, update.head_hash, update.at_ms)
        assert told == (frame.table, frame.version, frame.entry.hash, frame.at_ms)
        assert update.view == frame.view == operator.view
        plain = as_dict(frame)
        assert json_format.ParseDict(plain["view"], pb.TableView()) == update.view
        if not update.reset:
            public = pb.TableUpdate()
            put_public(public, [said.event for said in frame.said])
            assert list(public.events) == list(update.events)
            more = [said for said in frame.said if said.event not in update.events]
            assert all(name in said.what for said in more), name  # between them and the house
            self.kept["own events"] += len(frame.said) - len(update.events)
        assert update.HasField("mine") == (frame.mine is not None)
        if frame.mine is not None:
            self.kept["private"] += bool(frame.mine.down)
            self.kept["chosen"] += update.mine.HasField("pre_action")
            assert without_choice(update.mine, update.mine) == without_choice(frame.mine, update.mine)

    def hides(self, frame: Frame, commit: StoredCommit, own: dict[int, tuple[int, ...]]) -> None:
        """No text and no JSON of a frame names a card that this viewer did not see."""
        allowed = {card - 1 for seat in frame.view.seats for card in (*seat.up, *seat.shown)} | {
            frame.view.community - 1
        }
        over = frame.view.last_hand
        allowed |= {card - 1 for seat in over.seats for card in (*seat.up, *seat.shown)} | {over.community - 1}
        allowed |= set(own.get(frame.hand_no, ()))
        told = cards_in(json.dumps(as_dict(frame)))
        assert told <= allowed, (commit.version, told - allowed)


def without_choice(mine: pb.PrivateView, live: pb.PrivateView) -> pb.PrivateView:
    """A private view but for what only the memory of the service knew: a choice ahead, and a turn that it is taking."""
    out = pb.PrivateView()
    out.CopyFrom(mine)
    if live.HasField("pre_action"):
        out.ClearField("pre_action")
        out.ClearField("options")
        out.ClearField("turn_id")
    return out


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("preset", ["playnow", "william_hill"])
@simulated
async def test_replay_equals_live(tmp_path: Path, preset: str):
    kept: Counter[str] = Counter()
    for number in range(TABLES):
        with capture_logs():
            async with MemorySystem(tmp_path / str(number)) as system:
                game = Game(system, seed=number)
                await game.open(preset)
                recorded = Recorded(game)
                await game.begin_seats(4 if not number else 2 + number % 7)
                await recorded.play(HANDS)
                kept.update(recorded.kept)
    assert kept["versions"] > 15 * HANDS * TABLES
    assert kept["private"] > 20 * HANDS * TABLES
    assert preset == PLAYNOW.name or kept["chosen"] > 0
    assert kept["own events"] > 0

"""A table is what its log says: rebuilt and live state are equal after every commit; tools show what players saw."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf import json_format
from structlog.testing import capture_logs
from typer.testing import CliRunner

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.main import app
from stud_core import events as ev
from stud_core.evolve import evolve
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import BuyInLimit, Ruleset
from stud_core.state import Table as TableState
from stud_eventlog.types import Head
from stud_wire.commits import Meta, decode_commit
from table_service.actor import TableActor
from table_service.commits import Prepared
from table_service.rebuild import rebuild
from tests.support.choosing import LIVELY, STAY
from tests.support.playing import Table
from tests.support.playing_memory import Game
from tests.support.system import Live, shared
from tests.support.system_core import Twins
from tests.support.system_memory import MemorySystem, simulated

HANDS = 600
SERVICES_HANDS = 12
TABLES = 12


# --- the core and its bytes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
@pytest.mark.parametrize("seed", [1, 2])
def test_rebuilt_and_live_state_are_equal_after_every_commit_of_thousands_of_hands(rules: Ruleset, seed: int):
    """Any stacks, all-ins, short decks, timeouts, people coming and going, pauses, voids."""
    rules = msgspec.structs.replace(rules, min_buy_in=BuyInLimit(amount=1), max_buy_in=None)
    twins = Twins(table_config(rules, table_id="t-1", name="Twins"), seed)
    twins.open()
    while twins.hands < HANDS:
        twins.play_hand()
    assert twins.rebuild() == twins.state
    assert len(twins.bodies) > 15 * HANDS
    kinds = {type(event) for body in twins.bodies for event in decode_commit(body).events}
    assert {ev.HandVoided, ev.AntesReturned, ev.UncalledReturned, ev.HandMucked, ev.ChipsAdded, ev.PlayerLeft} <= kinds


# --- the services and their log ---------------------------------------------------------------------------------------


class Watched(TableActor):
    """Compares itself after every commit with what the log's bytes say."""

    def _after(self, made: Prepared, meta: Meta, head: Head) -> None:
        before = SHADOWS.get(self.table_id, TableState())
        super()._after(made, meta, head)
        log: Any = self.runtime.log
        stored, stored_hash = log.store.data.logs[self.stream][head.version - 1]
        commit = decode_commit(stored.body)
        shadow = SHADOWS[self.table_id] = evolve(before, commit.events, stored.version)
        if (shadow, stored.version, stored_hash, commit.meta) != (self.table, head.version, head.hash, meta):
            DIFFERENT.append((self.table_id, head.version))


SHADOWS: dict[str, TableState] = {}
DIFFERENT: list[tuple[str, int]] = []
"""Tables and versions where they were not equal: a fault raised there would only be logged."""


@simulated
async def test_rebuilt_and_live_state_are_equal_with_all_four_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In one process and in virtual time, so that whole hands with dealer, referee and wallet take no time."""
    monkeypatch.setattr("table_service.registry.TableActor", Watched)
    SHADOWS.clear()
    with capture_logs():
        async with MemorySystem(tmp_path) as system:
            games = [Game(system, f"t-{number}") for number in range(TABLES)]
            for number, game in enumerate(games):
                await game.begin(2 + number % 7, preset=("playnow", "william_hill")[number % 2])
            await asyncio.gather(*(game.play(SERVICES_HANDS, LIVELY) for game in games))
            for game in games:
                assert game.table.verified_hand >= SERVICES_HANDS
                again = await rebuild(system.runtimes["table"].log, game.actor.stream)
                assert (again.table, again.head) == (game.table, game.actor.head)
                assert again.ended_at_ms == game.actor._ended_at_ms
                assert vars(again.requests) == vars(game.actor.requests)
            await asyncio.gather(*(game.close() for game in games))
    assert len(SHADOWS) == TABLES
    assert DIFFERENT == []


# --- tools ------------------------------------------------------------------------------------------------------------


def replayed(url: str, table: str, version: int) -> dict[str, Any]:
    """What `stud replay --json` says."""
    environ = {**os.environ, "STUD_REDIS_URL": url}
    result = CliRunner(env=environ).invoke(app, ["replay", table, "--at", str(version), "--json"])
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer


class TestReplay:
    pytestmark = shared("replay")

    async def test_replay_shows_every_version_as_the_stream_showed_it(self, live: Live):
        """Every tenth version and the last, over two hands; never a down card."""
        async with await Table.begin(live, "replay", 4, preset="playnow") as table:
            await table.play_hand(1, {**STAY, seat_pb2.VERB_FOLD: 1}, show=0.5)
            await table.play_to(street=6, hand_no=2)
            updates = {update.version: update for update in table.eye.updates}
            config = table.eye.updates[0].view.config
            assert len(updates) > 25
            hidden = {card for player in table.players.values() for card in player.last.mine.down}
            for version in [*sorted(updates)[::10], max(updates)]:
                seen = updates[version]
                told = await asyncio.to_thread(replayed, live.stack.redis_url, table.id, version)
                assert (told["table"], told["version"], told["head_hash"]) == (table.id, version, seen.head_hash.hex())
                view = json_format.ParseDict(told["view"], pb.TableView())
                assert view.config == config
                assert view == seen.view
                running = view.hand_no == 2
                assert not running or not {c for seat in view.seats for c in (*seat.up, *seat.shown)} & hidden
            assert len(hidden) == 8

"""What services tell operators, in a system in memory: counted once, and told while the log is away."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import ActionTaken, Verb
from stud_core.state import Phase
from stud_service.log_meters import tell_of_the_log
from stud_service.meters import Histogram
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from table_service import hub
from table_service.meters import VERBS
from table_service.survey import PHASES, survey
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated


def told(system: MemorySystem, service: str) -> dict[str, Any]:
    """What a service would tell now: numbers, mappings, and for a histogram how often it was observed."""
    found: dict[str, Any] = {}
    for metric, value in system.runtimes[service].meters.read():
        found[metric.name] = sum(value.counts) if isinstance(value, Histogram) else value
        if isinstance(value, Mapping):
            found[metric.name] = dict(value)
    return found


def test_names_by_number_are_those_of_the_members():
    assert [VERBS[verb] for verb in Verb] == [verb.name for verb in Verb]
    assert [PHASES[phase] for phase in Phase] == [phase.name for phase in Phase]


@simulated
async def test_hands_actions_verdicts_and_money_are_told(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        viewer = Stream(game, "ada")
        await viewer.update()
        during = told(system, "table")
        assert (during["stud_tables"], during["stud_hands"], during["stud_viewers"]) == (1, {"BETTING": 1}, 1)
        assert told(system, "wallet")["stud_escrow_minor_units"] == {"EUR": 30_000, "XTS": 0}
        await game.play(3, STAY)
        after = told(system, "table")
        commits = [c async for c in game.actor.runtime.log.read_all(game.actor.stream)]
        events = [event for commit in commits for event in decode_commit(commit.body).events]
        taken = [event for event in events if isinstance(event, ActionTaken)]
        assert sum(after["stud_actions_total"].values()) == after["stud_act_seconds"] == len(taken)
        assert after["stud_fan_out_viewers"] == len(commits)
        assert after["stud_hands_ended_total"] == 3
        assert after["stud_verdict_seconds"] >= 2
        assert told(system, "rules")["stud_verdicts_total"]["VERIFIED"] >= 2
        assert after["stud_feed_entries_total"] > 0
        assert set(after["stud_feed_lag_seconds"]) == {f"s{shard:02}" for shard in range(64)}
        assert (after["stud_feeds_stalled"], after["stud_parked_lines"], after["stud_disputes"]) == (0, 0, 0)
        await viewer.close()
        assert told(system, "table")["stud_viewers"] == 0


@simulated
async def test_a_table_that_stands_still_is_told_with_its_reason(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.until_turn()
        assert told(system, "table")["stud_tables_standing"] == {}
        await game.operate(pb.PauseTableRequest(table="t-1", reason="lunch of bob"))
        assert told(system, "table")["stud_tables_standing"] == {"OTHER": 1}
        game.actor.halt(Refused("LOG_BEHIND", "it went back"))
        assert told(system, "table")["stud_tables_standing"] == {"LOG_BEHIND": 1}
        standing = {metric.name: value for metric, value in survey([], 2).items()}["stud_tables_standing"]
        assert standing == {"LOG_BROKEN": 2}


@simulated
async def test_refusals_on_a_stream_and_viewers_who_are_too_slow_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hub.Viewer.__init__, "__defaults__", (4,))
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        slow = Stream(game, "eve", watch=True)
        await slow.update()
        slow.blocked.clear()
        for _ in range(8):
            await game.step(STAY)
        assert told(system, "table")["stud_viewers_dropped_total"] == 1
        slow.blocked.set()
        assert (await slow.end()).reason == "RESUME_FROM_VERSION"
        player = Stream(game, game.on_turn)
        await player.update()
        stale = game.act_request(game.choose(STAY), turn_id=1 << 40)
        stale.table, stale.request_id = game.id, "stale"
        assert (await player.ask(act=stale)).reason == "STALE_TURN"
        assert told(system, "table")["stud_refusals_total"] == {"STALE_TURN": 1}
        await player.close()


@simulated
async def test_a_log_that_is_away_is_told_and_its_memory_is_not(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        runtime = system.runtimes["wallet"]
        tell_of_the_log(runtime)
        runtime.set_trouble(await runtime.log.trouble("wallet"))
        system.store.used_ratio = 0.9
        runtime.set_trouble(await runtime.log.trouble("wallet"))
        there = told(system, "wallet")
        assert (there["stud_log_available"], there["stud_log_trouble"]) == (1, {"LOG_MEMORY": 1})
        assert there["stud_log_memory_bytes"] / there["stud_log_memory_limit_bytes"] == pytest.approx(0.9)
        game = Game(system)
        await game.begin(2)
        assert told(system, "wallet")["stud_append_seconds"] == told(system, "wallet")["stud_append_batch_commits"] > 0
        system.store.stop()
        away = told(system, "wallet")
        assert away["stud_log_available"] == 0
        assert "stud_log_memory_bytes" not in away
        assert away["stud_escrow_minor_units"]["EUR"] > 0

"""A run against a house that can be told to go wrong: what it measures, and what it does not let pass."""

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_client import Endpoints, StudClient, StudError
from stud_load import Chaos, LoadPlan, Rate, Report, Target, crew, parse_rate, run
from stud_load.plan import RateKind
from stud_load.player import Player
from stud_load.recorder import Count, Measure
from stud_load.table import LoadTable
from tests.support.deep import not_quick
from tests.support.load_house import Faults, open_house

SHORT = LoadPlan(tables=2, players=3, seconds=1.0, ramp_s=0.1, warm_s=0.1, channels=2)

full_speed = not_quick("a run at full speed takes a second of CPU time")


async def played(plan: LoadPlan = SHORT, faults: Faults | None = None) -> Report:
    async with open_house(faults) as target:
        return await run(plan, target)


async def test_a_run_measures_and_finds_nothing_wrong():
    report = await played()
    assert report.ok, report.violations
    assert report.counts[Count.ACTIONS] == pytest.approx(report.figures(Measure.SERVICE).count, abs=4)
    assert report.counts[Count.ACTIONS] > 50
    assert report.counts[Count.DELIVERIES] > 3 * report.counts[Count.ACTIONS]
    assert report.figures(Measure.SEEN).count > 0.9 * report.counts[Count.ACTIONS]
    assert report.counts[Count.HANDS] == pytest.approx(report.figures(Measure.VERDICT).count, abs=2)
    assert report.figures(Measure.SEATED).count == 6
    assert sum(interval.counts[Count.ACTIONS] for interval in report.timeline) == report.counts[Count.ACTIONS]
    assert report.usage["driver"].cpu_s > 0
    assert report.checks["books"] == "6 compared"


@full_speed
async def test_a_fixed_rate_is_kept():
    report = await played(msgspec.structs.replace(SHORT, rate=parse_rate("40/s"), seconds=2.0))
    assert report.ok, report.violations
    assert report.counts[Count.ACTIONS] == pytest.approx(80, abs=8)
    assert report.unanswered == 0


@full_speed
async def test_a_stall_is_not_hidden():
    """For a second nothing is answered. A closed loop sees one slow answer a table; here all that was due counts."""
    faults = Faults()
    plan = msgspec.structs.replace(SHORT, rate=parse_rate("50/s"), seconds=3.0)
    async with open_house(faults) as target:
        stalling = asyncio.create_task(faults.stall(1.0, 1.0))
        report = await run(plan, target, gate=faults.gate)
        await stalling
    act, service = report.figures(Measure.ACT), report.figures(Measure.SERVICE)
    assert act.count == pytest.approx(150, abs=8)
    assert act.max > 900
    assert act.p90 > 500 > service.p90, "a third of all actions was due while nothing was answered"


@full_speed
async def test_what_was_due_and_never_answered_counts_too():
    faults = Faults()
    plan = msgspec.structs.replace(SHORT, rate=parse_rate("50/s"), seconds=1.0)
    async with open_house(faults) as target:
        stalling = asyncio.create_task(faults.stall(0.5, 4.2))
        report = await run(plan, target, gate=faults.gate)
        await stalling
    assert report.unanswered > 30
    assert report.figures(Measure.ACT).count == pytest.approx(50, abs=5)
    assert report.figures(Measure.ACT).p50 > 3000
    assert any("no answer" in note for note in report.notes)


@full_speed
async def test_a_service_that_nobody_needs_for_a_while_is_seen_to_stand_still():
    faults = Faults()

    async def fall_silent() -> None:
        await faults.seated.wait()
        await asyncio.sleep(0.3)
        faults.silent.clear()
        await asyncio.sleep(1.6)
        faults.silent.set()

    plan = msgspec.structs.replace(SHORT, rate=parse_rate("20/s"), seconds=3.0)
    async with open_house(faults) as target:
        silence = asyncio.create_task(fall_silent())
        report = await run(plan, target, gate=faults.gate)
        await silence
    assert report.ok, report.violations
    assert report.unanswered == 0
    assert report.figures(Measure.HEALTH).max > 1000
    assert [note.split(" for ")[0] for note in report.notes if "answered nothing" in note] == [
        "table answered nothing",
        "wallet answered nothing",
    ]
    assert report.checks["health"] == "wallet, table asked every 0.5 s"


async def test_only_so_many_tables_hurry_to_their_end_together(monkeypatch: pytest.MonkeyPatch):
    """A thousand tables that play without think times at once take longer than a call may."""
    open_then: list[set[str]] = []
    hurry = Player.hurry
    hurrying: dict[str, LoadTable] = {}

    def seen(player: Player) -> None:
        hurrying[player.table.table_id] = player.table
        open_then.append({name for name, table in hurrying.items() if not table.is_closed})
        hurry(player)

    monkeypatch.setattr(Player, "hurry", seen)
    monkeypatch.setattr(crew, "CLOSED_AT_ONCE", 2)
    report = await played(msgspec.structs.replace(SHORT, tables=5))
    assert report.ok, report.violations
    assert len(hurrying) == 5
    assert max(map(len, open_then)) == 2


async def test_a_silence_that_outlasts_the_run_counts_with_what_has_passed():
    faults = Faults()
    plan = msgspec.structs.replace(SHORT, rate=parse_rate("20/s"), seconds=1.0)

    async def fall_silent() -> None:
        await faults.gate()
        faults.silent.clear()

    async with open_house(faults) as target:
        report = await run(plan, target, gate=fall_silent)
        faults.silent.set()
    assert report.figures(Measure.HEALTH).count >= 2
    assert report.figures(Measure.HEALTH).max > 500


@pytest.mark.parametrize(
    ("faults", "rule", "what"),
    [
        (lambda: Faults(miss=9), "version missed", "version 10 came after version 8"),
        (lambda: Faults(repeat=9), "version repeated", "version 9 came after version 9"),
        (lambda: Faults(lost=1), "book does not agree", "want a balance of 100000000"),
    ],
    ids=["missed", "repeated", "lost"],
)
async def test_a_planted_fault_fails_the_run(faults, rule, what):
    report = await played(faults=faults())
    assert not report.ok
    assert set(report.violation_counts) == {rule}
    assert what in report.violations[0]


@full_speed
async def test_a_hand_that_begins_before_the_verdict_fails_the_run():
    faults = Faults()
    faults.skip_verdict = 2
    report = await played(faults=faults)
    assert report.violation_counts == {"hand not verified": 2}
    assert "hand 3 began, verified were hands up to 1" in report.violations[0]


@full_speed
async def test_wrong_commands_are_refused_and_expected():
    report = await played(msgspec.structs.replace(SHORT, chaos=Chaos(bad_commands=True)))
    assert report.ok, report.violations
    assert report.expected_refusals["ILLEGAL_ACTION"] > 0
    assert report.refusals == {}


@full_speed
async def test_a_wrong_command_that_is_taken_fails_the_run():
    report = await played(msgspec.structs.replace(SHORT, chaos=Chaos(bad_commands=True)), Faults(takes_wrong=True))
    assert set(report.violation_counts) == {"wrong command accepted"}


@full_speed
async def test_streams_are_cut_and_resumed():
    report = await played(msgspec.structs.replace(SHORT, chaos=Chaos(reconnect=0.3)))
    assert report.ok, report.violations
    assert report.events["stream CUT"] > 0
    assert report.figures(Measure.CURRENT).count > 0


@full_speed
async def test_people_think():
    plan = msgspec.structs.replace(SHORT, rate=Rate(RateKind.HUMAN), think_s=0.05)
    report = await played(plan)
    assert report.ok, report.violations
    assert 15 < report.counts[Count.ACTIONS] < 60, "two tables, 20 actions a second each at most"
    assert report.figures(Measure.LATE).count > 0


async def test_a_table_that_cannot_be_followed_is_told_before_it_is_played():
    with pytest.raises(StudError, match="load-0-0 cannot be followed: UNIMPLEMENTED"):
        await played(msgspec.structs.replace(SHORT, tables=1, spectators=1))


async def test_a_house_that_is_not_there_is_told():
    target = Target(Endpoints(table="127.0.0.1:1", wallet="127.0.0.1:1"), lambda subject, _: lambda: subject)
    with pytest.raises(StudError, match="UNAVAILABLE"):
        await run(SHORT, target)


@full_speed
async def test_a_run_that_is_cut_short_closes_its_tables():
    async with open_house() as target:
        playing = asyncio.create_task(run(msgspec.structs.replace(SHORT, seconds=60), target))
        await asyncio.sleep(1)
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        async with StudClient(target.endpoints, "anybody") as client:
            answer = await client.tables.ListTables(pb.ListTablesRequest())
    assert [line.life for line in answer.tables] == [pb.TABLE_LIFE_CLOSED] * 2


async def test_the_example_of_the_guide_runs():
    guide = (Path(__file__).parents[3] / "docs" / "load-testers.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/load-testers.md", "exec"), names)
    async with open_house() as target:
        report = await names["measure"](target)
    assert report.ok, report.violations

"""`make hostile` in small: whoever asks for all he can get is bounded, and everybody else plays on. The figures are for
people to look at on a machine of their own; here is only asked that nothing stands still.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benches.hostile import ALONE, Plan, Report, Row, measure, quantile
from benches.hostile_callers import ATTACKS
from tests.support.system import LiveStack

PLAN = Plan(seconds=4.0, bots=6, callers=3, tasks=3, closed=2, commits=60, transfers=30, think_s=0.05)
MOST_CALLS = 100 + 20 * PLAN.seconds
"""Calls of one account that are taken: so many at once, and so many a second."""

REFUSED = {"closed tables", "preferences and seats", "streams"}
"""Elsewhere the callers are only slowed: they wait for their answers."""


@pytest.mark.timeout(300)
async def test_whoever_asks_for_all_they_can_get_stops_nobody(tmp_path):
    async with LiveStack(tmp_path / "house") as stack:
        report = await measure(stack, PLAN)
        told = "\n".join(stack.log_path(name).read_text() for name in stack.processes)
    assert report.problems == []
    assert [row.beside for row in report.rows][: len(ATTACKS) + 2] == [ALONE, *ATTACKS, ALONE]
    levels = {json.loads(line)["level"]: line for line in told.splitlines() if line}
    assert not levels.keys() & {"error", "critical"}, levels
    alone = min(row.actions_per_s for row in report.rows if row.beside == ALONE)
    for row in report.rows:
        assert row.actions_per_s > alone / 5, row
        if row.beside == ALONE:
            continue
        if row.beside in REFUSED:
            assert row.answers.get("RATE_LIMITED", 0) > 0, row
        assert row.calls_per_s * PLAN.seconds <= PLAN.callers * 2 * MOST_CALLS, row
        assert not row.answers.keys() & {"INTERNAL", "UNKNOWN", "CALL_DEADLINE"}, row


def test_it_is_said_when_it_was_too_much():
    rows = [Row(ALONE, 10, 1, 10), Row("lobby", 9, 2, 19), Row(ALONE, 10, 1, 9)]
    report = Report(rows, [])
    report.judge()
    assert (report.fine, [row.ratio for row in rows]) == (True, [1, 1.9, 0.9])
    rows[1].p99_ms = 20.1
    report.judge()
    assert (report.fine, report.too_much) == (False, ["lobby"])
    report.rows.append(Row("lobby", 9, 2, 15))  # tried once more
    report.judge()
    assert (report.fine, report.ratios) == (True, {"lobby": 1.5})
    assert not Report(rows[:1], ["a chip is missing"]).fine
    assert [quantile([1.0, 2.0, 3.0, 4.0], part) for part in (0.5, 0.99, 1)] == [2.0, 4.0, 4.0]


def test_the_script_says_what_it_takes():
    script = Path(__file__).parents[2] / "benches" / "hostile.py"
    told = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=True)
    assert "--seconds" in told.stdout
    assert "--as-attacker" not in told.stdout

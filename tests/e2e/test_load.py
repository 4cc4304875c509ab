"""`stud load` on a system of its own: what scripts get, and what chaos does not spoil."""

import json
from pathlib import Path

import pytest

from tests.support.up import stud

pytestmark = [pytest.mark.traced, pytest.mark.timeout(300)]
SHORT = ("load", "--tables", "3", "--players", "4", "--spectators", "1", "--ramp", "0.5", "--warm", "0.5", "--json")


def test_a_fixed_rate_on_a_system_of_its_own(tmp_path: Path):
    ended = stud(tmp_path, *SHORT, "--rate", "20/s", "--seconds", "4", "--out", "report.json")
    assert ended.exit_code == 0, ended.stderr[-3000:]
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["ok"]
    assert told["violations"] == {}
    assert 15 < told["actions_s"] < 25
    assert told["deliveries_s"] > 4 * told["actions_s"], "each action reaches four players and a spectator"
    assert told["ms"]["act"]["count"] == pytest.approx(80, abs=12)
    assert told["ms"]["seen"]["count"] > 0
    assert told["ms"]["seated"]["count"] == 12
    assert set(told["cpu_share"]) == {"table", "dealer", "rules", "wallet", "log server", "driver"}
    assert told["checks"]["books"] == "12 compared"
    assert told["checks"]["audit"].endswith(" 0 problems")
    assert told["checks"]["verify"].endswith(" 0 problems")
    assert (tmp_path / "report.json").exists()


@pytest.mark.parametrize("way", [["--ask-antes"], ["--transport", "unary"], ["--plain"]], ids=" ".join)
def test_chaos_breaks_no_rule(tmp_path: Path, way: list[str]):
    chaos = ("--reconnect", "0.3", "--slow-readers", "1", "--leave-rejoin", "--bad-commands")
    ended = stud(tmp_path, *SHORT, *chaos, *way, "--seconds", "5")
    assert ended.exit_code == 0, ended.stderr[-3000:]
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["events"]["stream CUT"] > 0
    assert sum(told["expected_refusals"].values()) > 0
    assert told["ms"]["current"]["count"] > 0


def test_two_processes_make_one_report(tmp_path: Path):
    ended = stud(tmp_path, *SHORT, "--rate", "20/s", "--seconds", "4", "--processes", "2", "--html", "report.html")
    assert ended.exit_code == 0, ended.stderr[-3000:]
    told = json.loads(ended.stdout.splitlines()[-1])
    assert 15 < told["actions_s"] < 25
    assert {"table", "driver 1", "driver 2"} < set(told["cpu_share"])
    assert told["checks"]["books"] == "4 compared; 8 compared"
    assert "<svg" in (tmp_path / "report.html").read_text()

"""The main job, seen: bots play through the real processes, recordings are rehearsed, every chip is counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stud_cli.main import app

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "hands"
REFUSED = "kingsclub-7stud-0001"
pytestmark = pytest.mark.traced


def run(*words: str) -> tuple[int, dict[str, Any]]:
    """Run a command; return its exit code and the object on its last line."""
    return ran(*words)[:2]


def ran(*words: str) -> tuple[int, dict[str, Any], str]:
    """The same, with what was said on standard error."""
    result = CliRunner().invoke(app, [*words, "--json"])
    lines = result.stdout.strip().splitlines()
    assert lines, (words, result.output, result.exception)
    value: dict[str, Any] = json.loads(lines[-1])
    return result.exit_code, value, result.stderr


@pytest.mark.timeout(180)
@pytest.mark.parametrize("ruleset", ["playnow", "william_hill"])
def test_bots_play_and_every_chip_is_counted(tmp_path: Path, ruleset: str) -> None:
    data = tmp_path / "data"
    code, told, said = ran("demo", "--hands", "4", "--players", "8", "--ruleset", ruleset, "--data", str(data))
    assert told.pop("seconds") > 0
    replay = re.search(r"replay it: \S*stud (replay \S+ --data (\S+) --at \d+)\n", said)
    assert replay
    assert replay[2] == str(data)
    assert run(*replay[1].split())[0] == 0
    assert (code, told) == (0, {"hands": 4, "verified": 4, "disputed": 0, "ledger_sum": 0})
    code, verified = run("verify", "--data", str(data))
    assert (code, verified) == (0, {"tables": 1, "hands": 4, "ok": True, "problems": []})
    code, audited = run("audit", "--data", str(data))
    assert (code, audited["ok"], audited["accounts"], audited["ledger_sum"]) == (0, True, 8, 0)
    table = f"demo-{ruleset.replace('_', '-')}"
    code, replayed = run("replay", table, "--at", "30", "--data", str(data))
    assert (code, replayed["version"]) == (0, 30)


@pytest.mark.timeout(180)
def test_recorded_hands_play_through_the_services() -> None:
    """A few of each site, and the one that breaks the fixed-limit grid."""
    files = [str(GOLDEN / name) for name in ("stars.jsonl", "merge.jsonl", "kingsclub.jsonl")]
    code, told = run("rehearse", *files)
    assert code == 1
    assert told["matched"] == told["hands"] - 1
    ((only),) = told["mismatched"]
    assert only["id"] == REFUSED
    assert "ILLEGAL_ACTION" in only["why"]
    assert "legal: fold, call 4400, raise to 8800" in only["why"]


def test_all_recorded_hands_go_through_the_core() -> None:
    files = [str(path) for path in sorted(GOLDEN.glob("*.jsonl"))]
    code, told = run("adjudicate", *files)
    assert (code, told["hands"], told["matched"]) == (1, 119, 118)
    assert [entry["id"] for entry in told["mismatched"]] == [REFUSED]
    assert "legal: fold, call 4400, raise to 8800" in told["mismatched"][0]["why"]

"""The main job, seen: bots play through the real processes, recordings are rehearsed, every chip is counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stud_cli.audit import audit_log
from stud_cli.demo_table import DemoTable, TablePlan
from stud_cli.main import app
from stud_cli.people import People
from stud_cli.stack import SERVICES, Stack
from stud_cli.verdicts import read_verdicts
from stud_cli.verify import Verification, verify_table
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.keyring import KeyRing

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "hands"
REFUSED = "kingsclub-7stud-0001"
pytestmark = pytest.mark.xdist_group("system")


def run(*words: str) -> tuple[int, dict[str, Any]]:
    """Run a command; return its exit code and the object on its last line."""
    result = CliRunner().invoke(app, [*words, "--json"])
    lines = result.stdout.strip().splitlines()
    assert lines, (words, result.output, result.exception)
    value: dict[str, Any] = json.loads(lines[-1])
    return result.exit_code, value


@pytest.mark.timeout(180)
@pytest.mark.parametrize("ruleset", ["playnow", "william_hill"])
def test_bots_play_and_every_chip_is_counted(tmp_path: Path, ruleset: str) -> None:
    data = tmp_path / "data"
    code, told = run("demo", "--hands", "4", "--players", "8", "--ruleset", ruleset, "--data", str(data))
    assert (code, told["hands"], told["verified"], told["disputed"], told["ledger_sum"]) == (0, 4, 4, 0, 0)
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


class Game:
    """A demo table played in the background, for tests that break something meanwhile."""

    def __init__(self, stack: Stack, people: People, hands: int) -> None:
        self.table = DemoTable(people, TablePlan("william_hill", hands, 4, 7))
        self.task = asyncio.create_task(self.table.play())
        self._stack = stack

    async def in_hand(self, number: int) -> None:
        """Wait until a hand is being played."""
        await self._until(lambda view: view.hand_no >= number and view.phase != 0)

    async def _until(self, true: Callable[[Any], bool]) -> None:
        async with asyncio.timeout(60):
            while self.table.view is None or not true(self.table.view.view):
                if self.task.done():
                    await self.task
                    return
                await asyncio.sleep(0.005)

    async def finish(self) -> None:
        """Play to the end; then chains, decks, verdicts, ledger and every balance must agree."""
        await asyncio.wait_for(self.task, 90)
        log = await RedisEventLog.connect(self._stack.redis_url)
        try:
            found, _ = await audit_log(log)
            verdicts = await read_verdicts(log)
            key = KeyRing.load(self._stack.keys_dir, "referee").key("referee")
            checked = Verification()
            await verify_table(log, self.table.table_id, verdicts, key, checked)
        finally:
            await log.close()
        await self.table.check_balances(found, verdicts)
        assert (found.ok, found.problems, checked.problems) == (True, [], [])
        assert len(verdicts.final[self.table.table_id]) == self.table.plan.hands == self.table.hands_played
        assert len(self.table.balances) == 4


@pytest.mark.timeout(180)
async def test_every_service_is_killed_in_mid_hand_and_the_game_goes_on(tmp_path: Path) -> None:
    async with Stack(tmp_path) as stack:
        people = People(stack.endpoints, stack.keys_dir)
        game = Game(stack, people, hands=10)
        for number, name in enumerate(SERVICES):
            await game.in_hand(1 + 2 * number)
            await stack.kill_service(name)
            await stack.start_service(name)
        await game.finish()
        await people.close()


@pytest.mark.timeout(180)
async def test_the_log_is_killed_in_mid_hand_and_the_game_goes_on(tmp_path: Path) -> None:
    async with Stack(tmp_path) as stack:
        people = People(stack.endpoints, stack.keys_dir)
        game = Game(stack, people, hands=5)
        await game.in_hand(2)
        await stack.server.kill()
        await stack.server.start()
        await game.finish()
        await people.close()

"""The `stud` command with a whole system behind it: the demo in a terminal, and a life of `stud up`."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from stud_cli.local.system import PORTS, ROW, SERVICES
from stud_topology.services import METRICS_ABOVE
from tests.support.scrape import scrape, value_of
from tests.support.up import Up, in_a_terminal, listens, stud, up

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "hands"
REFUSED = "kingsclub-7stud-0001"
pytestmark = [pytest.mark.traced, pytest.mark.timeout(300)]


def test_people_see_both_tables_and_where_every_chip_went(tmp_path: Path):
    code, seen = in_a_terminal(tmp_path, "demo", "--hands", "6", "--players", "2", "--data", "data")
    assert code == 0, seen[-2000:]
    for words in ("Demo playnow · playnow", "Demo william_hill · william_hill", "?? ??", "won or lost", "Ledger EUR"):
        assert words in seen
    assert not re.search(r"\bNO\b", seen)
    printed = re.search(r"replay it: \S*stud (replay demo-playnow --data data --at \d+)", seen)
    assert printed
    again = stud(tmp_path, *printed[1].split())
    assert (again.exit_code, "closed" in again.stdout) == (0, True)


def test_a_system_is_started_asked_and_ended(tmp_path: Path):
    with up(tmp_path, "--allow-stacked-decks", "--json") as system:
        it_says_where_it_listens(system)
        a_second_one_is_refused(system)
        recorded_hands_are_rehearsed(system)
        it_is_asked_by_people_and_by_scripts(system)
        a_dead_service_is_reported_and_started_again(system)
        assert system.end(signal.SIGTERM) == 0
        assert system.said.splitlines()[-1] == "stopping"
        assert not any(listens(system.first_port + number) for number in range(ROW))
    assert not (tmp_path / "var" / "stud.json").exists()
    ends = [stopped_at(tmp_path / "var" / "logs" / f"{name}.log") for name in reversed(SERVICES) if name != "rules"]
    assert ends == sorted(ends)
    left = stud(tmp_path, "audit", "--data", "var")  # what it leaves behind can be read
    assert (left.exit_code, left.stdout.splitlines()[-1]) == (0, "ok")


def it_says_where_it_listens(system: Up) -> None:
    ports = {name: system.first_port + number for number, name in enumerate(PORTS)}
    told = json.loads(system.wait_for(r"\{.*\}\n"))
    assert told == {
        "ready": True,
        "endpoints": {name: f"127.0.0.1:{ports[name]}" for name in SERVICES},
        "metrics": {name: f"127.0.0.1:{ports[name] + METRICS_ABOVE}" for name in SERVICES},
        "redis_url": f"redis://127.0.0.1:{ports['redis']}/0",
    }
    assert system.running["endpoints"] == told["endpoints"]
    assert system.running["metrics"] == told["metrics"]
    assert all(value_of(scrape(address), "stud_serving") == 1 for address in told["metrics"].values())
    assert set(system.running["pids"]) == {*SERVICES, PORTS[0]}


def a_second_one_is_refused(system: Up) -> None:
    """Nor one on its directory, nor one on its ports."""
    elsewhere = system.folder / "elsewhere"
    elsewhere.mkdir()
    beside = stud(system.folder, "up")
    same_data = stud(elsewhere, "up", "--data", str(system.folder / "var"))
    same_ports = stud(elsewhere, "up", "--port", str(system.first_port))
    assert [ended.exit_code for ended in (beside, same_data, same_ports)] == [2, 2, 2]
    assert f"already up (process {system.process.pid})" in beside.stderr
    assert f"already up (process {system.process.pid})" in same_data.stderr
    assert "the log's server" in same_ports.stderr
    assert system.running["pid"] == system.process.pid


def recorded_hands_are_rehearsed(system: Up) -> None:
    """One line is no hand, one hand is refused: the other is played, the refused one is void, the exit code tells."""
    merge = (GOLDEN / "merge.jsonl").read_text().splitlines()
    lines = [merge[0], (GOLDEN / "kingsclub.jsonl").read_text().strip(), '{"id": "half a hand"']
    (system.folder / "hands.jsonl").write_text("\n".join(lines) + "\n")
    code, told = system.asked("rehearse", "hands.jsonl", "--endpoints")
    assert (code, told["hands"], told["matched"]) == (1, 3, 1)
    only, malformed = told["mismatched"]
    assert (malformed["id"], malformed["why"][:11]) == ("half a hand", "malformed: ")
    assert malformed["why"].endswith("(hands.jsonl:3)")
    assert only["id"] == REFUSED
    assert "legal: fold, call 4400, raise to 8800" in only["why"]

    code, lobby = system.asked("tables", "--currency", "XTS", "--all")
    ids = sorted(line["table"] for line in lobby["tables"])
    assert (code, [name[-2:] for name in ids]) == (0, ["-1", "-2"])
    assert all(line["life"] == "TABLE_LIFE_CLOSED" for line in lobby["tables"])
    code, told = system.asked("rules", "--table", ids[0])
    assert (code, "XTS" in told["headline"]) == (0, True)
    unknown = stud(system.folder, "rules", "--table", "nowhere")
    assert (unknown.exit_code, "UNKNOWN_TABLE" in unknown.stderr) == (2, True)
    shown = stud(system.folder, "replay", ids[1], "--events")
    assert shown.exit_code == 0
    said = " ".join(shown.stdout.split())
    assert re.search(r"hand 1 is voided .*an operator's word: the recording cannot be followed", said)
    assert "hand 1 is over" not in said


def it_is_asked_by_people_and_by_scripts(system: Up) -> None:
    for words in (["verify"], ["audit"]):
        code, told = system.asked(*words)
        assert (code, told["ok"]) == (0, True), told
    assert system.asked("dead", "list") == (0, {"dead": []})
    assert system.asked("tables") == (0, {"tables": []})
    shown = stud(system.folder, "tables", "--all")
    assert shown.exit_code == 0
    assert all(word in shown.stdout for word in ("Tables", "stakes", "seated", "closed"))


def a_dead_service_is_reported_and_started_again(system: Up) -> None:
    os.kill(system.running["pids"]["rules"], signal.SIGKILL)
    system.wait_for(r"rules died with -9")
    assert system.asked("tables") == (0, {"tables": []})
    system.wait_for(r"rules is back after")
    assert listens(system.first_port + PORTS.index("rules"))


def stopped_at(log: Path) -> str:
    """When a service said goodbye."""
    (when,) = (
        line["timestamp"] for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "stopped"
    )
    assert isinstance(when, str)
    return when

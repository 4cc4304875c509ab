"""The `stud` command with a whole system behind it: demo, up, and what is asked of a system that runs."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stud_cli.stack import PORTS, SERVICES
from tests.support.up import STUD, Up, environ, stud, up

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "hands"
REFUSED = "kingsclub-7stud-0001"
pytestmark = [pytest.mark.xdist_group("system"), pytest.mark.timeout(240)]


def listens(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Runs for all tests that only ask it something; tables of their own do not disturb them."""
    with up(tmp_path_factory.mktemp("up"), "--allow-stacked-decks", "--json") as running:
        yield running
        assert running.end(signal.SIGINT) == 0


# ------------------------------------------------------------------- demo


def test_the_demo_ends_with_exactly_what_scripts_read(tmp_path: Path):
    words = ("demo", "--hands", "3", "--players", "3", "--ruleset", "william_hill", "--data", "data", "--json")
    ended = stud(tmp_path, *words, within_s=180)
    assert ended.returncode == 0, ended.stderr
    (line,) = ended.stdout.splitlines()
    assert re.fullmatch(r'\{"hands":3,"verified":3,"disputed":0,"ledger_sum":0,"seconds":[\d.]+\}', line)
    told = stud(tmp_path, "verify", "--data", "data")
    assert (told.returncode, told.stdout.strip()) == (0, "1 tables, 3 hands: ok")
    assert "no referee key" not in told.stderr


def in_a_terminal(folder: Path, *words: str) -> tuple[int, str]:
    """Run a command as people see it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([STUD, *words], cwd=folder, env=environ() | {"TERM": "xterm"}, stdout=theirs)
    os.close(theirs)
    seen = bytearray()
    while True:
        try:
            seen += os.read(ours, 65_536)
        except OSError:  # the terminal's other end was closed
            break
    os.close(ours)
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


def test_people_see_both_tables_and_where_every_chip_went(tmp_path: Path):
    code, seen = in_a_terminal(tmp_path, "demo", "--hands", "1", "--players", "2", "--data", "data")
    assert code == 0, seen[-2000:]
    for words in ("Demo playnow · playnow", "Demo william_hill · william_hill", "?? ??", "won or lost", "Ledger EUR"):
        assert words in seen
    assert re.search(r"replay it: stud replay demo-playnow --data data --at \d+", seen)
    assert not re.search(r"\bNO\b", seen)
    version = re.search(r"stud replay demo-playnow --data data --at (\d+)", seen)
    assert version
    again = stud(tmp_path, "replay", "demo-playnow", "--data", "data", "--at", version[1])
    assert (again.returncode, "closed" in again.stdout) == (0, True)


# ------------------------------------------------------------------- a running system


def test_it_says_where_it_listens(system: Up):
    ports = {name: system.first_port + number for number, name in enumerate(PORTS)}
    told = json.loads(next(line for line in system.said.splitlines() if line.startswith("{")))
    assert told["ready"] is True
    assert told["endpoints"] == {name: f"127.0.0.1:{ports[name]}" for name in SERVICES}
    assert told["redis_url"] == f"redis://127.0.0.1:{ports['redis']}/0"
    assert system.running["endpoints"] == told["endpoints"]
    assert set(system.running["pids"]) == set(SERVICES)


def test_a_second_one_is_refused(system: Up, tmp_path: Path):
    beside = stud(system.folder, "up")
    assert beside.returncode == 2
    assert f"already up (process {system.process.pid})" in beside.stderr
    same_data = stud(tmp_path, "up", "--data", str(system.folder / "var"))
    assert same_data.returncode == 2
    assert "already up" in same_data.stderr
    same_ports = stud(tmp_path, "up", "--port", str(system.first_port))
    assert same_ports.returncode == 2
    assert "the log's server" in same_ports.stderr
    assert "Traceback" not in same_ports.stderr
    assert system.running["pid"] == system.process.pid


def test_recorded_hands_are_rehearsed_on_it_and_the_refused_one_is_void(system: Up):
    """A file with a line that is no hand: the others are played, and the exit code tells."""
    merge = (GOLDEN / "merge.jsonl").read_text().splitlines()
    hands = [merge[0], (GOLDEN / "kingsclub.jsonl").read_text().strip(), '{"id": "half a hand"']
    (system.folder / "hands.jsonl").write_text("\n".join(hands) + "\n")
    code, told = system.asked("rehearse", "hands.jsonl", "--endpoints", within_s=120)
    assert code == 2
    assert (told["hands"], told["matched"]) == (2, 1)
    (only,) = told["mismatched"]
    assert only["id"] == REFUSED
    assert "legal: fold, call 4400, raise to 8800" in only["why"]
    assert [line["line"] for line in told["malformed"]] == [3]

    code, lobby = system.asked("tables", "--currency", "XTS", "--all")
    ids = sorted(line["table"] for line in lobby["tables"])
    assert code == 0
    assert [name[-2:] for name in ids[-2:]] == ["-1", "-2"]
    assert all(line["life"] == "TABLE_LIFE_CLOSED" for line in lobby["tables"])
    shown = stud(system.folder, "replay", ids[-1], "--events")
    assert shown.returncode == 0
    assert re.search(r"HandVoided hand_no=1 .*reason=the recording cannot be followed", shown.stdout)
    assert "HandEnded" not in shown.stdout
    for words in (["verify"], ["audit"]):
        code, told = system.asked(*words)
        assert (code, told["ok"]) == (0, True), told


def test_people_see_the_lobby(system: Up):
    shown = stud(system.folder, "tables", "--all")
    assert shown.returncode == 0
    assert all(word in shown.stdout for word in ("Tables", "stakes", "seated", "version"))


def test_nothing_is_parked(system: Up):
    assert system.asked("dead", "list") == (0, {"dead": []})


# ------------------------------------------------------------------- the end


def test_a_dead_service_is_reported_and_everything_ends_in_order(tmp_path: Path):
    with up(tmp_path) as running:
        pids = running.running["pids"]
        os.kill(pids["rules"], signal.SIGKILL)
        running.wait_for(r"rules died with -9")
        assert listens(running.first_port + PORTS.index("table"))
        assert running.asked("tables") == (0, {"tables": []})
        assert running.end(signal.SIGTERM) == 0
        assert running.said.splitlines()[-1] == "stopping"
        assert not any(listens(running.first_port + number) for number in range(len(PORTS)))
    assert not (tmp_path / "var" / "stud.json").exists()
    ends = [stopped_at(tmp_path / "var" / "logs" / f"{name}.log") for name in reversed(SERVICES) if name != "rules"]
    assert ends == sorted(ends)

    left = stud(tmp_path, "audit", "--data", "var")  # what it leaves behind can be read
    assert (left.returncode, left.stdout.strip().splitlines()[-1]) == (0, "ok")


def stopped_at(log: Path) -> str:
    """When a service said goodbye."""
    (when,) = (
        line["timestamp"] for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "stopped"
    )
    assert isinstance(when, str)
    return when

"""`stud up` after a power failure and after `kill -9`: what it says is enough to get going again."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stud_cli.local import up as up_module
from stud_cli.local.system import PORTS, SERVICES
from tests.support.up import STUD, environ, free_ports, listens, stud, up

pytestmark = pytest.mark.timeout(300)


def reads(folder: Path) -> dict[str, tuple[int, bool]]:
    """What `verify` and `audit` find in the stopped system of a folder."""
    ended = {name: stud(folder, name, "--data", "var", "--json") for name in ("verify", "audit")}
    return {name: (done.exit_code, json.loads(done.stdout)["ok"]) for name, done in ended.items()}


def test_a_torn_file_is_refused_and_cut_when_asked(tmp_path: Path):
    played = stud(tmp_path, "demo", "--hands", "1", "--players", "2", "--ruleset", "playnow", "--data", "var", "--json")
    assert played.exit_code == 0, played.stderr
    (file,) = (tmp_path / "var" / "redis" / "appendonlydir").glob("*.incr.aof")
    whole = file.read_bytes()
    torn = whole + whole[whole.rindex(b"*1\r\n$5\r\nMULTI") :][:200]  # the last commit, half of it once more
    file.write_bytes(torn)

    refused = stud(tmp_path, "up", "--port", str(free_ports()), "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "`stud up --data var --cut-torn-tail`" in " ".join(refused.stderr.split())
    assert file.read_bytes() == torn

    with up(tmp_path, "--cut-torn-tail") as system:
        said = " ".join(system.said.split())
        assert f"cut {len(torn) - len(whole)} bytes of a write that never ended" in said
        assert "is kept as var/redis/appendonly.aof.1.incr.aof.torn-1" in said
        assert system.asked("audit")[0] == 0
        assert system.end() == 0
    with up(tmp_path, "--cut-torn-tail") as system:
        assert "cut      nothing: the log's file ends with a whole write" in system.said
    assert (tmp_path / "var" / "redis" / f"{file.name}.torn-1").read_bytes() == torn
    assert file.read_bytes().startswith(whole)
    assert reads(tmp_path) == {"verify": (0, True), "audit": (0, True)}


def test_what_runs_on_after_a_kill_all_the_same_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is told to end when `stud up` is killed; a process that was stopped hears nothing."""
    monkeypatch.setattr(up_module, "ENDING_S", 8.0)
    with up(tmp_path, "--json") as system:
        pids = system.running["pids"]
        assert set(pids) == {*SERVICES, PORTS[0]}
        os.kill(pids["rules"], signal.SIGSTOP)
        system.end(signal.SIGKILL)
        refused = stud(tmp_path, "up", "--port", str(system.first_port))
        assert refused.exit_code == 2
        told = " ".join(refused.stderr.split())
        assert f"what it started runs on (rules {pids['rules']}): end them with `kill {pids['rules']}`" in told
        os.kill(pids["rules"], signal.SIGCONT)
        until_gone(list(pids.values()))
    with up(tmp_path, "--port", str(system.first_port)) as again:
        assert again.asked("audit")[0] == 0


def test_where_nobody_reads_any_more_everything_is_stopped(tmp_path: Path):
    first_port = free_ports()
    with subprocess.Popen(
        [STUD, "up", "--port", str(first_port)],
        cwd=tmp_path,
        env=environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 2
    assert not any(listens(first_port + number) for number in range(len(PORTS)))


def until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 30
    while any(state(pid) != "Z" for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def state(pid: int) -> str:
    """Z where it has ended: nobody waits for what outlived its starter."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"

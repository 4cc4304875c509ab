"""Whatever ends a command, and however often it is told: nothing that it started runs on, no key stays behind."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.up import STUD, environ, free_ports

HANDS = Path(__file__).resolve().parents[1] / "golden" / "hands" / "stars.jsonl"
COMMANDS = {
    "demo": ["demo", "--hands", "400", "--players", "2", "--ruleset", "playnow", "--json"],
    "rehearse": ["rehearse", *[str(HANDS)] * 5, "--json"],
    "up": ["up", "--json"],
}
CODES = {"demo": 130, "rehearse": 130, "up": 0}
pytestmark = pytest.mark.timeout(300)


def started_below(folder: Path, but: int) -> Iterator[int]:
    """Every process at work below a folder, the command itself left out. The log's server gives itself another title,
    so that its command line says nothing.
    """
    for process in Path("/proc").glob("[0-9]*"):
        try:
            at_work = (process / "cwd").readlink()
        except OSError:
            continue
        if at_work.is_relative_to(folder) and int(process.name) != but:
            yield int(process.name)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("number", "times", "once_there_is"),
    [
        (signal.SIGTERM, 1, "table.log"),
        (signal.SIGHUP, 3, "wallet.log"),  # in the middle of its start
        (signal.SIGINT, 4, "table.log"),
    ],
)
def test_nothing_is_left(name: str, number: signal.Signals, times: int, once_there_is: str, tmp_path: Path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = [*COMMANDS[name], *(["--port", str(free_ports())] if name == "up" else [])]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [STUD, *words], cwd=tmp_path, env=environ() | {"TMPDIR": str(temporary)}, stdout=said, stderr=said
        )
    try:
        while process.poll() is None and not list(tmp_path.rglob(once_there_is)):
            time.sleep(0.05)
        running = len(list(started_below(tmp_path, process.pid)))
        assert running >= (1 if once_there_is == "wallet.log" else 4)  # the log's server, and the services before
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.2)
        assert process.wait(60) == CODES[name], (tmp_path / "said").read_text()
        assert list(started_below(tmp_path, process.pid)) == []
        assert list(temporary.iterdir()) == []
    finally:
        process.kill()
        process.wait()
        for pid in started_below(tmp_path, process.pid):
            os.kill(pid, signal.SIGKILL)

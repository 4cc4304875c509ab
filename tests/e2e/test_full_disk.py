"""A disk that is full is named, by whoever meets it first: no service is blamed for it, and no log for its silence.

The disk is one of some megabytes in a mount namespace of the command's own.
"""

import asyncio
import contextlib
import subprocess
from pathlib import Path

import pytest
import redis.exceptions

from stud_cli.local.disk import full_disk
from stud_load.report import read
from tests.support.up import STUD, environ, free_ports
from tests.support.valkey import command

SMALL = "mount -t tmpfs -o size=8m none var"
FILL = "head -c 9m /dev/zero > var/fill 2> /dev/null"
POSSIBLE = not subprocess.run(
    ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/tmp"], check=False, capture_output=True
).returncode
pytestmark = [
    pytest.mark.traced,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not POSSIBLE, reason="nobody may mount a disk of his own here"),
]


def up_on_a_small_disk(folder: Path, *before: str, first_port: int) -> subprocess.Popen[str]:
    """`stud up` in a directory whose `var` is a small disk, after some commands there."""
    (folder / "var").mkdir(exist_ok=True)
    script = "; ".join([SMALL, *before, 'exec "$0" "$@"'])
    return subprocess.Popen(
        ["unshare", "-rm", "sh", "-c", script, STUD, "up", "--port", str(first_port)],
        cwd=folder,
        env=environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    said = ""
    while words not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    return said


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as sink, contextlib.suppress(OSError):
        while True:
            sink.write(bytes(4096))


async def write_and_write(url: str) -> None:
    for number in range(100):
        await command(url, "SET", f"key-{number}", "x" * 1000)


@pytest.mark.parametrize("with_a_log", [False, True])
def test_a_start_on_a_full_disk_names_the_disk(with_a_log: bool, tmp_path: Path):
    before = [FILL]
    if with_a_log:
        first = free_ports()
        with subprocess.Popen(
            [STUD, "up", "--port", str(first)], cwd=tmp_path, env=environ(), stdout=subprocess.PIPE, text=True
        ) as process:
            said_until(process, "ready")
            process.terminate()
        (tmp_path / "var").rename(tmp_path / "kept")
        before = ["cp -r kept/. var", FILL]
    with up_on_a_small_disk(tmp_path, *before, first_port=free_ports()) as process:
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 2
        assert said == "error the disk of var is full: make room there, what was acknowledged is safe\n"


async def test_the_end_of_the_logs_server_on_a_full_disk_is_told_with_its_reason(tmp_path: Path):
    first = free_ports()
    url = f"redis://127.0.0.1:{first}/0"
    with up_on_a_small_disk(tmp_path, first_port=first) as process:
        said_until(process, "ready")
        disk = Path(f"/proc/{process.pid}/root{tmp_path}/var")
        assert full_disk(disk) is None
        fill(disk / "fill")
        assert full_disk(disk) == f"the disk of {disk} is full: make room there, what was acknowledged is safe"
        with pytest.raises(redis.exceptions.ConnectionError, match="closed"):
            await write_and_write(url)
        said = said_until(
            process, "is not started before there is room: the disk of var/redis is full: make room there"
        )
        assert "the log's server died: the disk of var/redis is full: make room there" in said
        await asyncio.sleep(15)  # five starts would take half as long
        assert process.poll() is None
        (disk / "fill").unlink()
        assert "died" not in said_until(process, "is back after")
        assert await command(url, "SET", "key", "value")
        (disk / "fill").touch()
        fill(disk / "fill")
        with pytest.raises(redis.exceptions.ConnectionError, match="closed"):
            await write_and_write(url)
        said_until(process, "is not started before there is room")
        process.terminate()
        assert process.wait(60) == 0


@pytest.mark.parametrize("kib", [600, 1100], ids=["from the start", "meanwhile"])
def test_a_load_run_whose_own_log_fills_its_disk_names_the_disk(kib: int, tmp_path: Path):
    (tmp_path / "small").mkdir()
    script = f'mount -t tmpfs -o size={kib}k none small; TMPDIR="$PWD/small" exec "$0" "$@"'
    load = [str(STUD), "load", "--tables", "6", "--ramp", "0", "--warm", "0", "--seconds", "10", "--out", "report.json"]
    ended = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, *load],
        cwd=tmp_path,
        env=environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode in {1, 2}, said
    assert f"the disk of {tmp_path}/small/stud-load-" in said
    if ended.returncode == 1:
        assert any("is full: make room there" in note for note in read(tmp_path / "report.json").notes)

"""Files that commands write: whole or not at all, and what was there stays until then."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stud_cli.bench import command
from stud_cli.exit_codes import CouldNotRun
from stud_cli.files import require_places, write_whole
from stud_load import LoadPlan, Report
from stud_load.report import Machine, as_json
from tests.unit.cli.test_commands import run

LEAST_BYTES = 100
"""What still fits: less than any of the files."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    async def figures_of(*_: object) -> dict[str, float]:
        return {"times_pokerkit": 18.0}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "figures_of", figures_of)
    Path("ok.json").write_bytes(as_json(Report(LoadPlan(seconds=2), Machine(2, "x", "3"), 0, 2.0)))
    return tmp_path


@contextmanager
def on_a_full_disk() -> Iterator[None]:
    """No file may grow beyond some bytes: as on a full disk, the rest of a write is refused."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LEAST_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    "words",
    [
        ["load", "merge", "ok.json", "--out", "kept"],
        ["load", "merge", "ok.json", "--html", "kept"],
        ["load", "html", "ok.json", "kept"],
        ["bench", "--brief", "--only", "engine", "--out", "kept"],
        ["bench", "--brief", "--only", "engine", "--record", "kept"],
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_full_disk_destroys_nothing_and_leaves_nothing_half_written(here: Path, words: list[str], is_there: bool):
    before = "{}"
    if is_there:
        Path("kept").write_text(before)
    names = sorted(here.iterdir())
    with on_a_full_disk():
        ended = run(*words)
    assert ended.exit_code == 2, ended.output
    assert "kept cannot be written: File too large" in " ".join(ended.stderr.split())
    assert sorted(here.iterdir()) == names
    assert not is_there or Path("kept").read_text() == before
    assert run(*words).exit_code == 0
    assert Path("kept").stat().st_size > LEAST_BYTES


def test_rights_and_links_stay_as_they_are(here: Path):
    Path("real").write_text("old")
    Path("real").chmod(0o640)
    Path("link").symlink_to("real")
    write_whole(Path("link"), b"new")
    assert Path("link").is_symlink()
    assert (Path("real").read_text(), Path("real").stat().st_mode & 0o777) == ("new", 0o640)
    write_whole(Path("link"), b"newer", 0o600)
    assert Path("real").stat().st_mode & 0o777 == 0o600
    umask = os.umask(0o022)
    try:
        write_whole(Path("fresh"), b"new")
    finally:
        os.umask(umask)
    assert Path("fresh").stat().st_mode & 0o777 == 0o644


def test_a_device_is_written_to_and_not_replaced():
    require_places(Path(os.devnull))
    write_whole(Path(os.devnull), b"gone")
    assert Path(os.devnull).is_char_device()
    with pytest.raises(CouldNotRun, match="/dev/full cannot be written: No space left on device"):
        write_whole(Path("/dev/full"), b"x" * 10_000)


@pytest.mark.parametrize("path", [".", "", "ok.json/below", "no/such/file", "a/../b/c"])
def test_a_place_that_cannot_be_is_told_beforehand(path: str):
    with pytest.raises(CouldNotRun, match="cannot be written: name a file in a directory that can"):
        require_places(Path("fine"), Path(path))
    require_places(Path("fine"), None, Path("ok.json"))


@pytest.mark.parametrize("words", [["load", "merge", "ok.json", "--out", "."], ["load", "html", "ok.json", "no/where"]])
def test_reports_are_not_written_where_no_file_can_be(words: list[str]):
    ended = run(*words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "cannot be written" in ended.stderr

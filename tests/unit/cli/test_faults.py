"""Nothing that breaks looks like a finding: whatever escapes a command ends it with 2 and one sentence."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer
from typer.testing import CliRunner, Result

from stud_cli.faults import CarefulGroup
from stud_cli.main import app
from tests.unit.cli.test_commands import commands

STUD = Path(sys.executable).with_name("stud")
NAMES = [name for name, _ in commands(typer.main.get_command(app))]


class PlantedError(Exception):
    """No command knows it."""


def planted(*_: Any, **__: Any) -> NoReturn:
    raise PlantedError("a secret of nobody's")


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_in_any_command_ends_it_with_2(name: str, capfd: pytest.CaptureFixture[str]):
    root = typer.main.get_command(app)
    command = dict(commands(root))[name]
    command.params, command.invoke = [], planted
    with pytest.raises(SystemExit) as ended:
        root.main(name.split(), prog_name="stud")
    told = capfd.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert "Traceback" in told.err
    assert "PlantedError: a secret of nobody's" in told.err
    assert "error a fault of `stud` itself" in " ".join(told.err.split())


def ended_by(raising: Callable[[], None]) -> Result:
    made = typer.Typer(cls=CarefulGroup)
    made.callback()(lambda: None)
    made.command("go")(raising)
    return CliRunner().invoke(made, ["go"])


def raises(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "var/logs"), "Permission denied (var/logs)"),
        (BrokenPipeError(), "nobody reads any more"),
    ],
)
def test_what_the_machine_does_not_allow_needs_no_traceback(error: OSError, told: str):
    ended = ended_by(raises(error))
    assert ended.exit_code == 2
    (line,) = ended.stderr.splitlines()
    assert told in line


@pytest.mark.parametrize("error", [TimeoutError(), KeyError("x"), ExceptionGroup("some", [ValueError("one")])])
def test_everything_else_is_told_with_its_place(error: Exception):
    ended = ended_by(raises(error))
    assert ended.exit_code == 2
    assert "Traceback" in ended.stderr
    assert f"({type(error).__name__}): please report it" in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("error", "code"),
    [(typer.Exit(0), 0), (typer.Exit(1), 1), (typer.BadParameter("no"), 2), (KeyboardInterrupt(), 130)],
)
def test_what_a_command_means_to_say_passes(error: BaseException, code: int):
    ended = ended_by(raises(error))
    assert ended.exit_code == code
    assert "fault" not in ended.stderr


@pytest.mark.parametrize("words", [["rules", "playnow"], ["rules", "playnow", "--json"], ["demo", "--ruleset", "razz"]])
def test_a_reader_that_went_away_is_no_finding(words: list[str], tmp_path: Path):
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run(
            [STUD, *words], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(write)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr

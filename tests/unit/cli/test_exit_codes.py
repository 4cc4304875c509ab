"""Nothing that breaks looks like a finding: whatever escapes a command ends it with 2 and one sentence."""

import ast
import contextlib
import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer
from typer.testing import CliRunner, Result

from stud_cli import exit_codes
from stud_cli.exit_codes import CarefulGroup, CouldNotRun, _all_is_written, said_as
from stud_cli.main import app
from tests.unit.cli.test_commands import commands
from tools.sources import syntax_tree

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


def test_what_a_command_cannot_do_is_one_sentence():
    ended = ended_by(raises(CouldNotRun("there is no log: name one")))
    assert (ended.exit_code, ended.stderr) == (2, "error there is no log: name one\n")


def test_a_failure_gets_the_words_of_who_knows_what_was_tried():
    denied = PermissionError(errno.EACCES, "Permission denied", "var/keys")
    for error, told in ((denied, "Permission denied (var/keys)"), (ValueError("no key"), "no key")):
        with pytest.raises(CouldNotRun, match=re.escape(f"keys cannot be made: {told}")):  # noqa: SIM117
            with said_as("keys cannot be made: {}", OSError, ValueError):
                raise error
    with pytest.raises(KeyError), said_as("keys cannot be made: {}", OSError):
        raise KeyError


@pytest.mark.untraced  # it looks at the sources; parsing them while traced, Python 3.11 once miscounted its depth
def test_no_command_makes_an_exit_code_of_a_failure_by_itself():
    for path in Path(exit_codes.__file__).parent.rglob("*.py"):
        handlers = [node for node in ast.walk(syntax_tree(path.read_text())) if isinstance(node, ast.ExceptHandler)]
        texts = [ast.unparse(handler) for handler in handlers if path.name != "exit_codes.py"]
        assert [text for text in texts if "could_not_run(" in text or "typer.Exit(" in text] == []


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


HANDS = Path(__file__).resolve().parents[2] / "golden" / "hands" / "kingsclub.jsonl"
ADJUDICATE = [sys.executable, "-m", "stud_cli.hands.adjudicate"]
SAYING = [
    *([STUD, "rules", "playnow"], [STUD, "rules", "playnow", "--json"], [STUD, "demo", "--ruleset", "razz"]),
    *([STUD], [STUD, "--help"], [STUD, "nosuch"], *([STUD, *name.split(), "--help"] for name in NAMES[::4])),
    *([*ADJUDICATE, HANDS], [*ADJUDICATE, HANDS, "--json"], [*ADJUDICATE, "--help"], [*ADJUDICATE, "--nosuch"]),
]
"""Fine, found something, wrong words, help: whatever it is, it is told on one of the two outputs."""


@contextlib.contextmanager
def nobody() -> Iterator[int]:
    """Where nobody reads."""
    read, write = os.pipe()
    os.close(read)
    try:
        yield write
    finally:
        os.close(write)


@contextlib.contextmanager
def full() -> Iterator[int]:
    """Where nothing more can be written."""
    to = os.open("/dev/full", os.O_WRONLY)
    try:
        yield to
    finally:
        os.close(to)


@pytest.mark.process
@pytest.mark.untraced
@pytest.mark.parametrize("sink", [nobody, full])
@pytest.mark.parametrize("words", SAYING, ids=lambda words: " ".join(map(str, words[-2:])))
def test_what_cannot_be_told_is_no_finding(
    words: list[Any], sink: Callable[[], contextlib.AbstractContextManager[int]], tmp_path: Path
):
    """Neither where only standard output is gone nor where both are."""
    with sink() as to:
        both = subprocess.run(words, cwd=tmp_path, stdout=to, stderr=to, check=False)
        ended = subprocess.run(words, cwd=tmp_path, stdout=to, stderr=subprocess.PIPE, text=True, check=False)
    assert (both.returncode, ended.returncode) == (2, 2)
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


def test_what_could_not_be_written_does_not_fail_again_at_the_end(monkeypatch: pytest.MonkeyPatch):
    with open("/dev/full", "w") as stream:  # noqa: PTH123 - what Python makes of standard output
        monkeypatch.setattr(sys, "stdout", stream)
        stream.write("not all of it was told")
        assert not _all_is_written()
        assert _all_is_written()
    monkeypatch.setattr(sys, "stdout", None)  # closed by who started it
    assert _all_is_written()


@pytest.mark.process
@pytest.mark.parametrize("words", [[STUD, "adjudicate", HANDS], [*ADJUDICATE, HANDS]], ids=["stud", "python -m"])
def test_a_finding_that_is_told_is_one(words: list[Any], tmp_path: Path):
    line = HANDS.read_text().splitlines()[0]
    (tmp_path / "bad.jsonl").write_text(line.replace('"pot_total"', '"pot"'))
    assert subprocess.run([*words[:-1], "bad.jsonl"], cwd=tmp_path, capture_output=True, check=False).returncode == 1

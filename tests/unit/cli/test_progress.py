"""What takes long is shown from the third second on, and given up only when it gets on no more."""

import io
import time
from collections.abc import Iterator

import pytest
from rich.console import Console

from stud_cli.local import progress as module
from stud_cli.local.progress import Patience, Waiting


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    yield clock
    assert time.monotonic() != clock.now


def test_patience_lasts_as_long_as_there_is_progress(clock: Clock):
    patience = Patience(10.0)
    for progress in range(100):
        assert patience.heard(progress)
        assert not patience.heard(progress)
        clock.now += 9.0
        assert not patience.is_over
    for less in (99, 98, 0):
        assert not patience.heard(less)
    clock.now += 2.0
    assert patience.is_over


@pytest.mark.parametrize("share", [None, 0.25])
def test_who_reads_lines_gets_one_from_time_to_time(clock: Clock, share: float | None):
    said = io.StringIO()
    with Waiting(Console(file=said)) as shown:
        for _ in range(120):
            shown.show("the log is read", share)
            clock.now += 0.1
    done = "" if share is None else " 25%"
    assert said.getvalue() == f"the log is read{done} (5 s)\nthe log is read{done} (10 s)\n"


@pytest.mark.parametrize("share", [None, 0.25])
def test_who_looks_on_sees_a_bar_after_two_seconds(clock: Clock, share: float | None):
    said = io.StringIO()
    with Waiting(Console(file=said, force_terminal=True, width=100)) as shown:
        shown.show("the log is read", share)
        clock.now += module.SHOWN_AFTER_S - 0.1
        shown.show("the log is read", share)
        assert said.getvalue() == ""
        clock.now += 0.2
        for _ in range(3):
            shown.show("the log is read", share)
    assert "the log is read" in said.getvalue()
    assert ("25%" in said.getvalue()) == (share is not None)


def test_without_a_console_nothing_is_shown(clock: Clock):
    with Waiting() as shown:
        clock.now += 100.0
        shown.show("the log is read")

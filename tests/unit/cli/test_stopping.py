"""The first signal interrupts, later ones change nothing, and what is being stopped is stopped to its end."""

import asyncio
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stud_cli.local.stopping import SIGNALS, OneStop, run_with_one_stop, to_its_end
from stud_cli.local.system import LocalSystemError


@pytest.fixture(autouse=True)
def handlers() -> Iterator[list[Any]]:
    """What signals do before a test, and again after it."""
    before = [signal.getsignal(number) for number in SIGNALS]
    yield before
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)


def signalled(number: int, times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_what_runs_is_interrupted_and_cleans_up_whatever_else_comes(number: signal.Signals):
    done: list[str] = []

    async def work() -> None:
        asyncio.get_running_loop().call_later(0.01, signalled, number)
        try:
            await asyncio.Event().wait()
        finally:
            for other in SIGNALS:
                signalled(other, 2)
            await asyncio.sleep(0.01)
            done.append("stopped")

    with pytest.raises(KeyboardInterrupt):
        run_with_one_stop(work())
    assert done == ["stopped"]
    for other in SIGNALS:  # what is left of the process is not cut off either: it has an exit code to tell
        signalled(other)


@pytest.mark.parametrize("number", SIGNALS)
def test_what_comes_before_is_interrupted_as_well(number: signal.Signals):
    with pytest.raises(KeyboardInterrupt), OneStop():
        signalled(number)


@pytest.mark.parametrize("number", SIGNALS)
def test_what_comes_after_is_not_cut_off(number: signal.Signals, handlers: list[Any]):
    async def work() -> str:
        return "fine"

    with OneStop() as stop:
        assert stop.run(work()) == "fine"
        signalled(number, 3)
    assert [signal.getsignal(each) for each in SIGNALS] == handlers


@pytest.mark.parametrize("number", SIGNALS)
def test_an_ordered_stop_at_the_regular_end_is_not_cut_off(number: signal.Signals):
    done: list[str] = []

    async def end() -> None:
        signalled(number)
        await asyncio.sleep(0.01)
        done.append("stopped")

    with pytest.raises(KeyboardInterrupt):
        run_with_one_stop(to_its_end(end()))
    assert done == ["stopped"]


def test_in_a_thread_signals_are_left_alone():
    async def work() -> list[object]:
        return [signal.getsignal(number) for number in SIGNALS]

    before = [signal.getsignal(number) for number in SIGNALS]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: run_with_one_stop(work())).result() == before


def test_who_was_started_to_outlive_their_terminal_does():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with OneStop():
            signalled(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_a_fault_of_the_stop_is_told():
    async def end() -> None:
        raise LocalSystemError("no")

    with pytest.raises(LocalSystemError):
        await to_its_end(end())


def test_no_command_that_starts_something_has_a_way_of_its_own():
    """Where a log or a system may be started, it is stopped as all of them are."""
    folder = Path(__file__).resolve().parents[3] / "libs" / "stud_cli"
    for path in folder.rglob("*.py"):
        text = path.read_text()
        if any(words in text for words in ("open_log(", "LocalSystem(")) and path.name not in {"log.py", "system.py"}:
            assert "asyncio.run(" not in text, path

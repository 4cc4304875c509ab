"""What a load run says of the system that it started itself: what ended, what fills up, what the log says of itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stud_cli.exit_codes import CouldNotRun
from stud_cli.load import at_the_end, command, own_system
from stud_cli.load.own_system import troubles_of
from stud_cli.load.places import Place
from stud_client import StudError
from stud_eventlog.trouble import Trouble, refused
from stud_eventlog.types import LogUnavailable
from stud_load import LoadPlan, Report
from stud_load.report import Machine

FULL = "the disk of x is full: make room there, what was acknowledged is safe"


class Log:
    """A log that says of itself what a test wants."""

    def __init__(self, trouble: Trouble | Exception | None = None) -> None:
        self._trouble = trouble

    async def connect(self, _url: str, **_: object) -> "Log":
        return self

    async def trouble(self, _service: str) -> Trouble | None:
        if isinstance(self._trouble, Exception):
            raise self._trouble
        return self._trouble

    async def close(self) -> None:
        pass


def system(*, server: bool = True, **ended: int | None) -> Any:
    return SimpleNamespace(
        server=SimpleNamespace(running=server, why_it_ended=lambda: FULL),
        processes={name: SimpleNamespace(returncode=code) for name, code in ended.items()},
        last_words=lambda name: f"the last words of {name}",
        data_dir=Path(),
        redis_url="redis://nowhere",
    )


@pytest.mark.parametrize(
    ("there", "disk", "trouble", "said"),
    [
        (system(table=None), None, None, []),
        (system(table=None), FULL, None, [FULL]),
        (system(server=False, table=None), FULL, None, [f"the log's server died: {FULL}"]),
        (system(table=1, wallet=None), None, None, ["table ended with 1: the last words of table"]),
        (system(table=-9), FULL, None, [FULL, "table ended with -9: the last words of table"]),
        (system(), None, refused("MISCONF", "cannot save"), ["the log is in trouble, LOG_DISK: MISCONF cannot save"]),
        (system(), None, refused("OOM", "used up"), ["the log is in trouble, LOG_OUT_OF_MEMORY: OOM used up"]),
        (system(), None, LogUnavailable("it is silent"), ["the log cannot be asked how it is: it is silent"]),
    ],
)
async def test_what_keeps_a_system_from_playing_on_is_said(
    monkeypatch: pytest.MonkeyPatch, there: Any, disk: str | None, trouble: Any, said: list[str]
):
    monkeypatch.setattr(own_system, "full_disk", lambda _: disk)
    monkeypatch.setattr(own_system, "RedisEventLog", Log(trouble))
    told = await troubles_of(there)
    assert len(told) == len(said)
    assert all(one.startswith(words) for one, words in zip(told, said, strict=True)), told


def report() -> Report:
    return Report(LoadPlan(seconds=2), Machine(2, "x", "3"), 0, 2.0)


@pytest.fixture
def with_troubles(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def opened(*_: object) -> AsyncIterator[Place]:
        async def troubles() -> list[str]:
            return [FULL]

        yield Place({}, Path(), {}, troubles=troubles)

    monkeypatch.setattr(command, "opened", opened)


@pytest.mark.usefixtures("with_troubles")
async def test_a_report_notes_what_its_system_suffered(monkeypatch: pytest.MonkeyPatch):
    async def play(*_: object) -> Report:
        return report()

    monkeypatch.setattr(command, "play", play)
    told = await command._load(LoadPlan(), 1, (None, "", None), quiet=True)
    assert told.notes == [FULL]


@pytest.mark.usefixtures("with_troubles")
@pytest.mark.parametrize("error", [StudError("LOG_UNAVAILABLE", "no log"), CouldNotRun("driver 2: no log")])
async def test_a_run_that_has_no_report_says_what_its_system_suffered(
    monkeypatch: pytest.MonkeyPatch, error: Exception
):
    async def play(*_: object) -> Report:
        raise error

    monkeypatch.setattr(command, "play", play)
    with pytest.raises(CouldNotRun, match=r"no log\nthe disk of x is full"):
        await command._load(LoadPlan(), 1, (None, "", None), quiet=True)


async def test_a_log_that_ends_while_it_is_looked_at_costs_no_report(monkeypatch: pytest.MonkeyPatch):
    async def audit_log(*_: object) -> None:
        raise LogUnavailable("it ended")

    monkeypatch.setattr(at_the_end, "RedisEventLog", Log())
    monkeypatch.setattr(at_the_end, "audit_log", audit_log)
    told = report()
    await at_the_end.look_at_the_log(told, Place({}, Path(), {}, "redis://x"), None)
    assert told.checks == {"audit": "not done: it ended", "verify": "not done: it ended"}

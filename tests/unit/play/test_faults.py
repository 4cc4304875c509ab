"""A fault of the screen: it ends, says where, and not with which values; the command says that it could not run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.exit_codes import CouldNotRun
from stud_cli.play.screen import TableScreen
from stud_client import StudError
from tests.support.replayed import cards_in
from tests.support.told_tables import updates

CANARY = "ThisIsNobodysBusiness"


class Told:
    """Updates that come, and then nothing or an end."""

    trouble: StudError | None = None

    def __init__(self, *said: pb.TableUpdate, end: Exception | None = None) -> None:
        self._said, self._end = said, end

    async def __aiter__(self) -> AsyncIterator[pb.TableUpdate]:
        for update in self._said:
            yield update
        if self._end is not None:
            raise self._end
        await asyncio.Event().wait()


class Broken(TableScreen):
    """Breaks when a key is pressed, with something in its hands."""

    async def action_leave(self) -> None:
        canary = CANARY
        raise RuntimeError(len(canary))


async def test_a_fault_is_told_without_the_values_around_it(capsys: pytest.CaptureFixture[str]):
    following: Any = Told(*updates())
    app = Broken(following)
    written = StringIO()
    app.error_console = Console(file=written, width=120)
    with pytest.raises(RuntimeError):
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("q")
    told = written.getvalue() + capsys.readouterr().err
    assert "RuntimeError" in told
    assert CANARY not in told.replace("canary = CANARY", "")
    assert cards_in(told) == set()
    with pytest.raises(CouldNotRun, match="a fault of the screen"):
        app.check()


async def test_a_table_that_cannot_be_followed_says_why():
    following: Any = Told(end=StudError("UNKNOWN_TABLE", "there is no such table"))
    app = TableScreen(following)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.ended == "there is no such table: q quits"
        await pilot.press("q")
    app.check()

"""A whole log is read a page ahead: never more, and nothing is left behind by whoever stops early."""

import asyncio
import os
from typing import Any

import pytest

from stud_eventlog import commits as module
from stud_eventlog.entries import Row
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import Append, Head, LogUnavailable

STREAM = "{s01}:table:t-1"


class Watched(MemoryEventLog):
    """Notes what is asked for; fails at the page after ``fails_after``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.asked: list[int] = []
        self.fails_after = -1

    async def _rows(self, stream: str, after: int, limit: int) -> list[Row]:
        self.asked.append(after)
        await asyncio.sleep(0)
        if after == self.fails_after:
            raise LogUnavailable("gone")
        return await super()._rows(stream, after, limit)


@pytest.fixture
async def log(monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setattr(module, "PAGE", 3)
    log, head = Watched(), Head()
    for _ in range(8):
        head = await log.append(Append(STREAM, head.version, head.hash, os.urandom(16), b"body"))
    return log


async def test_the_next_page_is_on_its_way_and_no_other(log: Watched):
    asked = []
    async for commit in log.read_all(STREAM):
        await asyncio.sleep(0.001)
        asked.append((commit.version, max(log.asked)))
    assert asked == [(1, 3), (2, 3), (3, 3), (4, 6), (5, 6), (6, 6), (7, 8), (8, 8)]


async def test_a_page_that_cannot_be_had_is_told_after_the_one_before_it(log: Watched):
    log.fails_after = 3
    reading = log.read_all(STREAM)
    assert [(await anext(reading)).version for _ in range(3)] == [1, 2, 3]
    with pytest.raises(LogUnavailable):
        await anext(reading)


@pytest.mark.parametrize("fails_after", [-1, 3])
async def test_whoever_stops_early_leaves_no_question_behind(log: Watched, fails_after: int):
    log.fails_after = fails_after
    before = asyncio.all_tasks()
    reading = log.read_all(STREAM)
    assert (await anext(reading)).version == 1
    await reading.aclose()  # type: ignore[attr-defined]
    assert asyncio.all_tasks() == before

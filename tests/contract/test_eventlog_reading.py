"""Reading a part of a log: onwards in pages, backwards from its end, one commit; also where some are missing."""

from collections.abc import AsyncIterator

import pytest

from stud_eventlog import keys
from stud_eventlog.log import CommitLog, EventLog
from stud_eventlog.reading import commit_at, read_backwards, read_forwards, read_pages
from stud_eventlog.types import StoredCommit
from tests.support.eventlogs import Edit, World, write

STREAM = keys.table_log(7, "t-1")


async def versions(commits: AsyncIterator[StoredCommit]) -> list[int]:
    return [commit.version async for commit in commits]


async def pages(read: AsyncIterator[list[StoredCommit]]) -> list[list[int]]:
    return [[commit.version for commit in page] async for page in read]


async def of(log: EventLog, commits: int) -> CommitLog:
    await write(log, STREAM, *(b"%d" % n for n in range(1, commits + 1)))
    return log


def without(*gone: int) -> Edit:
    return lambda commit, stored: None if commit.version in gone else (commit, stored)


@pytest.mark.parametrize(
    ("after", "up_to", "read"),
    [
        (0, None, [[1, 2, 3], [4, 5, 6], [7]]),
        (2, None, [[3, 4, 5], [6, 7]]),
        (4, None, [[5, 6, 7]]),
        (7, None, []),
        (99, None, []),
        (0, 7, [[1, 2, 3], [4, 5, 6], [7]]),
        (0, 4, [[1, 2, 3], [4]]),
        (1, 4, [[2, 3, 4]]),
        (3, 99, [[4, 5, 6], [7]]),
        (4, 4, []),
        (5, 2, []),
    ],
)
async def test_pages_are_full_until_the_end(log: EventLog, after: int, up_to: int | None, read: list[list[int]]):
    await of(log, 7)
    assert await pages(read_pages(log, STREAM, after, up_to=up_to, page=3)) == read
    commits = read_forwards(log, STREAM, after, up_to=up_to, page=3)
    assert await versions(commits) == [version for page in read for version in page]


@pytest.mark.parametrize("page", [1, 2, 3, 7, 500])
async def test_backwards_is_the_same_from_its_end(log: EventLog, page: int):
    await of(log, 7)
    there = [commit async for commit in read_forwards(log, STREAM, page=page)]
    assert [commit.body for commit in there] == [b"%d" % n for n in range(1, 8)]
    assert [commit async for commit in read_backwards(log, STREAM, page=page)] == there[::-1]


async def test_backwards_reads_no_further_than_is_asked_for(log: EventLog, monkeypatch: pytest.MonkeyPatch):
    await of(log, 7)
    asked, read = list[tuple[int, int]](), log.read

    async def noted(stream: str, after: int = 0, limit: int = 500) -> list[StoredCommit]:
        asked.append((after, limit))
        return await read(stream, after, limit)

    monkeypatch.setattr(log, "read", noted)
    commits = read_backwards(log, STREAM, page=3)
    assert [(await anext(commits)).version for _ in range(4)] == [7, 6, 5, 4]
    assert asked == [(4, 3), (1, 3)]


async def test_a_log_that_has_not_begun_gives_nothing(log: EventLog):
    assert await pages(read_pages(log, STREAM)) == []
    assert await versions(read_backwards(log, STREAM)) == []
    assert await commit_at(log, STREAM, 1) is None


async def test_missing_commits_are_passed_over_and_none_comes_twice(world: World):
    log = await of(await world.open(), 9)
    await world.rewrite(STREAM, without(1, 4, 5, 6))
    assert await versions(read_forwards(log, STREAM, page=2)) == [2, 3, 7, 8, 9]
    assert await versions(read_forwards(log, STREAM, up_to=5, page=2)) == [2, 3]
    assert await versions(read_backwards(log, STREAM, page=2)) == [9, 8, 7, 3, 2]
    assert await commit_at(log, STREAM, 4) is None


async def test_one_commit_is_the_one_with_that_version(log: EventLog):
    await of(log, 3)
    found = await commit_at(log, STREAM, 2)
    assert found is not None
    assert (found.version, found.body) == (2, b"2")
    assert [await commit_at(log, STREAM, version) for version in (-1, 0, 4)] == [None] * 3

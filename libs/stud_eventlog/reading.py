"""Reading a part of a log: onwards in pages, backwards from its end, or one commit. Over any `log.CommitLog`.

Nothing is checked here, as with `CommitLog.read`: it is for readers that must go on where a chain is broken, or check
what they read against hashes of their own. Whoever folds a log and trusts what comes out reads it with
`CommitLog.read_all`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from stud_eventlog.log import PAGE, CommitLog
from stud_eventlog.types import StoredCommit


async def read_pages(
    log: CommitLog, stream: str, after: int = 0, *, up_to: int | None = None, page: int = PAGE
) -> AsyncIterator[list[StoredCommit]]:
    """Yields the commits with versions above `after`, and not above `up_to`, that many at a time; never an empty page.

    Between two pages others have their turn, however fast the log answers. Missing commits are skipped.
    """
    while up_to is None or after < up_to:
        limit = page if up_to is None else min(page, up_to - after)
        found = await log.read(stream, after, limit)
        commits = found if up_to is None else [commit for commit in found if commit.version <= up_to]
        if commits:
            yield commits
        if len(commits) < limit:
            return
        after = commits[-1].version
        await asyncio.sleep(0)


async def read_forwards(
    log: CommitLog, stream: str, after: int = 0, *, up_to: int | None = None, page: int = PAGE
) -> AsyncIterator[StoredCommit]:
    """The same, commit by commit."""
    async for commits in read_pages(log, stream, after, up_to=up_to, page=page):
        for commit in commits:
            yield commit


async def read_backwards(log: CommitLog, stream: str, *, page: int = PAGE) -> AsyncIterator[StoredCommit]:
    """Yields a log's commits from the last one there is now to the first, reading that many at a time: for readers that
    find what they look for near the end of a long log. Raises ChainBroken when the last one was deleted.
    """
    end = (await log.head(stream)).version
    while end > 0:
        start = max(end - page, 0)
        for commit in reversed(await log.read(stream, start, end - start)):
            if commit.version <= end:  # where some are missing a page reaches into the one before
                yield commit
        end = start
        await asyncio.sleep(0)


async def commit_at(log: CommitLog, stream: str, version: int) -> StoredCommit | None:
    """Returns the commit with this version, None where there is none."""
    found = await log.read(stream, version - 1, 1) if version > 0 else []
    return found[0] if found and found[0].version == version else None

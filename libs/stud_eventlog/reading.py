"""Reading a log so that a gap, an edit or a foreign commit cannot pass unnoticed; for every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from stud_eventlog.entries import Row
from stud_eventlog.types import NO_HASH, ChainBroken, Head, StoredCommit

PAGE = 500
"""Commits per read: about a megabyte, far below what a socket timeout allows."""

ReadRows = Callable[[str, int, int], Awaitable[list[Row]]]
ReadHead = Callable[[str], Awaitable[Head]]


async def verified(stream: str, after: int, rows: ReadRows, head: ReadHead) -> AsyncIterator[StoredCommit]:
    """Yields the commits above `after`; raises ChainBroken at the first that does not follow from the one before, and
    for a log that was emptied, or whose last commit was deleted.
    """
    version, hash_before = after, NO_HASH if after == 0 else None
    if after > 0:
        before = await rows(stream, after - 1, 1)
        if before and before[0][0].version == after:
            hash_before = before[0][0].hash
    while page := await rows(stream, version, PAGE):
        for commit, stored_hash in page:
            version += 1
            check_link(version, hash_before, commit, stored_hash)
            hash_before = stored_hash
            yield commit
    await head(stream)  # a server remembers the last version there was; if its commit was deleted the hash is missing


def check_link(version: int, hash_before: bytes | None, commit: StoredCommit, stored_hash: bytes) -> None:
    """`hash_before` is None when the commit before is no longer in the log."""
    if commit.version != version:
        raise ChainBroken(commit.stream, version, f"it is missing, the next one there is {commit.version}")
    if hash_before is not None and commit.prev_hash != hash_before:
        raise ChainBroken(commit.stream, version, "its prev_hash should be the hash of the commit before it")
    if commit.hash != stored_hash:
        raise ChainBroken(commit.stream, version, "its bytes should give the hash that is stored beside them")

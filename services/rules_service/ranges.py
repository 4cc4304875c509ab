"""The pieces of a log that a DeckClosed names, read in one go and held to the hashes that pin them."""

from __future__ import annotations

from collections.abc import Sequence

from rules_service.findings import CannotVerify, Code, Obstacle
from rules_service.redecide import Recorded
from stud_core.deck_events import LogRef
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import read_forwards
from stud_eventlog.types import StoredCommit
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit

MAX_COMMITS = 20_000
"""Commits of one range: far above any hand with what happens between two; a bigger one is a mistake or an attack."""


class Broken(Exception):
    """The bytes of a log at ``version`` are not those that the hashes around them were made of."""

    def __init__(self, code: Code, stream: str, version: int) -> None:
        super().__init__(f"{code} {stream} {version}")
        self.code, self.stream, self.version = code, stream, version


async def read_range(log: CommitLog, ref: LogRef) -> list[StoredCommit]:
    """Return the commits of a range; raises CannotVerify when some are not there, Broken for an impossible range."""
    count = ref.to_version - ref.from_version + 1
    if not 0 < count <= MAX_COMMITS or ref.from_version < 1:
        raise Broken(Code.WRONG_RANGE, ref.stream, max(ref.from_version, 0))
    commits: list[StoredCommit] = []
    async for commit in read_forwards(log, ref.stream, ref.from_version - 1, up_to=ref.to_version):
        check_present(ref.stream, ref.from_version + len(commits), commit)
        commits.append(commit)
    if len(commits) < count:
        raise CannotVerify(Obstacle.MISSING_LOG, ref.stream, ref.from_version + len(commits), "it is missing")
    return commits


def check_present(stream: str, version: int, commit: StoredCommit) -> None:
    """Raise CannotVerify unless the commit is the next one."""
    if commit.version != version:
        raise CannotVerify(Obstacle.MISSING_LOG, stream, version, f"the next one there is {commit.version}")


def decode_range(commits: Sequence[StoredCommit], before: bytes | None, last_hash: bytes | None) -> list[Recorded]:
    """Check the hash chain and decode.

    ``before`` is the head hash before the first commit and ``last_hash`` the one after the last, None where they are
    not known. Raises Broken when the chain does, CannotVerify for what this build cannot read: in this order, since
    edited bytes may well be unreadable.
    """
    hashes: list[bytes] = []
    for commit in commits:
        if before is not None and commit.prev_hash != before:
            # The fault is in the bytes before: they give another hash than the one this commit was built on.
            raise Broken(Code.CHAIN_BROKEN, commit.stream, max(commit.version - 1, 1))
        before = commit.hash
        hashes.append(before)
    if last_hash is not None and before != last_hash:
        raise Broken(Code.CHAIN_BROKEN, commits[-1].stream, commits[-1].version)
    return [decode(commit, head_hash) for commit, head_hash in zip(commits, hashes, strict=True)]


def decode(commit: StoredCommit, head_hash: bytes) -> Recorded:
    """Decode one commit; raises CannotVerify when this build cannot read it."""
    try:
        decoded = decode_commit(commit.body)
    except WireError as why:
        raise CannotVerify(Obstacle.UNKNOWN_EVENT, commit.stream, commit.version, str(why)) from why
    return Recorded(commit.version, head_hash, decoded.events, decoded.meta)

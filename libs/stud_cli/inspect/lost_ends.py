"""Finds a log that has lost its end: some other log was written because of a commit that is no longer there.

Every commit names the message that caused it. A chain of hashes shows that nothing in the middle of a log was changed;
what was cut off at its end shows only in what others made of it.
"""

from __future__ import annotations

from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.types import ChainBroken
from stud_wire.commits import DecodedCommit


class Causes:
    """The last version of each log that another one rests on."""

    def __init__(self) -> None:
        self._named: dict[str, int] = {}

    def note(self, commit: DecodedCommit) -> None:
        """Take in what a commit rests on."""
        if commit.meta.cause is not None:
            stream, version = commit.meta.cause
            self._named[stream] = max(version, self._named.get(stream, 0))

    def merge(self, other: Causes) -> None:
        """Take in what another reading found."""
        for stream, version in other._named.items():
            self._named[stream] = max(version, self._named.get(stream, 0))

    async def cut_off(self, log: CommitLog) -> list[tuple[str, int, str]]:
        """Return (whose it is, version of its end, what is missing) of each log that ends too early.

        Ends are looked up now, after everything that names them was read: a log that grows raises no alarm.
        """
        found = []
        for stream, version in sorted(self._named.items()):
            try:
                end = (await log.head(stream)).version
            except ChainBroken as error:
                found.append((whose(stream), error.version, str(error)))
                continue
            if end < version:
                what = f"{stream} ends at version {end}, but other logs rest on its version {version}"
                found.append((whose(stream), end, what))
        return found


def whose(stream: str) -> str:
    """What a log is about, as problems name it."""
    name = keys.parse_stream(stream)
    if name is None:
        return stream
    if name.table_id:
        return name.table_id
    return f"ledger {name.currency}" if name.currency else f"verdicts of shard {name.shard}"

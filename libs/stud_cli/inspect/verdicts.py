"""Reads the referee's log for tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable

import msgspec

from stud_cli.inspect.lost_ends import Causes
from stud_core import verdict_events as ve
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_wire.commits import decode_commit

Final = ve.HandVerified | ve.HandResolved


class Verdicts(msgspec.Struct):
    """Final verdicts and disputes by table and hand; versions are those of the verdict log."""

    final: dict[str, dict[int, Final]] = msgspec.field(default_factory=lambda: defaultdict(dict))
    disputed: dict[str, dict[int, ve.HandDisputed]] = msgspec.field(default_factory=lambda: defaultdict(dict))
    versions: dict[tuple[str, int], int] = msgspec.field(default_factory=dict)
    doubled: list[tuple[str, int]] = msgspec.field(default_factory=list)
    causes: Causes = msgspec.field(default_factory=Causes)

    @property
    def open_disputes(self) -> int:
        """How many hands are disputed and not resolved, whatever their tables' logs say."""
        return sum(len(hands.keys() - self.final.get(table, {}).keys()) for table, hands in self.disputed.items())


def whole(event: Final) -> Final:
    """All of a verdict."""
    return event


async def read_verdicts(
    log: CommitLog,
    shards: Iterable[int] = range(keys.SHARDS),
    into: Verdicts | None = None,
    keep: Callable[[Final], Final] = whole,
) -> Verdicts:
    """Read the verdict logs of some shards, all by default; ``keep`` says what of each is kept. Raises ChainBroken,
    WireError.
    """
    out = Verdicts() if into is None else into
    for shard in shards:
        async for version, event in _events(log, keys.verdicts(shard), out.causes):
            if isinstance(event, ve.HandVerified | ve.HandResolved):
                if event.hand_no in out.final[event.table]:
                    out.doubled.append((event.table, event.hand_no))
                    continue
                out.final[event.table][event.hand_no] = keep(event)
                out.versions[event.table, event.hand_no] = version
            elif isinstance(event, ve.HandDisputed):
                out.disputed[event.table][event.hand_no] = event
    return out


async def _events(log: CommitLog, stream: str, causes: Causes) -> AsyncIterator[tuple[int, object]]:
    async for stored in log.read_all(stream):
        commit = decode_commit(stored.body)
        causes.note(commit)
        for event in commit.events:
            yield stored.version, event

"""What a ledger's entries add up to, account by account, as of a version.

Everything comes from the entries alone, each read and added once in the life of the process: the state that the wallet
decides by is not looked at. A long ledger is summed once for all who ask meanwhile, in a part of the loop's time, and
goes on being summed after they give up: whoever asks again finds how far it has come.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from stud_core.ledger.names import guarded
from stud_core.ledger.postings import trial_balance
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import commit_at
from stud_eventlog.types import Head
from stud_service.limits import Share
from stud_wire.commits import decode_commit

KEPT = 4
"""Versions whose sums are kept: those that were asked for last, since their further pages will be."""


class Summed(msgspec.Struct, frozen=True):
    """Every account whose balance is not zero, by name; all balances together, and what is owed to players."""

    head: Head
    balances: dict[str, int]
    names: Sequence[str]
    total: int
    liabilities: int


NOTHING = Summed(Head(), {}, (), 0, 0)


class Sums:
    """The sums of one ledger. Raises what the log does."""

    def __init__(self, log: CommitLog, stream: str, share: Share, take_turns: int) -> None:
        """``take_turns``: others have their turn after this many entries at the latest."""
        self._log = log
        self._stream = stream
        self._share = share
        self._take_turns = take_turns
        self._kept: OrderedDict[int, Summed] = OrderedDict()
        self._under_way: dict[int, asyncio.Task[Summed]] = {}

    async def now(self) -> Summed:
        """Return the sums of all entries there are."""
        return await self.at((await self._log.head(self._stream)).version)

    async def at(self, version: int) -> Summed:
        """Return the sums up to a version; up to the last one if it is not that high."""
        found = self._kept.get(version)
        if found is not None:
            self._kept.move_to_end(version)
            return found
        task = self._under_way.get(version)
        if task is None:
            # Others wait for it too: its lines are not to name the call of whoever came first.
            task = asyncio.create_task(self._sum(version), name=f"sum {self._stream}", context=contextvars.Context())
            self._under_way[version] = task
            task.add_done_callback(lambda done: self._ended(version, done))
        return await asyncio.shield(task)

    def _ended(self, version: int, done: asyncio.Task[Summed]) -> None:
        self._under_way.pop(version, None)
        if not done.cancelled() and done.exception() is None:
            self._kept[done.result().head.version] = done.result()
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    async def _sum(self, version: int) -> Summed:
        async with self._share.alone:
            known = [summed for at, summed in self._kept.items() if at <= version]
            before = max(known, key=lambda summed: summed.head.version, default=NOTHING)
            if not await self._still_there(before.head):
                before = NOTHING
            return await self._go_on(before, version)

    async def _still_there(self, head: Head) -> bool:
        """Whether the log still holds what was summed: else it is another log by now."""
        if not head.version:
            return True
        found = await commit_at(self._log, self._stream, head.version)
        return found is not None and found.head == head

    async def _go_on(self, before: Summed, version: int) -> Summed:
        balances, head = dict(before.balances), before.head
        async for stored in self._log.read_all(self._stream, after=head.version):
            if stored.version > version:
                break
            with self._share.work():
                trial_balance(decode_commit(stored.body).events, balances)
            head = stored.head
            if head.version % self._take_turns == 0:
                await asyncio.sleep(0)
            await self._share.rest()
        with self._share.work():
            balances = {name: amount for name, amount in balances.items() if amount}
            liabilities = sum(amount for name, amount in balances.items() if guarded(name))
            return Summed(head, balances, sorted(balances), sum(balances.values()), liabilities)

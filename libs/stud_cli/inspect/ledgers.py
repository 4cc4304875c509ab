"""Reads ledgers for audits: balances are recomputed from the entries, nothing is taken from a service."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from stud_cli.inspect.lost_ends import Causes
from stud_core.events import Delta
from stud_core.ledger import events as le
from stud_core.ledger.names import guarded, player
from stud_core.ledger.postings import postings_of
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_wire.commits import decode_commit


class Ledger(msgspec.Struct):
    """One currency's ledger as its entries say. ``funded`` has (account, amount) of each buy-in (top-up 0) and top-up,
    by table and (sitting, top-up); ``paid`` that of each cash-out, by table and sitting; ``problems`` what is wrong
    with an entry by itself.
    """

    currency: str
    balances: dict[str, int]
    deposited: dict[str, int]
    settled: dict[str, dict[int, le.HandSettled]]
    funded: dict[str, dict[tuple[int, int], tuple[str, int]]]
    paid: dict[str, dict[int, tuple[str, int]]]
    blocked: list[tuple[str, int, str]]
    problems: list[str]
    causes: Causes
    entries: int = 0

    @property
    def total(self) -> int:
        """Sum over all accounts; 0 in a sound ledger."""
        return sum(self.balances.values())

    @property
    def liabilities(self) -> int:
        """What is owed to players: balances and escrows, minor units."""
        return sum(amount for name, amount in self.balances.items() if guarded(name))

    def players(self) -> Iterator[tuple[str, int]]:
        """Each player account and its balance."""
        for name, amount in sorted(self.balances.items()):
            if name.startswith(player("")):
                yield name.removeprefix(player("")), amount


async def read_ledger(log: CommitLog, currency: str) -> Ledger:
    """Fold a ledger's log into balances. Raises ChainBroken, WireError."""
    balances: dict[str, int] = defaultdict(int)
    deposited: dict[str, int] = defaultdict(int)
    out = Ledger(
        currency, balances, deposited, defaultdict(dict), defaultdict(dict), defaultdict(dict), [], [], Causes()
    )
    blocked: dict[tuple[str, int], str] = {}
    async for stored in log.read_all(keys.ledger_log(currency)):
        out.entries += 1
        commit = decode_commit(stored.body)
        out.causes.note(commit)
        for event in commit.events:
            lines = postings_of(event)
            if sum(line.amount for line in lines) != 0:
                out.problems.append(f"version {stored.version}: lines do not sum to zero")
            if isinstance(event, le.Adjusted) and len(set(event.operators)) < 2:
                out.problems.append(f"version {stored.version}: adjusted by one operator alone")
            for line in lines:
                balances[line.account] += line.amount
            _note(event, out, blocked)
    out.blocked = [(table, number, why) for (table, number), why in blocked.items()]
    return out


def _sparing(event: le.HandSettled) -> le.HandSettled:
    """The same with names that exist once: there are as many settlements as hands were ever played."""
    postings = [Delta(line.sitting_no, sys.intern(line.account), line.delta) for line in event.postings]
    return msgspec.structs.replace(event, table=sys.intern(event.table), postings=tuple(postings))


def _note(event: object, out: Ledger, blocked: dict[tuple[str, int], str]) -> None:
    if isinstance(event, le.Deposited):
        out.deposited[event.account] += event.amount
    elif isinstance(event, le.Withdrawn):
        out.deposited[event.account] -= event.amount
    elif isinstance(event, le.BuyInFunded):
        out.funded[event.table][event.sitting_no, 0] = event.account, event.amount
    elif isinstance(event, le.TopUpFunded):
        out.funded[event.table][event.sitting_no, event.top_up_no] = event.account, event.amount
    elif isinstance(event, le.HandSettled):
        out.settled[sys.intern(event.table)][event.hand_no] = _sparing(event)
        blocked.pop((event.table, -event.hand_no), None)
    elif isinstance(event, le.SettlementBlocked):
        blocked[event.table, -event.hand_no] = f"hand {event.hand_no}: {event.reason}"
    elif isinstance(event, le.CashOutBlocked):
        blocked[event.table, event.sitting_no] = (
            f"sitting {event.sitting_no}: claim {event.claim}, escrow {event.escrow}"
        )
    elif isinstance(event, le.CashedOut):
        out.paid[event.table][event.sitting_no] = event.account, event.amount
        blocked.pop((event.table, event.sitting_no), None)

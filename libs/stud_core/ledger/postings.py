"""The double entry behind each fact: lines that sum to zero. Everything about balances is derived from these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from stud_core.ledger import events as ev
from stud_core.ledger.events import Posting
from stud_core.ledger.names import CASHIER, RAKE, escrow, guarded, player
from stud_core.ledger.state import Ledger

Lines = tuple[Posting, ...]


def move(source: str, target: str, amount: int) -> Lines:
    """Return the two lines that move ``amount`` minor units; none for 0."""
    return (Posting(source, -amount), Posting(target, amount)) if amount else ()


def _settled(event: ev.HandSettled) -> Lines:
    lines = [Posting(escrow(event.table, p.sitting_no), p.delta) for p in event.postings if p.delta]
    if event.rake:
        lines.append(Posting(RAKE, event.rake))
    return tuple(lines)


def _funded(event: ev.BuyInFunded | ev.TopUpFunded) -> Lines:
    return move(player(event.account), escrow(event.table, event.sitting_no), event.amount)


def _cashed_out(event: ev.CashedOut) -> Lines:
    return move(escrow(event.table, event.sitting_no), player(event.account), event.amount)


_LINES: Final[Mapping[type, Callable[[Any], Lines]]] = {
    ev.Deposited: lambda e: move(CASHIER, player(e.account), e.amount),
    ev.Withdrawn: lambda e: move(player(e.account), CASHIER, e.amount),
    ev.BuyInFunded: _funded,
    ev.TopUpFunded: _funded,
    ev.HandSettled: _settled,
    ev.CashedOut: _cashed_out,
    ev.Adjusted: lambda e: e.postings,
}


def postings_of(event: object) -> Lines:
    """Return the lines of a ledger event; none for one that moves nothing."""
    lines = _LINES.get(type(event))
    return () if lines is None else lines(event)


def unsound(state: Ledger, events: Iterable[object]) -> str:
    """Say why a commit must not be appended: lines that do not sum to zero, a player or escrow below zero."""
    change: dict[str, int] = defaultdict(int)
    for event in events:
        lines = postings_of(event)
        if sum(line.amount for line in lines) != 0:
            return f"{type(event).__name__}: its lines do not sum to zero"
        for line in lines:
            change[line.account] += line.amount
            if guarded(line.account) and state.balance(line.account) + change[line.account] < 0:
                return f"{type(event).__name__}: {line.account} would be overdrawn"
    return ""


def trial_balance(events: Iterable[object], onto: dict[str, int] | None = None) -> dict[str, int]:
    """Add up the lines of events, account by account; ``onto`` continues an earlier sum.

    The figures come from the entries alone, so that they can contradict a ledger that carries its balances along.
    """
    balances = {} if onto is None else onto
    for event in events:
        for line in postings_of(event):
            balances[line.account] = balances.get(line.account, 0) + line.amount
    return balances

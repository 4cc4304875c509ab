"""Which entries of a ledger touch an account, so that a page of them is read without reading all the others."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from stud_core.ledger import events as ev
from stud_core.ledger.names import player
from stud_core.ledger.postings import postings_of


class AccountIndex:
    """Versions of a ledger's commits by account, one for each entry: eight bytes."""

    def __init__(self) -> None:
        self._versions: dict[str, array[int]] = {}

    def add(self, events: Iterable[Any], version: int) -> None:
        """Take in the commit that follows."""
        for event in events:
            for account in touched(event):
                self._versions.setdefault(account, array("q")).append(version)

    def page(self, account: str, after: int, limit: int) -> list[int]:
        """Return the versions that hold the next ``limit`` entries, in order.

        A commit is listed whole, so that the next page can begin after its version: the last one that would be cut is
        left for the next page, unless it is the only one.
        """
        versions = self._versions.get(account, array("q"))
        first = bisect_right(versions, after)
        end = min(first + limit, len(versions))
        if end < len(versions) and end > first and versions[end] == versions[end - 1]:
            whole = bisect_left(versions, versions[end])
            end = whole if whole > first else bisect_right(versions, versions[end])
        return list(dict.fromkeys(versions[first:end]))


def touched(event: Any) -> set[str]:
    """Return the accounts of players whom an entry concerns; none for what moves nothing."""
    if isinstance(event, ev.HandSettled):
        return {posting.account for posting in event.postings}
    lines = postings_of(event)
    prefix = player("")
    accounts = {line.account.removeprefix(prefix) for line in lines if line.account.startswith(prefix)}
    account = getattr(event, "account", "")
    return accounts | {account} if lines and account else accounts


def runs(versions: Iterable[int]) -> list[tuple[int, int]]:
    """Return (first version, how many) of each run of versions that follow one another: one read each."""
    numbered = groupby(enumerate(versions), key=lambda pair: pair[1] - pair[0])
    return [(run[0][1], len(run)) for _, pairs in numbered for run in [list(pairs)]]

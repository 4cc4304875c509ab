"""The lobby in memory: which tables there are, and what the log's rows say of those that are not at hand.

A row is some 150 bytes and is kept as such: a hundred thousand closed tables are 40 MB. Live tables speak for
themselves.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator

from stud.table.v1 import table_service_pb2 as pb

EVERY = ""
"""In place of a currency."""


class Names:
    """Table ids in order, of all and by currency: a page is found without a look at what comes before it."""

    def __init__(self) -> None:
        self._currency: dict[str, str] = {}
        self._lists: dict[str, list[str]] = {}
        self._unsorted: set[str] = set()

    def __contains__(self, table_id: str) -> bool:
        return table_id in self._currency

    def add(self, table_id: str, currency: str) -> None:
        """Take in a table; doing so again does no harm."""
        if table_id not in self._currency:
            self._currency[table_id] = currency
            for key in {EVERY, currency}:
                self._lists.setdefault(key, []).append(table_id)
                self._unsorted.add(key)

    def discard(self, table_id: str) -> None:
        """Forget a table, if it is here."""
        currency = self._currency.pop(table_id, None)
        if currency is not None:
            for key in {EVERY, currency}:
                self._lists[key].remove(table_id)

    def after(self, table_id: str, currency: str) -> Iterator[str]:
        """Yield the ids behind one, in order; of a currency, or EVERY."""
        names = self._lists.get(currency, [])
        if currency in self._unsorted:
            names.sort()
            self._unsorted.discard(currency)
        return iter([]) if not names else map(names.__getitem__, range(bisect_right(names, table_id), len(names)))


class Lobby:
    """Every table's name; rows of those that are closed, or could not be loaded."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._open = Names()
        self._closed = Names()

    def put(self, row: pb.TableSummary) -> None:
        """Keep the row of a table that is not at hand."""
        self._rows[row.table] = row.SerializeToString()
        if row.life == pb.TABLE_LIFE_CLOSED:
            self._open.discard(row.table)
            self._closed.add(row.table, row.currency)
        else:
            self._open.add(row.table, row.currency)

    def put_live(self, table_id: str, currency: str) -> None:
        """Note a table that speaks for itself."""
        self._rows.pop(table_id, None)
        self._open.add(table_id, currency)

    def knows(self, table_id: str) -> bool:
        """Whether there is, or was, a table of this id."""
        return table_id in self._closed or table_id in self._open

    def is_closed(self, table_id: str) -> bool:
        """Whether a table is over, and not at hand."""
        return table_id in self._closed

    def row(self, table_id: str) -> pb.TableSummary | None:
        """Return what the log's row said of a table."""
        data = self._rows.get(table_id)
        return None if data is None else pb.TableSummary.FromString(data)

    def after(self, table_id: str, currency: str, *, include_closed: bool) -> Iterator[str]:
        """Yield the ids behind one, in order. Nothing may be added before the last is taken."""
        found = [self._open.after(table_id, currency)]
        if include_closed:
            found.append(self._closed.after(table_id, currency))
        return heapq.merge(*found)

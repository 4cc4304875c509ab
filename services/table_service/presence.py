"""Whose connection is lost, shown to everybody at most once a second: whoever comes and goes costs the others nothing.

Kept in memory only, and never in the log: after a restart everybody is away until their streams are back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stud_core.state import Table
from table_service.ahead import ChoicesAhead

SHOWN_EVERY_S = 1.0


class Presence:
    """The streams of one table's players. ``show`` is called a second after a change, once for all that came since."""

    def __init__(self, ahead: ChoicesAhead, show: Callable[[], None]) -> None:
        self._ahead = ahead
        self._show = show
        self._shown: frozenset[str] | None = None
        self._handle: asyncio.TimerHandle | None = None

    def connected(self, account: str) -> None:
        """One more of an account's streams."""
        self._ahead.connected(account)
        self._changed()

    def disconnected(self, account: str) -> None:
        """One less."""
        self._ahead.disconnected(account)
        self._changed()

    def here(self, table: Table) -> frozenset[str] | None:
        """Return who of the seated is connected, None where this table does not show it; it is shown now."""
        self._shown = self._now(table)
        return self._shown

    def is_stale(self, table: Table) -> bool:
        """Whether something else was shown last."""
        return self._now(table) != self._shown

    def cancel(self) -> None:
        """Show nothing more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _now(self, table: Table) -> frozenset[str] | None:
        if table.config is None or not table.config.ruleset.show_connection:
            return None
        return frozenset(s.account for s in table.sittings.values() if self._ahead.is_connected(s.account))

    def _changed(self) -> None:
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_later(SHOWN_EVERY_S, self._fire)

    def _fire(self) -> None:
        self._handle = None
        self._show()

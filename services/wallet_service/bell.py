"""Wakes those who watch an account when the ledger has moved it.

What there is to tell they ask the ledger, which answers when it is durable; so it does no harm to wake somebody for
nothing, or once for many entries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from stud_service.refusals import Refused
from wallet_service.account_index import touched


class Ear:
    """One who listens: ``news`` is set when there may be some, ``why`` when it is over."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.why: Refused | None = None


class Bell:
    """Of one ledger."""

    def __init__(self) -> None:
        self._of: dict[str, set[Ear]] = {}

    @contextmanager
    def listening(self, account: str) -> Iterator[Ear]:
        """Listen for what concerns an account."""
        ear = Ear()
        self._of.setdefault(account, set()).add(ear)
        try:
            yield ear
        finally:
            self._of[account].discard(ear)
            if not self._of[account]:
                del self._of[account]

    def ring(self, events: Iterable[Any]) -> None:
        """Wake those whom entries concern. What names no account (a blocked settlement) may concern anybody, and is
        rare.
        """
        if self._of:
            for event in events:
                account = getattr(event, "account", "")
                for name in touched(event) or ({account} if account else list(self._of)):
                    for ear in self._of.get(name, ()):
                        ear.news.set()

    def ring_all(self, why: Refused | None = None) -> None:
        """Wake everybody; with a refusal it is the last time."""
        for ears in self._of.values():
            for ear in ears:
                ear.why = why
                ear.news.set()

"""What must not happen, however fast it went. A run with one of these has failed."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

KEPT: Final = 100
"""Violations told in words; all are counted."""


class Rule(StrEnum):
    """What was broken."""

    MISSED = "version missed"
    REPEATED = "version repeated"
    VERDICT = "hand not verified"
    BOOK = "book does not agree"
    ACCEPTED = "wrong command accepted"
    STREAM = "stream ended"
    ENDING = "table did not end"
    AUDIT = "audit"
    VERIFY = "verify"
    LEDGER = "ledger"


class Violations:
    """Counts by rule, and the first ones in words."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.told: list[str] = []

    def add(self, rule: Rule, what: str) -> None:
        """Take one in."""
        self.counts[rule] += 1
        if len(self.told) < KEPT:
            self.told.append(f"{rule}: {what}")

"""What ledger accounts are called."""

from __future__ import annotations

from typing import Final

RAKE: Final = "house:rake"
"""What the house took from pots."""

CASHIER: Final = "house:cashier"
"""The outside world: minus everything ever paid in and not yet paid out."""


def player(account: str) -> str:
    """A player's own money."""
    return f"player:{account}"


def escrow(table: str, sitting_no: int) -> str:
    """Money at a table: one escrow a sitting."""
    return f"escrow:{table}:{sitting_no}"


def guarded(name: str) -> bool:
    """Whether an account's debits may never exceed its credits: players and escrows."""
    return name.startswith(("player:", "escrow:"))

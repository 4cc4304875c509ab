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


def parse_escrow(name: str) -> tuple[str, int] | None:
    """Return table and sitting of an escrow's name, None for any other. Each escrow has one name: no zeros in front."""
    kind, _, rest = name.partition(":")
    table, _, number = rest.rpartition(":")
    if kind != "escrow" or not (number.isascii() and number.isdecimal()):
        return None
    sitting_no = int(number)
    return (table, sitting_no) if escrow(table, sitting_no) == name else None


def guarded(name: str) -> bool:
    """Whether an account's debits may never exceed its credits: players and escrows."""
    return name.startswith(("player:", "escrow:"))

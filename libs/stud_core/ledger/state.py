"""What a ledger is, folded from its log.

Every request id of a deposit or withdrawal is kept: forgetting one could book money twice. That costs about
300 bytes each, in memory and for good.
"""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum

import msgspec

from stud_core.ledger.events import AdjustmentProposed


class SittingLife(IntEnum):
    """What the wallet knows of a sitting."""

    DECLINED = 1
    OPEN = 2
    BLOCKED = 3
    CLOSED = 4


class SittingBook(msgspec.Struct):
    """One sitting's account, life, and the last top-up that was answered; ``claim`` once it is blocked."""

    account: str
    life: SittingLife
    top_up_no: int = 0
    claim: int = 0


class Booked(msgspec.Struct, frozen=True):
    """A deposit or withdrawal that was booked, for those who ask again."""

    content: tuple[str, int, str]  # kind, amount, reference
    version: int
    balance: int


class Ledger(msgspec.Struct):
    """Balances and everything that makes a repeated message harmless. Amounts in minor units."""

    version: int = 0
    balances: dict[str, int] = msgspec.field(default_factory=lambda: defaultdict(int))
    accounts: set[str] = msgspec.field(default_factory=set)
    frozen: set[str] = msgspec.field(default_factory=set)
    sittings: dict[tuple[str, int], SittingBook] = msgspec.field(default_factory=dict)
    settled: dict[str, int] = msgspec.field(default_factory=dict)  # table -> last hand settled
    blocked: dict[str, int] = msgspec.field(default_factory=dict)  # table -> hand whose settlement is blocked
    booked: dict[tuple[str, str], Booked] = msgspec.field(default_factory=dict)
    proposals: dict[str, AdjustmentProposed] = msgspec.field(default_factory=dict)

    def balance(self, name: str) -> int:
        """Balance of a ledger account, 0 when it has no lines."""
        return self.balances.get(name, 0)

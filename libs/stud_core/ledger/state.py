"""What a ledger is, folded from its log.

Every answered request id and every sitting is kept: forgetting one could move money twice. A request costs about
160 bytes and a sitting about 250, in memory and for as long as the ledger lives.
"""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum

import msgspec

from stud_core.ledger.events import AdjustmentProposed
from stud_core.remembered import Remembered


class SittingLife(IntEnum):
    """What the wallet knows of a sitting."""

    DECLINED = 1
    OPEN = 2
    BLOCKED = 3
    CLOSED = 4


class SittingBook(msgspec.Struct):
    """One sitting: the amounts of its buy-in and of the last top-up that was answered, 0 = declined.

    ``claim`` is what the table claimed when the cash-out was blocked; None when it claimed for another account.
    """

    account: str
    life: SittingLife
    bought: int = 0
    top_up_no: int = 0
    topped: int = 0
    claim: int | None = None

    @property
    def holds_money(self) -> bool:
        """Whether its escrow may still be paid into and out of."""
        return self.life in {SittingLife.OPEN, SittingLife.BLOCKED}


class Proposal(msgspec.Struct, frozen=True):
    """What a first operator has proposed, the version that did, and what a cash-out would pay (0 for an adjustment)."""

    proposed: AdjustmentProposed
    version: int
    amount: int = 0


class Ledger(msgspec.Struct):
    """Balances and everything that makes a repeated message harmless. Amounts in minor units.

    The number of a remembered request is the account's balance after a deposit or withdrawal, else 1 where a second
    operator's call made it final.
    """

    version: int = 0
    balances: dict[str, int] = msgspec.field(default_factory=lambda: defaultdict(int))
    in_escrow: int = 0  # all escrows together
    accounts: dict[str, int] = msgspec.field(default_factory=dict)  # account -> version that opened it
    frozen: set[str] = msgspec.field(default_factory=set)
    sittings: dict[tuple[str, int], SittingBook] = msgspec.field(default_factory=dict)
    settled: dict[str, int] = msgspec.field(default_factory=dict)  # table -> last hand settled
    blocked: dict[str, int] = msgspec.field(default_factory=dict)  # table -> hand whose settlement is blocked
    at_tables: dict[str, set[tuple[str, int]]] = msgspec.field(default_factory=dict)  # account -> its live sittings
    held: dict[str, set[int]] = msgspec.field(default_factory=dict)  # table -> sittings whose cash-out is blocked
    requests: Remembered = msgspec.field(default_factory=Remembered)
    proposals: dict[str, Proposal] = msgspec.field(default_factory=dict)  # by name, oldest first

    def balance(self, name: str) -> int:
        """Balance of a ledger account, 0 when it has no lines."""
        return self.balances.get(name, 0)

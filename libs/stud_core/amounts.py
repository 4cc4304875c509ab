"""How much money there can be, minor units: the same bounds at tables and in ledgers."""

from __future__ import annotations

from typing import Final

MAX_AMOUNT: Final = 10**15
"""Most that one booking moves. A table asks for no more, so that the wallet has nothing to refuse."""

TEST_CURRENCY: Final = "XTS"
"""ISO 4217's code for testing: the only currency of stacked decks, of clocks that never run out, of odd rakes."""

MAX_BALANCE: Final = 4 * 10**18
"""Most that any account may reach, either way: every figure of a ledger fits the 64 bits of the wire."""

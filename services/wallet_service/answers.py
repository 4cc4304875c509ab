"""Which facts of a ledger tables read, and how facts of tables become commands."""

from __future__ import annotations

from typing import Any

from stud_core import events as te
from stud_core.amounts import TEST_CURRENCY
from stud_core.ledger import events as ev
from stud_core.ledger.commands import CashOut, Command, FundBuyIn, FundTopUp
from stud_core.ledger.state import Ledger

_ANSWERS = (
    ev.BuyInFunded,
    ev.BuyInDeclined,
    ev.TopUpFunded,
    ev.TopUpDeclined,
    ev.SettlementBlocked,
    ev.CashedOut,
    ev.CashOutBlocked,
)


def is_answer(event: object, before: Ledger) -> bool:
    """Whether a table waits for this: of settlements only one that ends a block, and with it the table's pause."""
    if isinstance(event, ev.HandSettled):
        return event.table in before.blocked
    return isinstance(event, _ANSWERS)


def command_for(table: str, event: Any, *, allow_stacked: bool) -> Command | None:
    """Return the command behind a table's fact; None when money has nothing to do with it."""
    if isinstance(event, te.BuyInRequested):
        refusal = _stacked(event, allow_stacked=allow_stacked)
        return FundBuyIn(table, event.sitting_no, event.account, event.amount, event.expires_at_ms, refusal)
    if isinstance(event, te.TopUpRequested):
        refusal = _stacked(event, allow_stacked=allow_stacked)
        return FundTopUp(table, event.sitting_no, event.top_up_no, event.account, event.amount, refusal)
    if isinstance(event, te.CashOutRequested):
        return CashOut(table, event.sitting_no, event.account, event.claim, event.after_hand)
    return None


def _stacked(event: te.BuyInRequested | te.TopUpRequested, *, allow_stacked: bool) -> str:
    """Rehearsal decks are for test money, and only where they are allowed (architecture.md, "The deck")."""
    allowed = allow_stacked and event.currency == TEST_CURRENCY
    return "STACKED_NOT_ALLOWED" if event.stacked and not allowed else ""

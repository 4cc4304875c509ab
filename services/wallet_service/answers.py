"""Which facts of a ledger tables read, and how facts of tables and the referee become commands."""

from __future__ import annotations

from typing import Any

from stud_core import events as te
from stud_core import verdict_events as ve
from stud_core.ledger import events as ev
from stud_core.ledger.commands import CashOut, Command, FundBuyIn, FundTopUp, SettleHand

_ANSWERS = (
    ev.BuyInFunded,
    ev.BuyInDeclined,
    ev.TopUpFunded,
    ev.TopUpDeclined,
    ev.SettlementBlocked,
    ev.CashedOut,
    ev.CashOutBlocked,
)


def is_answer(event: object) -> bool:
    """Whether a table waits for this."""
    return isinstance(event, _ANSWERS)


def command_for(table: str, event: Any, version: int, *, allow_stacked: bool) -> Command | None:
    """Return the command behind a fact; None when money has nothing to do with it."""
    if isinstance(event, te.BuyInRequested):
        refusal = "STACKED_NOT_ALLOWED" if event.stacked and not (allow_stacked and event.currency == "XTS") else ""
        return FundBuyIn(table, event.sitting_no, event.account, event.amount, event.expires_at_ms, refusal)
    if isinstance(event, te.TopUpRequested):
        return FundTopUp(table, event.sitting_no, event.top_up_no, event.account, event.amount)
    if isinstance(event, te.CashOutRequested):
        return CashOut(table, event.sitting_no, event.account, event.claim, event.after_hand)
    if isinstance(event, ve.HandVerified | ve.HandResolved):
        return SettleHand(event.table, event.hand_no, version, event.postings, event.rake)
    return None

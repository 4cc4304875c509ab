"""Imperatives a ledger may refuse. Amounts are minor units; ids and the clock come from the shell."""

from __future__ import annotations

import msgspec

from stud_core.events import Delta
from stud_core.ledger.events import Posting


class L(msgspec.Struct, frozen=True, gc=False):
    """Base of all ledger commands."""


class OpenAccount(L, frozen=True, gc=False):
    account: str
    request_id: str
    actor: str = ""


class Deposit(L, frozen=True, gc=False):
    account: str
    amount: int
    reference: str
    request_id: str
    cashier: str


class Withdraw(L, frozen=True, gc=False):
    account: str
    amount: int
    reference: str
    request_id: str
    cashier: str


class FreezeAccount(L, frozen=True, gc=False):
    account: str
    operator: str
    reason: str
    request_id: str = ""


class UnfreezeAccount(L, frozen=True, gc=False):
    account: str
    operator: str
    reason: str
    request_id: str = ""


class FundBuyIn(L, frozen=True, gc=False):
    """``refusal``: a reason the shell found (stacked table, currency), else empty."""

    table: str
    sitting_no: int
    account: str
    amount: int
    expires_at_ms: int
    refusal: str = ""


class FundTopUp(L, frozen=True, gc=False):
    """``refusal`` as in :class:`FundBuyIn`."""

    table: str
    sitting_no: int
    top_up_no: int
    account: str
    amount: int
    refusal: str = ""


class SettleHand(L, frozen=True, gc=False):
    """A final verdict's figures; both empty for a void. ``refusal``: why it must not be booked, as the shell found."""

    table: str
    hand_no: int
    verdict_version: int
    postings: tuple[Delta, ...]
    rake: int
    refusal: str = ""


class CashOut(L, frozen=True, gc=False):
    """``claim`` None: the sitting never sat, pay what its escrow holds. ``after_hand``: the last hand dealt in, as the
    table says or as the referee's log says, whichever is later.
    """

    table: str
    sitting_no: int
    account: str
    claim: int | None
    after_hand: int


class ResolveCashOut(L, frozen=True, gc=False):
    """``after_hand``: the last unsettled hand into which the referee's log says that the sitting was dealt, else 0."""

    table: str
    sitting_no: int
    amount: int
    operator: str
    reason: str
    request_id: str = ""
    after_hand: int = 0


class Adjust(L, frozen=True, gc=False):
    postings: tuple[Posting, ...]
    operator: str
    reference: str
    request_id: str = ""


Command = (
    OpenAccount
    | Deposit
    | Withdraw
    | FreezeAccount
    | UnfreezeAccount
    | FundBuyIn
    | FundTopUp
    | SettleHand
    | CashOut
    | ResolveCashOut
    | Adjust
)

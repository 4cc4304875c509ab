"""Facts in a ledger, one log per currency.

Field names equal those of ``stud/events/v1/ledger_events.proto``, which documents units.
"""

from __future__ import annotations

from stud_core.events import Delta, E


class Posting(E, frozen=True, gc=False):
    """One line of a double entry; the lines of an entry sum to zero."""

    account: str
    amount: int


class AccountOpened(E, frozen=True, gc=False):
    """An account exists."""

    account: str
    request_id: str


class Deposited(E, frozen=True, gc=False):
    """Money came in."""

    account: str
    amount: int
    reference: str
    request_id: str
    cashier: str


class Withdrawn(E, frozen=True, gc=False):
    """Money went out."""

    account: str
    amount: int
    reference: str
    request_id: str
    cashier: str


class BuyInFunded(E, frozen=True, gc=False):
    """Chips for a sitting: player to escrow."""

    table: str
    sitting_no: int
    account: str
    amount: int


class BuyInDeclined(E, frozen=True, gc=False):
    """The wallet would not fund a sitting; ``balance`` is the account's where that was too small."""

    table: str
    sitting_no: int
    account: str
    reason: str
    balance: int | None = None


class TopUpFunded(E, frozen=True, gc=False):
    """More chips for a sitting: player to escrow."""

    table: str
    sitting_no: int
    top_up_no: int
    account: str
    amount: int


class TopUpDeclined(E, frozen=True, gc=False):
    """The wallet would not fund a top-up; ``balance`` is the account's where that was too small."""

    table: str
    sitting_no: int
    top_up_no: int
    account: str
    reason: str
    balance: int | None = None


class HandSettled(E, frozen=True, gc=False):
    """A verified hand is paid between escrows and the rake account."""

    table: str
    hand_no: int
    verdict_version: int
    postings: tuple[Delta, ...]
    rake: int


class SettlementBlocked(E, frozen=True, gc=False):
    """A settlement would overdraw an escrow."""

    table: str
    hand_no: int
    verdict_version: int
    reason: str


class CashedOut(E, frozen=True, gc=False):
    """A sitting is paid: escrow to player."""

    table: str
    sitting_no: int
    account: str
    amount: int


class CashOutBlocked(E, frozen=True, gc=False):
    """Claim and escrow differ."""

    table: str
    sitting_no: int
    account: str
    claim: int
    escrow: int


class AccountFrozen(E, frozen=True, gc=False):
    """An account may not withdraw or buy in."""

    account: str
    operator: str
    reason: str


class AccountUnfrozen(E, frozen=True, gc=False):
    """An account is free again."""

    account: str
    operator: str
    reason: str


class AdjustmentProposed(E, frozen=True, gc=False):
    """A first operator proposes an adjustment or a cash-out decision."""

    proposal_id: str
    postings: tuple[Posting, ...]
    table: str
    sitting_no: int
    operator: str
    reference: str


class Adjusted(E, frozen=True, gc=False):
    """A second operator agreed to an adjustment."""

    proposal_id: str
    postings: tuple[Posting, ...]
    operators: tuple[str, ...]
    reference: str

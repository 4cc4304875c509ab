"""What a ledger answers to a command: facts, nothing (it was done before), or a refusal.

Hands are in ``settling``, what two operators decide in ``operators``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from stud_core.amounts import MAX_AMOUNT, MAX_BALANCE
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.commands import Command
from stud_core.ledger.interest import own_interest
from stud_core.ledger.names import CASHIER, escrow, player
from stud_core.ledger.operators import adjust, resolve_cash_out
from stud_core.ledger.requests import content_of, key_of
from stud_core.ledger.settling import settle
from stud_core.ledger.state import Ledger, SittingBook, SittingLife
from stud_core.rejection import Rejection

Answer = list[Any] | Rejection
SHORT: Final = "INSUFFICIENT_FUNDS"
MISMATCH: Final = "SITTING_MISMATCH"
"""A table's figures are not those the sitting was seen with, or it was never seen."""


def decide(state: Ledger, command: Command, now_ms: int) -> Answer:
    """Return the events of a command, [] when it was answered before, or a Rejection. Changes nothing."""
    key = key_of(command)
    first = state.requests.get(key) if key is not None else None
    if first is None:
        return own_interest(state, command) or _DECIDERS[type(command)](state, command, now_ms)
    if first.repeats(content_of(command)):
        return []
    return Rejection("REQUEST_ID_REUSED", "this request_id was used for something else", field="request_id")


def worth_noting(state: Ledger, command: Command) -> bool:
    """Whether an accepted call that changes nothing is written all the same, as a commit without events: else it would
    do something when repeated after things have changed, or its id would be free for something else.

    Not for opening one's own account when it is open: that can mean nothing else later, and a player could fill the
    ledger.
    """
    key = key_of(command)
    if key is None or state.requests.get(key) is not None:
        return False
    return not (isinstance(command, cmd.OpenAccount) and command.actor == command.account)


def _unknown(state: Ledger, account: str) -> Rejection | None:
    if account in state.accounts:
        return None
    return Rejection("UNKNOWN_ACCOUNT", f"there is no account {account!r}: open it first", account=account[:64])


# ------------------------------------------------------------------ accounts


def _open(state: Ledger, command: cmd.OpenAccount, _: int) -> Answer:
    if command.account in state.accounts:
        return []
    return [ev.AccountOpened(command.account, command.request_id)]


def _out_of_range(amount: int, most: int = MAX_AMOUNT) -> Rejection | None:
    if 1 <= amount <= most:
        return None
    text = f"amount {amount}: want 1 to {most} minor units"
    return Rejection("INVALID_FIELD", text, field="amount", least=1, most=most)


def _deposit(state: Ledger, command: cmd.Deposit, _: int) -> Answer:
    most = min(MAX_AMOUNT, MAX_BALANCE + state.balance(CASHIER))
    refused = _unknown(state, command.account)
    if refused is None and most < 1:
        refused = Rejection("INVALID_FIELD", f"the ledger holds {MAX_BALANCE}, which is all it can", field="amount")
    refused = refused or _out_of_range(command.amount, most)
    if refused is not None:
        return refused
    return [ev.Deposited(command.account, command.amount, command.reference, command.request_id, command.cashier)]


def _withdraw(state: Ledger, command: cmd.Withdraw, _: int) -> Answer:
    refused = _unknown(state, command.account) or _out_of_range(command.amount)
    if refused is not None:
        return refused
    if command.account in state.frozen:
        return Rejection("ACCOUNT_FROZEN", f"account {command.account!r} is frozen")
    short = _short(state, command.account, command.amount)
    if short is not None:
        return short
    return [ev.Withdrawn(command.account, command.amount, command.reference, command.request_id, command.cashier)]


def _short(state: Ledger, account: str, amount: int) -> Rejection | None:
    balance = state.balance(player(account))
    if balance >= amount:
        return None
    return Rejection(SHORT, f"the balance is {balance}, not {amount}", balance=balance)


def _freeze(state: Ledger, command: cmd.FreezeAccount, _: int) -> Answer:
    refused = _unknown(state, command.account)
    if refused is not None:
        return refused
    if command.account in state.frozen:
        return []
    return [ev.AccountFrozen(command.account, command.operator, command.reason)]


def _unfreeze(state: Ledger, command: cmd.UnfreezeAccount, _: int) -> Answer:
    refused = _unknown(state, command.account)
    if refused is not None:
        return refused
    if command.account not in state.frozen:
        return Rejection("ACCOUNT_NOT_FROZEN", f"account {command.account!r} is not frozen")
    return [ev.AccountUnfrozen(command.account, command.operator, command.reason)]


# ------------------------------------------------------------------ sittings
# What a table asks for is answered by a fact, whatever it asks: a refusal would hold up everybody's money there.


def _fund_buy_in(state: Ledger, command: cmd.FundBuyIn, now_ms: int) -> Answer:
    book = state.sittings.get((command.table, command.sitting_no))
    if book is not None:
        same = book.account == command.account and book.bought in {0, command.amount}
        return [] if same else [ev.BuyInDeclined(command.table, command.sitting_no, command.account, MISMATCH)]
    reason = command.refusal
    if not 1 <= command.amount <= MAX_AMOUNT:
        reason = "BUY_IN_TOO_LARGE" if command.amount > MAX_AMOUNT else "BUY_IN_TOO_SMALL"
    reason = reason or _cannot_pay(state, command.account, command.amount)
    if not reason and now_ms >= command.expires_at_ms:
        reason = "RESERVATION_EXPIRED"
    if reason:
        balance = _told(state, command.account, reason)
        return [ev.BuyInDeclined(command.table, command.sitting_no, command.account, reason, balance)]
    return [ev.BuyInFunded(command.table, command.sitting_no, command.account, command.amount)]


def _cannot_pay(state: Ledger, account: str, amount: int) -> str:
    if account not in state.accounts:
        return "UNKNOWN_ACCOUNT"
    if account in state.frozen:
        return "ACCOUNT_FROZEN"
    return SHORT if state.balance(player(account)) < amount else ""


def _told(state: Ledger, account: str, reason: str) -> int | None:
    """The balance, where that was too small."""
    return state.balance(player(account)) if reason == SHORT else None


def _fund_top_up(state: Ledger, command: cmd.FundTopUp, _: int) -> Answer:
    place = (command.table, command.sitting_no, command.top_up_no, command.account)
    book = state.sittings.get((command.table, command.sitting_no))
    if book is None or book.account != command.account:
        return [ev.TopUpDeclined(*place, MISMATCH)]
    if command.top_up_no <= book.top_up_no:
        other = command.top_up_no == book.top_up_no and book.topped not in {0, command.amount}
        return [ev.TopUpDeclined(*place, MISMATCH)] if other else []
    reason = command.refusal or _not_open(book)
    if not 1 <= command.amount <= MAX_AMOUNT:
        reason = reason or "TOP_UP_OUT_OF_LIMITS"
    reason = reason or _cannot_pay(state, command.account, command.amount)
    if reason:
        return [ev.TopUpDeclined(*place, reason, _told(state, command.account, reason))]
    return [ev.TopUpFunded(*place, command.amount)]


def _not_open(book: SittingBook) -> str:
    if book.life is SittingLife.OPEN:
        return ""
    return MISMATCH if book.life is SittingLife.DECLINED else "LEAVING"


def _cash_out(state: Ledger, command: cmd.CashOut, _: int) -> Answer:
    book = state.sittings.get((command.table, command.sitting_no))
    if book is not None and book.life in {SittingLife.CLOSED, SittingLife.BLOCKED}:
        return []
    held = state.balance(escrow(command.table, command.sitting_no))
    place = (command.table, command.sitting_no, command.account)
    if not _may_pay(state, command, book, held):
        return [ev.CashOutBlocked(*place, command.claim or 0, held)]
    return [ev.CashedOut(*place, held)]


def _may_pay(state: Ledger, command: cmd.CashOut, book: SittingBook | None, held: int) -> bool:
    """Two independently derived numbers must agree: the table's claim and the escrow after settlement."""
    if command.after_hand > state.settled.get(command.table, 0):
        return False
    if book is None:
        return command.claim is None
    return book.account == command.account and command.claim in {None, held}


_DECIDERS: Final[Mapping[type, Callable[[Ledger, Any, int], Answer]]] = {
    cmd.OpenAccount: _open,
    cmd.Deposit: _deposit,
    cmd.Withdraw: _withdraw,
    cmd.FreezeAccount: _freeze,
    cmd.UnfreezeAccount: _unfreeze,
    cmd.FundBuyIn: _fund_buy_in,
    cmd.FundTopUp: _fund_top_up,
    cmd.SettleHand: settle,
    cmd.CashOut: _cash_out,
    cmd.ResolveCashOut: resolve_cash_out,
    cmd.Adjust: adjust,
}

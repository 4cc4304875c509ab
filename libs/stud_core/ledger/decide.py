"""What a ledger answers to a command: facts, nothing (it was done before), or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.commands import Command, Refusal
from stud_core.ledger.names import escrow, player
from stud_core.ledger.operators import adjust, resolve_cash_out
from stud_core.ledger.state import Booked, Ledger, SittingBook, SittingLife

Answer = list[Any] | Refusal

MAX_BALANCE: Final = 2**62
"""Far beyond all money there is; balances must fit the contract's 64 bits."""

_HOLDS_MONEY: Final = frozenset({SittingLife.OPEN, SittingLife.BLOCKED})


def decide(state: Ledger, command: Command, now_ms: int) -> Answer:
    """Return the events of a command, [] when it was answered before, or a Refusal. Changes nothing."""
    return _DECIDERS[type(command)](state, command, now_ms)


def booked(state: Ledger, command: cmd.Deposit | cmd.Withdraw) -> Booked | None:
    """Return the first result of a deposit or withdrawal with this request id, if there is one."""
    return state.booked.get((command.account, command.request_id))


def _unknown(state: Ledger, account: str) -> Refusal | None:
    if account in state.accounts:
        return None
    return Refusal("UNKNOWN_ACCOUNT", f"there is no account {account!r}: open it first", {"account": account[:64]})


# ------------------------------------------------------------------ accounts


def _open(state: Ledger, command: cmd.OpenAccount, _: int) -> Answer:
    if command.account in state.accounts:
        return []
    return [ev.AccountOpened(command.account, command.request_id)]


def _repeated(state: Ledger, command: cmd.Deposit | cmd.Withdraw, kind: str) -> Answer | None:
    first = booked(state, command)
    if first is None:
        return None
    if first.content == (kind, command.amount, command.reference):
        return []
    return Refusal("REQUEST_ID_REUSED", f"request_id {command.request_id!r} was used for another booking")


def _deposit(state: Ledger, command: cmd.Deposit, _: int) -> Answer:
    refused = _unknown(state, command.account)
    answered = refused if refused is not None else _repeated(state, command, "Deposited")
    if answered is not None:
        return answered
    if state.balance(player(command.account)) + command.amount > MAX_BALANCE:
        return Refusal("INVALID_FIELD", f"no balance may exceed {MAX_BALANCE}", {"field": "amount"})
    return [ev.Deposited(command.account, command.amount, command.reference, command.request_id, command.cashier)]


def _withdraw(state: Ledger, command: cmd.Withdraw, _: int) -> Answer:
    refused = _unknown(state, command.account)
    answered = refused if refused is not None else _repeated(state, command, "Withdrawn")
    if answered is not None:
        return answered
    if command.account in state.frozen:
        return Refusal("ACCOUNT_FROZEN", f"account {command.account!r} is frozen")
    short = _short(state, command.account, command.amount)
    if short is not None:
        return short
    return [ev.Withdrawn(command.account, command.amount, command.reference, command.request_id, command.cashier)]


def _short(state: Ledger, account: str, amount: int) -> Refusal | None:
    balance = state.balance(player(account))
    if balance >= amount:
        return None
    return Refusal("INSUFFICIENT_FUNDS", f"the balance is {balance}, not {amount}", {"balance": str(balance)})


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
        return Refusal("ACCOUNT_NOT_FROZEN", f"account {command.account!r} is not frozen")
    return [ev.AccountUnfrozen(command.account, command.operator, command.reason)]


# ------------------------------------------------------------------ sittings


def _fund_buy_in(state: Ledger, command: cmd.FundBuyIn, now_ms: int) -> Answer:
    known = state.sittings.get((command.table, command.sitting_no))
    if known is not None:
        return [] if known.account == command.account else _mismatch(command)
    if command.amount < 1:
        return _no_amount(command.amount)
    reason = command.refusal or _cannot_pay(state, command.account, command.amount)
    if not reason and now_ms >= command.expires_at_ms:
        reason = "RESERVATION_EXPIRED"
    if reason:
        return [ev.BuyInDeclined(command.table, command.sitting_no, command.account, reason)]
    return [ev.BuyInFunded(command.table, command.sitting_no, command.account, command.amount)]


def _cannot_pay(state: Ledger, account: str, amount: int) -> str:
    if account not in state.accounts:
        return "UNKNOWN_ACCOUNT"
    if account in state.frozen:
        return "ACCOUNT_FROZEN"
    return "INSUFFICIENT_FUNDS" if state.balance(player(account)) < amount else ""


def _fund_top_up(state: Ledger, command: cmd.FundTopUp, _: int) -> Answer:
    book = state.sittings.get((command.table, command.sitting_no))
    if book is not None and command.top_up_no <= book.top_up_no:
        return []
    if command.amount < 1:
        return _no_amount(command.amount)
    if book is None or book.account != command.account:
        return _mismatch(command)
    over = "" if book.life is SittingLife.OPEN else "SITTING_MISMATCH"
    reason = over or _cannot_pay(state, command.account, command.amount)
    place = (command.table, command.sitting_no, command.top_up_no, command.account)
    return [ev.TopUpDeclined(*place, reason)] if reason else [ev.TopUpFunded(*place, command.amount)]


def _mismatch(command: cmd.FundBuyIn | cmd.FundTopUp) -> Refusal:
    text = f"sitting {command.sitting_no} of {command.table} is not {command.account}'s"
    return Refusal("SITTING_MISMATCH", text)


def _no_amount(amount: int) -> Refusal:
    return Refusal("INVALID_FIELD", f"amount {amount}: want 1 or more minor units", {"field": "amount"})


def _settle(state: Ledger, command: cmd.SettleHand, _: int) -> Answer:
    """Strictly in hand order: a hand behind a blocked one waits for it."""
    last = state.settled.get(command.table, 0)
    if command.hand_no <= last:
        return []
    if command.hand_no > last + 1:
        if command.table in state.blocked:
            return []
        return Refusal("HAND_NOT_ENDED", f"hand {command.hand_no} of {command.table} does not follow {last}")
    problem = _wrong_figures(state, command)
    place = (command.table, command.hand_no, command.verdict_version)
    if not problem:
        return [ev.HandSettled(*place, command.postings, command.rake)]
    if state.blocked.get(command.table) == command.hand_no:
        return []
    return [ev.SettlementBlocked(*place, problem)]


def _wrong_figures(state: Ledger, command: cmd.SettleHand) -> str:
    if sum(p.delta for p in command.postings) + command.rake != 0 or command.rake < 0:
        return "INVALID_ADJUSTMENT"
    if len({posting.sitting_no for posting in command.postings}) != len(command.postings):
        return "SITTING_MISMATCH"
    for posting in command.postings:
        book = state.sittings.get((command.table, posting.sitting_no))
        if book is None or book.life not in _HOLDS_MONEY or book.account != posting.account:
            return "SITTING_MISMATCH"
        if state.balance(escrow(command.table, posting.sitting_no)) + posting.delta < 0:
            return "ESCROW_OVERDRAWN"
    return ""


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
    if book is not None and book.account != command.account:
        return False
    if command.claim is None:
        return True
    settled = state.settled.get(command.table, 0)
    return book is not None and command.after_hand <= settled and command.claim == held


_DECIDERS: Final[Mapping[type, Callable[[Ledger, Any, int], Answer]]] = {
    cmd.OpenAccount: _open,
    cmd.Deposit: _deposit,
    cmd.Withdraw: _withdraw,
    cmd.FreezeAccount: _freeze,
    cmd.UnfreezeAccount: _unfreeze,
    cmd.FundBuyIn: _fund_buy_in,
    cmd.FundTopUp: _fund_top_up,
    cmd.SettleHand: _settle,
    cmd.CashOut: _cash_out,
    cmd.ResolveCashOut: resolve_cash_out,
    cmd.Adjust: adjust,
}

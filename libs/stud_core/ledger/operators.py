"""What needs two operators: the first call proposes, the same call by another one decides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from stud_core.amounts import MAX_AMOUNT, MAX_BALANCE
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.events import Posting
from stud_core.ledger.interest import stands
from stud_core.ledger.names import CASHIER, RAKE, escrow, guarded, parse_escrow, player
from stud_core.ledger.postings import move
from stud_core.ledger.state import Ledger, SittingLife
from stud_core.rejection import Rejection

Answer = list[Any] | Rejection


def proposal_id(*content: object) -> str:
    """Name a proposal by its content: equal proposals have equal names."""
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]


def resolve_cash_out(state: Ledger, command: cmd.ResolveCashOut, _: int) -> Answer:
    """Pay a blocked sitting what two operators agree on; the difference to its escrow is the cashier's."""
    book = state.sittings.get((command.table, command.sitting_no))
    if book is None or book.life is not SittingLife.BLOCKED:
        what = "is paid" if book is not None and book.life is SittingLife.CLOSED else "has no blocked cash-out"
        return Rejection("NOTHING_BLOCKED", f"sitting {command.sitting_no} {what}")
    if command.after_hand > state.settled.get(command.table, 0):
        text = f"hand {command.after_hand} of sitting {command.sitting_no} is not settled: correct what blocks it first"
        return Rejection("SETTLEMENT_BLOCKED", text)
    if book.account not in state.accounts:
        return Rejection("UNKNOWN_ACCOUNT", "the sitting's account was never opened")
    if not 0 <= command.amount <= MAX_AMOUNT:
        text = f"amount {command.amount}: want 0 to {MAX_AMOUNT} minor units"
        return Rejection("INVALID_FIELD", text, field="amount", least=0, most=MAX_AMOUNT)
    name = escrow(command.table, command.sitting_no)
    lines = move(CASHIER, name, command.amount - state.balance(name))
    key = proposal_id("cash-out", command.table, command.sitting_no, command.amount)
    proposed = ev.AdjustmentProposed(key, lines, command.table, command.sitting_no, command.operator, command.reason)
    decided = _second(state, proposed)
    if not isinstance(decided, ev.Adjusted):
        return decided
    return [decided, ev.CashedOut(command.table, command.sitting_no, book.account, command.amount)]


def adjust(state: Ledger, command: cmd.Adjust, _: int) -> Answer:
    """Correct balances; never the escrow of an open sitting, except one whose table waits for a settlement.

    Two calls are about the same correction where each account changes by the same and the reference reads the same:
    order, split lines and space around the reference make no other one.
    """
    lines, reference = added_up(command.postings), command.reference.strip()
    problem = _wrong(state, command.postings, lines)
    if not problem and not reference:
        problem = "want a reference that says why"
    if problem:
        return Rejection("INVALID_ADJUSTMENT", problem)
    known = _waiting(state, lines, reference)
    if known is not None:
        lines, reference = known.postings, known.reference
        key = known.proposal_id
    else:
        key = proposal_id("adjust", [(p.account, p.amount) for p in lines], reference)
    decided = _second(state, ev.AdjustmentProposed(key, lines, "", 0, command.operator, reference))
    return [decided] if isinstance(decided, ev.Adjusted) else decided


def added_up(postings: Iterable[Posting]) -> tuple[Posting, ...]:
    """Return one line for each account that changes, in the order in which they were first named."""
    change: dict[str, int] = {}
    for line in postings:
        change[line.account] = change.get(line.account, 0) + line.amount
    return tuple(Posting(account, amount) for account, amount in change.items() if amount)


def _waiting(state: Ledger, lines: tuple[Posting, ...], reference: str) -> ev.AdjustmentProposed | None:
    """The proposal of the same correction; by its content, since older ones are named by lines as they were written."""
    for waiting in state.proposals.values():
        proposed = waiting.proposed
        if proposed.table or proposed.reference.strip() != reference:
            continue
        if _by_account(added_up(proposed.postings)) == _by_account(lines):
            return proposed
    return None


def _by_account(lines: Iterable[Posting]) -> dict[str, int]:
    return {line.account: line.amount for line in lines}


def _second(state: Ledger, proposed: ev.AdjustmentProposed) -> ev.Adjusted | Answer:
    known = state.proposals.get(proposed.proposal_id)
    if known is None or not stands(state, known.proposed):
        return [proposed]
    first = known.proposed
    if first.operator == proposed.operator:
        return Rejection("SECOND_OPERATOR_REQUIRED", f"{proposed.operator} proposed it: another operator must agree")
    operators = (first.operator, proposed.operator)
    return ev.Adjusted(proposed.proposal_id, proposed.postings, operators, proposed.reference)


def _wrong(state: Ledger, postings: tuple[Posting, ...], lines: tuple[Posting, ...]) -> str:
    """Say what is wrong with a correction, as it was written (``postings``) and added up (``lines``)."""
    if not postings or sum(line.amount for line in postings) != 0:
        return "want two or more lines that sum to zero"
    for line in (*postings, *lines):
        if not 1 <= abs(line.amount) <= MAX_AMOUNT:
            return f"{line.account[:64]!r} by {line.amount}: want 1 to {MAX_AMOUNT} minor units, either way"
    for line in postings:
        problem = _wrong_line(state, line.account)
        if problem:
            return problem
    if not lines:
        return "the lines change nothing: want an account that has more or less afterwards"
    for line in lines:
        name, balance = line.account, state.balance(line.account) + line.amount
        if guarded(name) and balance < 0:
            return f"{name} would be overdrawn: it holds {state.balance(name)}"
        if abs(balance) > MAX_BALANCE:
            return f"{name} would reach {balance}: want at most {MAX_BALANCE} minor units"
    return ""


def _wrong_line(state: Ledger, name: str) -> str:
    if name in {RAKE, CASHIER}:
        return ""
    if name.startswith(player("")):
        account = name.removeprefix(player(""))
        return "" if account in state.accounts else f"there is no account {account[:64]!r}"
    place = parse_escrow(name)
    book = state.sittings.get(place) if place is not None else None
    if place is None or book is None or not book.holds_money:
        return f"{name[:128]!r} is not a ledger account that holds money"
    if book.life is SittingLife.OPEN and place[0] not in state.blocked:
        return f"{name} is the escrow of an open sitting"
    return ""

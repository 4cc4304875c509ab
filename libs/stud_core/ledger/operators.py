"""What needs two operators: the first call proposes, the equal call of another one decides."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import Any

import msgspec

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.commands import Refusal
from stud_core.ledger.events import Posting
from stud_core.ledger.names import CASHIER, RAKE, escrow, guarded
from stud_core.ledger.postings import move
from stud_core.ledger.state import Ledger, SittingLife

Answer = list[Any] | Refusal


def proposal_id(*content: object) -> str:
    """Name a proposal by its content: equal calls have equal names."""
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]


def resolve_cash_out(state: Ledger, command: cmd.ResolveCashOut, _: int) -> Answer:
    """Pay a blocked sitting what two operators agree on; the difference to its escrow is the cashier's."""
    book = state.sittings.get((command.table, command.sitting_no))
    if book is None or book.life is not SittingLife.BLOCKED:
        return Refusal("NOTHING_BLOCKED", f"no cash-out of sitting {command.sitting_no} is blocked")
    if book.account not in state.accounts:
        return Refusal("UNKNOWN_ACCOUNT", f"there is no account {book.account!r} to pay")
    name = escrow(command.table, command.sitting_no)
    lines = move(CASHIER, name, command.amount - state.balance(name))
    key = proposal_id("cash-out", command.table, command.sitting_no, command.amount)
    proposed = ev.AdjustmentProposed(key, lines, command.table, command.sitting_no, command.operator, command.reason)
    decided = _second(state, proposed)
    if not isinstance(decided, ev.Adjusted):
        return decided
    return [decided, ev.CashedOut(command.table, command.sitting_no, book.account, command.amount)]


def adjust(state: Ledger, command: cmd.Adjust, _: int) -> Answer:
    """Correct balances; never the escrow of an open sitting, but for one whose table waits for a settlement."""
    problem = _wrong(state, command.postings)
    if problem:
        return Refusal("INVALID_ADJUSTMENT", problem)
    key = proposal_id("adjust", [(p.account, p.amount) for p in command.postings], command.reference)
    decided = _second(state, ev.AdjustmentProposed(key, command.postings, "", 0, command.operator, command.reference))
    return [decided] if isinstance(decided, ev.Adjusted) else decided


def _second(state: Ledger, proposed: ev.AdjustmentProposed) -> ev.Adjusted | Answer:
    first = state.proposals.get(proposed.proposal_id)
    if first is None:
        return [proposed]
    if first.operator == proposed.operator:
        return Refusal("SECOND_OPERATOR_REQUIRED", f"{proposed.operator} proposed it: another operator must agree")
    operators = (first.operator, proposed.operator)
    return ev.Adjusted(proposed.proposal_id, proposed.postings, operators, proposed.reference)


def _wrong(state: Ledger, lines: tuple[Posting, ...]) -> str:
    if not lines or sum(line.amount for line in lines) != 0 or any(line.amount == 0 for line in lines):
        return "want two or more lines other than zero that sum to zero"
    change: dict[str, int] = defaultdict(int)
    for line in lines:
        change[line.account] += line.amount
    for name, amount in change.items():
        problem = _wrong_line(state, name)
        if problem:
            return problem
        if guarded(name) and state.balance(name) + amount < 0:
            return f"{name} would be overdrawn: it holds {state.balance(name)}"
    return ""


def _wrong_line(state: Ledger, name: str) -> str:
    if name in {RAKE, CASHIER}:
        return ""
    kind, _, rest = name.partition(":")
    if kind == "player":
        return "" if rest in state.accounts else f"there is no account {rest!r}"
    table, _, number = rest.rpartition(":")
    canonical = kind == "escrow" and number.isdecimal() and name == escrow(table, int(number))
    book = state.sittings.get((table, int(number))) if canonical else None
    if book is None or book.life is SittingLife.DECLINED:
        return f"{name!r} is no ledger account"
    if book.life is SittingLife.CLOSED:
        return f"{name} is closed: nothing would pay it out"
    if book.life is SittingLife.OPEN and table not in state.blocked:
        return f"{name} is the escrow of an open sitting"
    return ""

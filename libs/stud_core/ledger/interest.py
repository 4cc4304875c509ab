"""Whoever has an interest in money decides nothing about it: their own account, their sittings, and all money at a
table where they have a sitting that is not paid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from stud_core.ledger import commands as cmd
from stud_core.ledger.commands import Command
from stud_core.ledger.events import AdjustmentProposed, Posting
from stud_core.ledger.names import escrow, parse_escrow, player
from stud_core.ledger.requests import caller_of
from stud_core.ledger.state import Ledger
from stud_core.rejection import Rejection

_CONCERNED: Final[Mapping[type, Callable[[Any], Iterable[str]]]] = {
    cmd.Deposit: lambda c: [player(c.account)],
    cmd.Withdraw: lambda c: [player(c.account)],
    cmd.FreezeAccount: lambda c: [player(c.account)],
    cmd.UnfreezeAccount: lambda c: [player(c.account)],
    cmd.ResolveCashOut: lambda c: [escrow(c.table, c.sitting_no)],
    cmd.Adjust: lambda c: _accounts(c.postings),
}
"""The ledger accounts that a caller's command is about. Whoever may open accounts may open their own."""


def own_interest(state: Ledger, command: Command) -> Rejection | None:
    """Refuse a command of a caller who has an interest in it; None where they may, and for what no caller asks."""
    concerned = _CONCERNED.get(type(command))
    own = _interest(state, caller_of(command), concerned(command)) if concerned is not None else ""
    if not own:
        return None
    role = "cashier" if isinstance(command, cmd.Deposit | cmd.Withdraw) else "operator"
    return Rejection("OWN_INTEREST", f"{own}: another {role} must do it")


def stands(state: Ledger, proposed: AdjustmentProposed) -> bool:
    """Whether whoever made a proposal has no interest in it now; else it counts as if it had never been made."""
    names = _accounts(proposed.postings)
    if proposed.table:
        names.append(escrow(proposed.table, proposed.sitting_no))
    return not _interest(state, proposed.operator, names)


def _accounts(postings: Iterable[Posting]) -> list[str]:
    return [posting.account for posting in postings]


def _interest(state: Ledger, who: str, names: Iterable[str]) -> str:
    """Say what interest somebody has in ledger accounts; empty for none."""
    tables = {table for table, _ in state.at_tables.get(who, ())}
    for name in names:
        if name == player(who):
            return "the account is your own"
        place = parse_escrow(name)
        if place is None:
            continue
        book = state.sittings.get(place)
        if book is not None and book.account == who:
            return f"sitting {place[1]} is your own"
        if place[0] in tables:
            return f"you have a sitting at table {place[0]} that is not paid out"
    return ""

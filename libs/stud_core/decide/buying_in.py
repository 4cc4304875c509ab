"""How much an account may sit down with (P3-P4, W2; B.19)."""

from __future__ import annotations

from stud_core.amounts import MAX_AMOUNT
from stud_core.decide.returning import left_behind
from stud_core.decide.rules import cite
from stud_core.house_rules.saying import seconds
from stud_core.rejection import Reason, Rejection
from stud_core.state import Table


def outside_limits(state: Table, account: str, amount: int, now_ms: int) -> Rejection | None:
    """Refuse a buy-in that is too small or too large; whoever left a short while ago brings back what they took."""
    config = state.rules
    least, most = config.min_buy_in, MAX_AMOUNT if config.max_buy_in is None else config.max_buy_in
    left = left_behind(state, account, now_ms)
    back = 0 if left is None else min(left.stack, most)
    if amount < least:
        text, rule = f"the minimum buy-in is {least}, not {amount}", cite(config.ruleset, "P4", "W2")
        return Rejection(Reason.BUY_IN_TOO_SMALL, text, rule, least=max(least, back), most=most)
    if left is not None and amount < back:
        wait = seconds(1000 * -(-(left.until_ms - now_ms) // 1000))
        text = f"the account left this table with {left.stack}: for {wait} more it buys in for {back} at least"
        return Rejection(Reason.BUY_IN_TOO_SMALL, f"{text}, not {amount}", "B.19", least=back, most=most)
    if amount > most:
        text, rule = f"the maximum buy-in is {most}, not {amount}", cite(config.ruleset, "P3", "B.19")
        return Rejection(Reason.BUY_IN_TOO_LARGE, text, rule, least=max(least, back), most=most)
    return None

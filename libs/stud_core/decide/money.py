"""Chips that come to a seated player and chips that leave with them (B.19).

See architecture.md, "Topping up" and "Leaving".
"""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.amounts import MAX_AMOUNT
from stud_core.commands import Context
from stud_core.decide.boundary import boundary, go_on_closing
from stud_core.decide.draft import Answer, Draft
from stud_core.decide.seating import not_asked, seated, unknown
from stud_core.presence import in_hand
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import TopUp
from stud_core.state import CASH_OUT_BLOCKED, Life, Sit, Sitting, Table


def add_chips(state: Table, command: cmd.AddChips, _ctx: Context) -> Answer:
    """Ask for more chips; they become playable between hands only (table stakes)."""
    sitting = seated(state, command.account)
    if isinstance(sitting, Rejection):
        return sitting
    if state.life not in {Life.OPEN, Life.DRAINING}:
        return Rejection(Reason.TABLE_NOT_OPEN, f"the table is {state.life.name.lower()}")
    if sitting.top_up_open:
        return Rejection(Reason.TOP_UP_OPEN, "an earlier top-up is still being paid")
    least, most = _top_up_limits(state, sitting)
    if not least <= command.amount <= most:
        text = _outside(state, sitting, command.amount)
        return Rejection(Reason.TOP_UP_OUT_OF_LIMITS, text, "B.19", least=least, most=most)
    config = state.rules
    return [
        ev.TopUpRequested(
            currency=config.currency,
            stacked=config.stacked,
            sitting_no=sitting.sitting_no,
            top_up_no=sitting.top_up_no + 1,
            account=sitting.account,
            amount=command.amount,
        )
    ]


def _top_up_limits(state: Table, sitting: Sitting) -> tuple[int, int]:
    """Least and greatest amount that may be asked for now; the greatest is 0 where none may be (B.19)."""
    config = state.rules
    stack = sitting.stack + sitting.pending
    most = MAX_AMOUNT if config.max_buy_in is None else min(MAX_AMOUNT, config.max_buy_in - stack)
    bounded = config.ruleset.top_up is TopUp.WITHIN_LIMITS and not in_hand(state, sitting)
    return max(1, config.min_buy_in - stack if bounded else 1), max(0, most)


def _outside(state: Table, sitting: Sitting, amount: int) -> str:
    """What is wrong with the amount of a top-up, in words."""
    config = state.rules
    result = sitting.stack + sitting.pending + amount
    if not 1 <= amount <= MAX_AMOUNT:
        return f"a top-up is an amount of 1 to {MAX_AMOUNT}, not {amount}"
    if config.max_buy_in is not None and result > config.max_buy_in:
        return f"a stack of {result} would exceed the maximum of {config.max_buy_in}"
    return f"a stack of {result} would be below the minimum of {config.min_buy_in}"


def record_top_up(state: Table, command: cmd.RecordTopUp, ctx: Context) -> Answer:
    """Funded chips become pending: visible, not yet playable."""
    refusal = _stale_top_up(state, command.sitting_no, command.top_up_no)
    if refusal is not None:
        return refusal
    sitting = state.sittings[command.sitting_no]
    if command.amount != sitting.top_up_open:
        return not_asked(sitting.sitting_no, sitting.top_up_open, command.amount)
    draft = Draft(state, ctx)
    pending = sitting.pending + command.amount
    draft.emit(ev.TopUpPending(sitting.sitting_no, command.top_up_no, command.amount, pending))
    boundary(draft)
    return draft


def record_top_up_declined(state: Table, command: cmd.RecordTopUpDeclined, ctx: Context) -> Answer:
    refusal = _stale_top_up(state, command.sitting_no, command.top_up_no)
    if refusal is not None:
        return refusal
    draft = Draft(state, ctx)
    draft.emit(ev.TopUpRefused(command.sitting_no, command.top_up_no, command.reason, command.balance))
    boundary(draft)
    return draft


def _stale_top_up(state: Table, sitting_no: int, top_up_no: int) -> Rejection | None:
    sitting = state.sittings.get(sitting_no)
    if sitting is None:
        return unknown(state, sitting_no)
    if top_up_no != sitting.top_up_no or not sitting.top_up_open:
        return Rejection(Reason.ALREADY_DONE, f"top-up {top_up_no} of sitting {sitting_no} is not open")
    return None


def record_cash_out(state: Table, command: cmd.RecordCashOut, ctx: Context) -> Answer:
    """The wallet has paid: the sitting is final."""
    sitting = state.sittings.get(command.sitting_no)
    if sitting is None:
        return unknown(state, command.sitting_no)
    if sitting.status not in {Sit.CASHING_OUT, Sit.HELD}:
        return Rejection(Reason.UNKNOWN_SITTING, f"sitting {sitting.sitting_no} asked for no cash-out")
    # A sitting that never sat claims nothing and is paid what its escrow holds; of a held one two operators decide.
    free = sitting.claim is None or sitting.status is Sit.HELD
    if command.amount < 0 or not (free or command.amount == sitting.claim):
        return not_asked(sitting.sitting_no, sitting.claim or 0, command.amount)
    draft = Draft(state, ctx)
    draft.emit(ev.PlayerLeft(sitting.sitting_no, command.amount))
    go_on_closing(draft)
    return draft


def record_cash_out_blocked(state: Table, command: cmd.RecordCashOutBlocked, ctx: Context) -> Answer:
    """Wallet and table disagree about a claim: the table pauses until two operators have decided."""
    sitting = state.sittings.get(command.sitting_no)
    if sitting is None:
        return unknown(state, command.sitting_no)
    if sitting.status is not Sit.CASHING_OUT:
        return Rejection(Reason.ALREADY_DONE, f"sitting {sitting.sitting_no} waits for no cash-out")
    draft = Draft(state, ctx)
    draft.emit(ev.CashOutHeld(sitting.sitting_no, command.reason))
    if not state.paused:
        draft.emit(ev.TablePaused(CASH_OUT_BLOCKED, operator=""))
    return draft


def record_settlement(state: Table, _command: cmd.RecordSettlement, _ctx: Context) -> Answer:
    """The ledger has booked the hand that was blocked; what an operator paused for stays."""
    if not state.settlement_blocked:
        return Rejection(Reason.ALREADY_DONE, "no settlement is blocked")
    return [ev.TableResumed(operator="")]

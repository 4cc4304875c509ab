"""Decide what a command leads to: events, or a refusal. Nothing is changed.

The shell folds the events with ``evolve`` (or takes events and state from ``step``), checks conservation and appends
them as one commit; where the folded state ``wants_showdown`` it opens the down cards and lets ``Showdown`` ride along
in the same commit. An empty list means that the command was accepted and there is nothing to record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import commands as cmd
from stud_core.commands import Command, Context
from stud_core.decide import (
    acting,
    antes,
    dealing,
    money,
    operator,
    seating,
    showing,
    time_bank,
    timeouts,
    verdicts,
    waiting,
)
from stud_core.decide.draft import Answer, Draft
from stud_core.events import Event
from stud_core.evolve import evolve
from stud_core.rejection import Reason, Rejection
from stud_core.state import Table

_HANDLERS: Final[dict[type, Callable[[Table, Any, Context], Answer]]] = {
    cmd.OpenTable: operator.open_table,
    cmd.TakeSeat: seating.take_seat,
    cmd.RecordFunding: seating.record_funding,
    cmd.RecordFundingDeclined: seating.record_funding_declined,
    cmd.SitOut: seating.sit_out,
    cmd.SitIn: seating.sit_in,
    cmd.SetPreferences: seating.set_preferences,
    cmd.LeaveSeat: seating.leave_seat,
    cmd.JoinWaitingList: waiting.join,
    cmd.LeaveWaitingList: waiting.leave,
    cmd.AddChips: money.add_chips,
    cmd.RecordTopUp: money.record_top_up,
    cmd.RecordTopUpDeclined: money.record_top_up_declined,
    cmd.RecordCashOut: money.record_cash_out,
    cmd.RecordCashOutBlocked: money.record_cash_out_blocked,
    cmd.RecordSettlement: money.record_settlement,
    cmd.RecordDeck: dealing.record_deck,
    cmd.StartHand: antes.start_hand,
    cmd.PostAnte: antes.post_ante,
    cmd.RecordCards: dealing.record_cards,
    cmd.Act: acting.act,
    cmd.UseTimeChip: time_bank.use_time_chip,
    cmd.ProtectTurn: time_bank.protect_turn,
    cmd.Showdown: showing.showdown,
    cmd.ChooseShow: showing.choose_show,
    cmd.Tick: timeouts.tick,
    cmd.RestartClocks: timeouts.restart_clocks,
    cmd.RecordVerdict: verdicts.record_verdict,
    cmd.RecordDispute: verdicts.record_dispute,
    cmd.RecordResolution: verdicts.record_resolution,
    cmd.PauseTable: operator.pause_table,
    cmd.ResumeTable: operator.resume_table,
    cmd.DrainTable: operator.drain_table,
    cmd.CloseTable: operator.close_table,
    cmd.VoidHand: operator.void_hand,
}


def decide(state: Table, command: Command, ctx: Context) -> list[Event] | Rejection:
    """Return the events the command leads to, or why it is refused; ``state`` stays as it is."""
    answer = _answer(state, command, ctx)
    return answer.events if isinstance(answer, Draft) else answer


def step(state: Table, command: Command, ctx: Context) -> tuple[list[Event], Table] | Rejection:
    """Decide and evolve in one: the events and the table after them, or why the command is refused.

    The same result as ``decide`` followed by ``evolve``, without folding twice what was folded while deciding.
    """
    answer = _answer(state, command, ctx)
    if isinstance(answer, Draft):
        return answer.events, answer.state
    if isinstance(answer, Rejection):
        return answer
    return answer, evolve(state, answer, ctx.version)


def _answer(state: Table, command: Command, ctx: Context) -> Answer:
    kind = type(command)
    if state.config is None and kind is not cmd.OpenTable:
        return Rejection(Reason.TABLE_NOT_OPEN, "there is no such table")
    return _HANDLERS[kind](state, command, ctx)

"""From a recorded commit back to the command that must have caused it.

The engine is asked again with that command, and must decide exactly the recorded events. Where the events leave two
causes open (a muck by choice or by timeout), the commit's actor tells: a player's commit bears their account, the
table's own (timeouts, facts of other services) bears nobody's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.state import Table
from stud_wire.commits import Meta

OpenCards = Callable[[Table, int], tuple[int, ...]]
"""Clear down cards of a seat of the running hand, from the opened deck."""

Cause = Callable[[Table, Sequence[Any], Meta, OpenCards], Sequence[cmd.Command]]


def commands_for(state: Table, events: Sequence[Any], meta: Meta, open_cards: OpenCards) -> Sequence[cmd.Command]:
    """Return the commands that may have led to a commit, the likeliest first; empty when none can have."""
    if not events:
        return ()
    cause = _CAUSES.get(type(events[0]))
    return cause(state, events, meta, open_cards) if cause is not None else ()


def _by_event(make: Callable[[Any], cmd.Command]) -> Cause:
    """A command that the first event tells completely."""
    return lambda _state, events, _meta, _open: (make(events[0]),)


def _by_account(make: Callable[[Any, str], cmd.Command]) -> Cause:
    """A player's command: the actor is their account."""
    return lambda _state, events, meta, _open: (make(events[0], meta.actor),)


def _seat_released(_state: Table, events: Sequence[Any], meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    event = events[0]
    if meta.actor:
        return (cmd.LeaveSeat(meta.actor),)
    return cmd.RecordFundingDeclined(event.sitting_no, event.reason, event.balance), cmd.Tick()


def _sat_out(_state: Table, events: Sequence[Any], meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    if events[0].reason is ev.OutReason.NO_CHIPS:
        return (cmd.StartHand(),)
    return (cmd.SitOut(meta.actor),)


def _leave_requested(_state: Table, events: Sequence[Any], meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    return (cmd.Tick() if events[0].idle else cmd.LeaveSeat(meta.actor),)


def _ante_missed(state: Table, _events: Sequence[Any], meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    if not meta.actor:
        return (cmd.Tick(),)
    prompts = state.hand.prompts if state.hand is not None else ()
    return tuple([cmd.PostAnte(meta.actor, prompt.prompt_id, post=False) for prompt in prompts[:1]])


def _ante_posted(state: Table, _events: Sequence[Any], meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    prompts = state.hand.prompts if state.hand is not None else ()
    return tuple([cmd.PostAnte(meta.actor, prompt.prompt_id) for prompt in prompts[:1]])


def _action(state: Table, events: Sequence[Any], meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    event: ev.ActionTaken = events[0]
    if event.by is ev.By.TIMEOUT:
        return (cmd.Tick(),)
    account = meta.actor
    if event.by is ev.By.PRE_ACTION:
        number = state.seats[event.seat] if 1 <= event.seat <= 8 else 0
        account = state.sittings[number].account if number else ""
    by_pre_action = event.by is ev.By.PRE_ACTION
    return (cmd.Act(account, event.turn_id, event.verb, event.to, event.size, by_pre_action),)


def _extended(_state: Table, events: Sequence[Any], meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    event: ev.ClockExtended = events[0]
    if event.reason is ev.Extension.RECONNECT:
        return (cmd.ProtectTurn(event.turn_id),)
    return (cmd.UseTimeChip(meta.actor, event.turn_id),)


def _show(state: Table, events: Sequence[Any], meta: Meta, open_cards: OpenCards) -> Sequence[cmd.Command]:
    seat = events[0].seat
    if not meta.actor:
        return (cmd.Tick(),)
    prompts = state.hand.prompts if state.hand is not None else ()
    show = isinstance(events[0], ev.HandShown)
    cards = open_cards(state, seat) if show else ()
    return tuple([cmd.ChooseShow(meta.actor, p.prompt_id, show, cards) for p in prompts if p.seat == seat])


def _draining(_state: Table, events: Sequence[Any], _meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    closes = any(isinstance(event, ev.TableClosing) for event in events)
    operator = events[0].operator
    return (cmd.CloseTable(operator) if closes else cmd.DrainTable(operator),)


def _resolved(_state: Table, events: Sequence[Any], _meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    event: ev.TableHandResolved = events[0]
    # A void names no stacks: the table itself restores those before the hand.
    stacks = () if event.choice is ev.ResolutionChoice.VOID else event.stacks
    return (cmd.RecordResolution(event.hand_no, event.verdict_version, event.choice, stacks),)


def _table_resumed(state: Table, events: Sequence[Any], _meta: Meta, _open: OpenCards) -> Sequence[cmd.Command]:
    """The ledger ends the pause that it caused; every other one is ended by an operator or by the table itself."""
    settled = state.settlement_blocked and not events[0].operator
    return (cmd.RecordSettlement() if settled else cmd.ResumeTable(events[0].operator, events[0].reason),)


def _cards(event: ev.CardsDealt) -> cmd.Command:
    return cmd.RecordCards(event.hand_no, event.deal_no, event.up, event.down, event.community, event.root)


def _take_seat(event: ev.BuyInRequested, account: str) -> cmd.Command:
    return cmd.TakeSeat(account, event.seat, event.amount, event.auto_post, event.muck_losing, event.profile)


def _preferences(event: ev.PreferencesSet, account: str) -> cmd.Command:
    return cmd.SetPreferences(account, event.auto_post, event.muck_losing)


_CAUSES: dict[type, Cause] = {
    ev.TableOpened: lambda _s, events, meta, _o: (cmd.OpenTable(events[0].config, meta.actor),),
    ev.BuyInRequested: _by_account(_take_seat),
    ev.PlayerSeated: _by_event(lambda e: cmd.RecordFunding(e.sitting_no, e.stack)),
    ev.SeatReleased: _seat_released,
    ev.TopUpRequested: _by_account(lambda e, account: cmd.AddChips(account, e.amount)),
    ev.TopUpPending: _by_event(lambda e: cmd.RecordTopUp(e.sitting_no, e.top_up_no, e.amount)),
    ev.TopUpRefused: _by_event(lambda e: cmd.RecordTopUpDeclined(e.sitting_no, e.top_up_no, e.reason, e.balance)),
    ev.ChipsAdded: _by_event(lambda _: cmd.StartHand()),
    ev.WaitingJoined: _by_event(lambda e: cmd.JoinWaitingList(e.account, e.amount)),
    ev.WaitingLeft: _by_event(lambda e: cmd.Tick() if e.expired else cmd.LeaveWaitingList(e.account)),
    ev.SeatOffered: _by_event(lambda _: cmd.RestartClocks("")),
    ev.SatOut: _sat_out,
    ev.SatIn: _by_account(lambda _, account: cmd.SitIn(account)),
    ev.PreferencesSet: _by_account(_preferences),
    ev.LeaveRequested: _leave_requested,
    ev.PlayerLeft: _by_event(lambda e: cmd.RecordCashOut(e.sitting_no, e.paid)),
    ev.CashOutHeld: _by_event(lambda e: cmd.RecordCashOutBlocked(e.sitting_no, e.reason)),
    ev.DeckReady: _by_event(lambda e: cmd.RecordDeck(e.hand_no, e.commitment)),
    ev.AntesOpened: _by_event(lambda _: cmd.StartHand()),
    ev.AntePosted: _ante_posted,
    ev.AnteMissed: _ante_missed,
    ev.AntesReturned: lambda _s, events, meta, _o: (cmd.VoidHand(events[0].hand_no, events[0].reason, meta.actor),),
    ev.CardsDealt: _by_event(_cards),
    ev.ClockRestarted: _by_event(lambda e: cmd.RestartClocks(e.reason)),
    ev.ClockExtended: _extended,
    ev.ActionTaken: _action,
    ev.HandShown: _show,
    ev.HandMucked: _show,
    ev.HandVoided: _by_event(lambda e: cmd.VoidHand(e.hand_no, e.reason, e.operator)),
    ev.TableHandVerified: _by_event(lambda e: cmd.RecordVerdict(e.hand_no, e.verdict_version)),
    ev.TableHandDisputed: _by_event(lambda e: cmd.RecordDispute(e.hand_no, e.verdict_version, e.findings)),
    ev.TableHandResolved: _resolved,
    ev.TablePaused: _by_event(lambda e: cmd.PauseTable(e.reason, e.operator)),
    ev.TableResumed: _table_resumed,
    ev.TableDraining: _draining,
    ev.TableClosing: _by_event(lambda e: cmd.CloseTable(e.operator)),
}

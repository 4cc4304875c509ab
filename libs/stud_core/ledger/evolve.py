"""Folding a ledger. In place: a ledger holds every account there is, and only its one writer has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.names import escrow, player
from stud_core.ledger.postings import postings_of
from stud_core.ledger.requests import NOWHERE, Origin, call_key, content_of, key_of
from stud_core.ledger.state import Ledger, Proposal, SittingBook, SittingLife


def evolve(state: Ledger, events: Sequence[Any], version: int, origin: Origin = NOWHERE) -> None:
    """Fold one commit into ``state``."""
    for event in events:
        for line in postings_of(event):
            _add(state, line.account, line.amount)
        note = _NOTES.get(type(event))
        if note is not None:
            note(state, event, version)
    if origin.request_id and not any(isinstance(event, ev.Deposited | ev.Withdrawn) for event in events):
        decided = any(isinstance(event, ev.Adjusted) for event in events)
        state.requests.put(call_key(origin.actor, origin.request_id), origin.content, version, int(decided))
    state.version = version


def fold(commits: Iterable[tuple[int, Sequence[Any]]]) -> Ledger:
    """Rebuild a ledger from (version, events) pairs; what callers may repeat is not part of it."""
    state = Ledger()
    for version, events in commits:
        evolve(state, events, version)
    return state


def _add(state: Ledger, name: str, amount: int) -> None:
    balance = state.balances.get(name, 0) + amount
    of_a_sitting = name.startswith("escrow:")
    if of_a_sitting:
        state.in_escrow += amount
    if balance or not of_a_sitting:
        state.balances[name] = balance
    else:  # an escrow serves one sitting, and there are ever more of them
        state.balances.pop(name, None)


def _opened(state: Ledger, event: ev.AccountOpened, version: int) -> None:
    state.accounts[event.account] = version


def _booked(state: Ledger, event: ev.Deposited | ev.Withdrawn, version: int) -> None:
    kind = cmd.Deposit if isinstance(event, ev.Deposited) else cmd.Withdraw
    command = kind(event.account, event.amount, event.reference, event.request_id, event.cashier)
    key = key_of(command)
    if key is not None:
        state.requests.put(key, content_of(command), version, state.balance(player(event.account)))


def _funded(state: Ledger, event: ev.BuyInFunded, _: int) -> None:
    book = SittingBook(event.account, SittingLife.OPEN, event.amount)
    state.sittings[event.table, event.sitting_no] = book
    state.at_tables.setdefault(event.account, set()).add((event.table, event.sitting_no))


def _declined(state: Ledger, event: ev.BuyInDeclined, _: int) -> None:
    """For a known sitting a second buy-in was declined: its money stays what it is."""
    state.sittings.setdefault((event.table, event.sitting_no), SittingBook(event.account, SittingLife.DECLINED))


def _topped_up(state: Ledger, event: ev.TopUpFunded | ev.TopUpDeclined, _: int) -> None:
    """The declined one may be of a sitting that nobody knows, or have a number that was answered before."""
    book = state.sittings.get((event.table, event.sitting_no))
    if book is None or book.account != event.account or event.top_up_no <= book.top_up_no:
        return
    book.top_up_no = event.top_up_no
    book.topped = event.amount if isinstance(event, ev.TopUpFunded) else 0


def _settled(state: Ledger, event: ev.HandSettled, _: int) -> None:
    state.settled[event.table] = event.hand_no
    state.blocked.pop(event.table, None)


def _settlement_blocked(state: Ledger, event: ev.SettlementBlocked, _: int) -> None:
    state.blocked[event.table] = event.hand_no


def _cashed_out(state: Ledger, event: ev.CashedOut, _: int) -> None:
    known = state.sittings.get((event.table, event.sitting_no))
    if known is None:
        known = state.sittings[event.table, event.sitting_no] = SittingBook(event.account, SittingLife.CLOSED)
    known.life = SittingLife.CLOSED
    place = (event.table, event.sitting_no)
    if event.sitting_no in state.held.get(event.table, ()):  # whatever else was proposed for it is over
        over = [name for name, p in state.proposals.items() if (p.proposed.table, p.proposed.sitting_no) == place]
        for name in over:
            del state.proposals[name]
    _discard(state.at_tables, known.account, place)
    _discard(state.held, event.table, event.sitting_no)


def _discard(index: dict[str, set[Any]], name: str, place: Any) -> None:
    places = index.get(name)
    if places is not None:
        places.discard(place)
        if not places:
            del index[name]


def _cash_out_blocked(state: Ledger, event: ev.CashOutBlocked, _: int) -> None:
    known = state.sittings.get((event.table, event.sitting_no))
    if known is None:
        known = state.sittings[event.table, event.sitting_no] = SittingBook(event.account, SittingLife.BLOCKED)
    known.life = SittingLife.BLOCKED
    known.claim = event.claim if event.account == known.account else None
    state.at_tables.setdefault(known.account, set()).add((event.table, event.sitting_no))
    state.held.setdefault(event.table, set()).add(event.sitting_no)


def _frozen(state: Ledger, event: ev.AccountFrozen, _: int) -> None:
    state.frozen.add(event.account)


def _unfrozen(state: Ledger, event: ev.AccountUnfrozen, _: int) -> None:
    state.frozen.discard(event.account)


def _proposed(state: Ledger, event: ev.AdjustmentProposed, version: int) -> None:
    """The lines of a cash-out bring its escrow to what would be paid. One that is proposed again is the newest."""
    state.proposals.pop(event.proposal_id, None)
    name = escrow(event.table, event.sitting_no)
    change = sum(line.amount for line in event.postings if line.account == name)
    amount = state.balance(name) + change if event.table else 0
    state.proposals[event.proposal_id] = Proposal(event, version, amount)


def _adjusted(state: Ledger, event: ev.Adjusted, _: int) -> None:
    state.proposals.pop(event.proposal_id, None)


_NOTES: Final[Mapping[type, Callable[[Ledger, Any, int], None]]] = {
    ev.AccountOpened: _opened,
    ev.Deposited: _booked,
    ev.Withdrawn: _booked,
    ev.BuyInFunded: _funded,
    ev.BuyInDeclined: _declined,
    ev.TopUpFunded: _topped_up,
    ev.TopUpDeclined: _topped_up,
    ev.HandSettled: _settled,
    ev.SettlementBlocked: _settlement_blocked,
    ev.CashedOut: _cashed_out,
    ev.CashOutBlocked: _cash_out_blocked,
    ev.AccountFrozen: _frozen,
    ev.AccountUnfrozen: _unfrozen,
    ev.AdjustmentProposed: _proposed,
    ev.Adjusted: _adjusted,
}

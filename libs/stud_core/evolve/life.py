"""A table's life: opening, pauses, verdicts, draining, closing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from stud_core import events as ev
from stud_core.evolve.changes import lift, own
from stud_core.state import DEALER_SILENT, DISPUTED, SETTLEMENT_BLOCKED, SYSTEM_PAUSES, Life, Table


def _table_opened(state: Table, event: ev.TableOpened) -> None:
    state.config = event.config


def _hand_verified(state: Table, event: ev.TableHandVerified) -> None:
    state.verified_hand = event.hand_no


def _hand_disputed(state: Table, event: ev.TableHandDisputed) -> None:
    state.disputed_hand = event.hand_no


def _hand_resolved(state: Table, event: ev.TableHandResolved) -> None:
    """Stacks follow the decision. Its rake is what the hand cost its players, whatever the disputed end claimed."""
    for entry in event.stacks:
        own(state, entry.sitting_no).stack = entry.stack
    rake = sum(start - state.sittings[sitting_no].stack for sitting_no, start in state.hand_start_stacks)
    state.rake_taken += rake - state.ended_rake
    state.ended_rake = rake
    state.verified_hand = event.hand_no
    state.disputed_hand = 0
    if event.choice is not ev.ResolutionChoice.TABLE:
        state.last_hand = None  # it was not paid as the table had it
    lift(state, DISPUTED)


def _paused(state: Table, event: ev.TablePaused) -> None:
    """A blocked settlement or a parked message stands beside what an operator paused for, and ends without that."""
    if event.reason == SETTLEMENT_BLOCKED and not event.operator:
        state.settlement_blocked = True
        state.paused = state.paused or event.reason
    elif not event.operator and event.reason not in SYSTEM_PAUSES:
        state.parked = event.reason
    else:
        state.paused = event.reason


def _resumed(state: Table, event: ev.TableResumed) -> None:
    """Without an operator it says that what the system itself paused for is over: the ledger has booked what was
    blocked, the dealer has answered.
    """
    if event.reason:
        state.parked = ""
        return
    if not event.operator:
        state.settlement_blocked = False
        lift(state, SETTLEMENT_BLOCKED)
        lift(state, DEALER_SILENT)
        return
    state.paused = state.parked = ""
    if state.life is Life.DRAINING:
        state.life = Life.OPEN


def _draining(state: Table, _event: ev.TableDraining) -> None:
    """Offers end, since nobody can sit down now; the waiting list stays."""
    state.life = Life.DRAINING
    state.waiting = tuple([replace(waiter, seat=0, expires_at_ms=0) for waiter in state.waiting])


def _closing(state: Table, _event: ev.TableClosing) -> None:
    state.life = Life.CLOSING
    state.waiting = ()


def _closed(state: Table, _event: ev.TableClosed) -> None:
    state.life = Life.CLOSED


APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
    ev.TableOpened: _table_opened,
    ev.TableHandVerified: _hand_verified,
    ev.TableHandDisputed: _hand_disputed,
    ev.TableHandResolved: _hand_resolved,
    ev.TablePaused: _paused,
    ev.TableResumed: _resumed,
    ev.TableDraining: _draining,
    ev.TableClosing: _closing,
    ev.TableClosed: _closed,
}

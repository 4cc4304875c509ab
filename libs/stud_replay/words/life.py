"""Opening, pausing, draining, closing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core import events as ev
from stud_core.house_rules.saying import money
from stud_core.state import CASH_OUT_BLOCKED, DEALER_SILENT, DISPUTED, NOT_CONSERVED, SETTLEMENT_BLOCKED, Table
from stud_replay.words.saying import Told

_PAUSES: Final = {
    DISPUTED: "a hand is in dispute",
    SETTLEMENT_BLOCKED: "the ledger could not book a hand",
    DEALER_SILENT: "a hand waits for its cards",
    CASH_OUT_BLOCKED: "a cash-out is held",
    NOT_CONSERVED: "a decision would have made or lost chips",
}


def _opened(_state: Table, event: ev.TableOpened) -> Told:
    config = event.config
    stakes = f"{money(config.small_bet)}/{money(config.big_bet)} {config.currency}"
    return Told(f"the table {config.name or config.table_id} is opened: {config.ruleset.name}, {stakes}")


def _paused(_state: Table, event: ev.TablePaused) -> Told:
    if event.operator:
        return Told(f"the table is paused by {event.operator}: {event.reason}", "no new hand; a running one goes on")
    return Told(f"the table is paused: {event.reason}", _PAUSES.get(event.reason, "a running hand goes on"))


def _resumed(_state: Table, event: ev.TableResumed) -> Told:
    by = f" by {event.operator}" if event.operator else ""
    why = f"what it was paused for is over{f': {event.reason}' if event.reason else ''}"
    return Told(f"the table goes on{by}", "" if event.operator else why)


def _draining(_state: Table, event: ev.TableDraining) -> Told:
    return Told(f"the table starts no more hands{f', {event.operator}' if event.operator else ''}", "draining")


def _closing(_state: Table, event: ev.TableClosing) -> Told:
    by = f" by {event.operator}" if event.operator else ""
    return Told(f"the table is closed{by}", "everybody is paid out, players of a running hand after it")


def _closed(_state: Table, _event: ev.TableClosed) -> Told:
    return Told("the table is closed for good", "the last player has been paid")


SAY: Final[dict[type, Callable[[Table, Any], Told]]] = {
    ev.TableOpened: _opened,
    ev.TablePaused: _paused,
    ev.TableResumed: _resumed,
    ev.TableDraining: _draining,
    ev.TableClosing: _closing,
    ev.TableClosed: _closed,
}

"""Why no hand starts at a table; the shell adds what needs a clock or a memory gauge (architecture.md, "A hand")."""

from __future__ import annotations

from enum import StrEnum

from stud_core.state import Life, Sit, Table


class Wait(StrEnum):
    """What a table waits for before its next hand; NOTHING is falsy."""

    NOTHING = ""
    HAND_RUNNING = "HAND_RUNNING"
    DISPUTED = "DISPUTED"
    PAUSED = "PAUSED"
    DRAINING = "DRAINING"
    CLOSING = "CLOSING"
    CLOSED = "CLOSED"
    VERIFYING = "VERIFYING"
    TOO_FEW_PLAYERS = "TOO_FEW_PLAYERS"
    DECK_NOT_READY = "DECK_NOT_READY"


def hand_gate(state: Table) -> Wait:
    """Why no hand may start now, NOTHING (falsy) when one may.

    ``hand_pause_ms`` after the last hand and the server's memory are not looked at: they are the service's business.
    """
    if state.hand is not None:
        return Wait.HAND_RUNNING
    if state.life is not Life.OPEN:
        return Wait[state.life.name]
    if state.disputed_hand:
        return Wait.DISPUTED
    if state.paused or state.parked:
        return Wait.PAUSED
    if state.verified_hand < state.ended_hand:
        return Wait.VERIFYING
    if sum([bool(number) and is_ready(state, seat) for seat, number in enumerate(state.seats)]) < 2:
        return Wait.TOO_FEW_PLAYERS
    if state.deck_hand_no != state.hand_no + 1:
        return Wait.DECK_NOT_READY
    return Wait.NOTHING


def is_ready(state: Table, seat: int) -> bool:
    """Whether the player here is dealt into the next hand: seated, not sitting out, chips to play with."""
    sitting = state.at(seat)
    return sitting.status is Sit.SEATED and not sitting.sitting_out and sitting.stack > 0

"""Chips of sittings, replaced rather than changed, because older states share them."""

from __future__ import annotations

from copy import copy

from stud_core.state import Sitting, Table


def own(state: Table, sitting_no: int) -> Sitting:
    """Put a copy of the sitting into the state and return it, free to be changed."""
    mine = copy(state.sittings[sitting_no])
    state.sittings[sitting_no] = mine
    return mine


def set_stack(state: Table, seat: int, stack: int) -> None:
    """Set the stack in front of a seat, minor units."""
    number = state.seats[seat]
    mine = copy(state.sittings[number])
    mine.stack = stack
    state.sittings[number] = mine

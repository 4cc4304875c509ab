"""Changing what older states share: a copy of it goes into the new one."""

from __future__ import annotations

from typing import TypeVar

from stud_core.state import Sitting, Table

T = TypeVar("T")


def own(state: Table, sitting_no: int) -> Sitting:
    """Put a copy of the sitting into the state and return it, free to be changed."""
    state.sittings[sitting_no] = mine = state.sittings[sitting_no].__copy__()
    return mine


def set_stack(state: Table, seat: int, stack: int) -> None:
    """Set the stack in front of a seat, minor units."""
    number = state.seats[seat]
    state.sittings[number] = mine = state.sittings[number].__copy__()
    mine.stack = stack


def put(values: list[T], seat: int, value: T) -> list[T]:
    """Return a list like ``values`` with a new value for one seat."""
    mine = values.copy()
    mine[seat] = value
    return mine


def lift(state: Table, reason: str) -> None:
    """End a pause with this reason, unless another pause about money stands."""
    if state.paused == reason:
        state.paused = state.standing

"""Which clocks run after a version: whose, until when, and whether this version set them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from stud_core.state import Sit, Table


class ClockKind(StrEnum):
    """What is waited for."""

    TURN = "turn"
    ANTE = "ante"
    SHOW = "show"
    RESERVATION = "reservation"
    SIT_OUT = "sit_out"


class Clock(msgspec.Struct, frozen=True, gc=False):
    """A deadline, milliseconds since the epoch; 0 = the question is open without one. ``armed``: by this version."""

    kind: ClockKind
    seat: int
    account: str
    deadline_ms: int
    armed: bool


def clocks(before: Table, after: Table) -> tuple[Clock, ...]:
    """Return the clocks that run in ``after``, by seat."""
    known = set(_running(before))
    found = [Clock(*clock[:-1], armed=clock not in known) for clock in _running(after)]
    return tuple(sorted(found, key=lambda clock: (clock.seat, clock.kind)))


def _running(table: Table) -> Iterator[tuple[ClockKind, int, str, int, int]]:
    """Kind, seat, account, deadline, and the number of the question."""
    for sitting in table.sittings.values():
        if sitting.status is Sit.RESERVED:
            number = sitting.sitting_no
            yield ClockKind.RESERVATION, sitting.seat, sitting.account, sitting.expires_at_ms, number
        elif sitting.status is Sit.SEATED and sitting.out_until_ms:
            yield ClockKind.SIT_OUT, sitting.seat, sitting.account, sitting.out_until_ms, sitting.sitting_no
    hand = table.hand
    if hand is None:
        return
    if hand.turn_seat:
        yield ClockKind.TURN, hand.turn_seat, table.at(hand.turn_seat).account, hand.deadline_ms, hand.turn_id
    for prompt in hand.prompts:
        kind = ClockKind.ANTE if prompt.kind is None else ClockKind.SHOW
        yield kind, prompt.seat, table.at(prompt.seat).account, prompt.deadline_ms, prompt.prompt_id

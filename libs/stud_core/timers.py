"""When a table next needs a Tick."""

from __future__ import annotations

from stud_core.presence import idle_at
from stud_core.state import Sit, Table


def idle_times(state: Table) -> list[int]:
    """When the clocks of those who sit out run out, milliseconds since the epoch."""
    due = [idle_at(state, sitting) for sitting in state.sittings.values() if sitting.out_until_ms]
    return [at for at in due if at is not None]


def offer_times(state: Table) -> list[int]:
    """When the offers of seats end, milliseconds since the epoch."""
    return [waiter.expires_at_ms for waiter in state.waiting if waiter.seat]


def next_deadline(state: Table) -> int | None:
    """Earliest time, milliseconds since the epoch, at which ``Tick`` has work: turn, prompts, reservations, players who
    sit out, offers of seats.
    """
    due = [s.expires_at_ms for s in state.sittings.values() if s.status is Sit.RESERVED]
    due += idle_times(state)
    due += offer_times(state)
    hand = state.hand
    if hand is not None:
        if hand.deadline_ms:
            due.append(hand.deadline_ms)
        due += [prompt.deadline_ms for prompt in hand.prompts if prompt.deadline_ms]
    return min(due, default=None)

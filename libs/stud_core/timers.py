"""When a table next needs a Tick."""

from __future__ import annotations

from stud_core.state import Sit, Table


def next_deadline(state: Table) -> int | None:
    """Earliest time, milliseconds since the epoch, at which ``Tick`` has work: turn, prompts, reservations."""
    due = [s.expires_at_ms for s in state.sittings.values() if s.status is Sit.RESERVED]
    hand = state.hand
    if hand is not None:
        if hand.deadline_ms:
            due.append(hand.deadline_ms)
        due += [prompt.deadline_ms for prompt in hand.prompts if prompt.deadline_ms]
    return min(due, default=None)

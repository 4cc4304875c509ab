"""Whoever leaves with chips and comes back soon brings them back: leaving takes no winnings off the table (B.19)."""

from __future__ import annotations

from stud_core.state import Left, Sitting, Table


def back_until(state: Table, sitting: Sitting, now_ms: int) -> int:
    """Until when the chips that a leaver takes along have to be brought back; 0 = nothing has to."""
    memory = state.rules.ruleset.rathole_ms
    return now_ms + memory if memory and sitting.stack + sitting.pending else 0


def left_behind(state: Table, account: str, now_ms: int) -> Left | None:
    """What the account must bring back now, if anything.

    A memory that would last longer than any can was made by a clock that was ahead: when it should end is unknown, so
    it is over.
    """
    left = state.left.get(account)
    if left is None or not now_ms < left.until_ms <= now_ms + state.rules.ruleset.rathole_ms:
        return None
    return left

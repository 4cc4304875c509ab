"""Who is in the running hand, and who has sat out for so long that the seat is given up (B.17)."""

from __future__ import annotations

from stud_core.state import Phase, Sit, Sitting, Table


def in_hand(state: Table, sitting: Sitting) -> bool:
    """Whether the sitting was dealt into the running hand, or has posted its ante for the coming one."""
    hand = state.hand
    if hand is None or state.seats[sitting.seat] != sitting.sitting_no:
        return False
    return hand.live[sitting.seat] if hand.phase is Phase.ANTES else sitting.last_hand == hand.hand_no


def idle_at(state: Table, sitting: Sitting) -> int | None:
    """When the clock of a player who sits out runs out, milliseconds since the epoch; None = never, or not before the
    last hand dealt in is final.
    """
    return sitting.out_until_ms if sitting.out_until_ms and _may_be_sent_off(state, sitting) else None


def is_idle(state: Table, sitting: Sitting, now_ms: int) -> bool:
    """Whether the player has sat out for so long, or missed so many hands, that the seat is given up now."""
    most = state.rules.ruleset.sit_out_max_hands
    missed = most is not None and sitting.hands_missed >= most
    return (missed or 0 < sitting.out_until_ms <= now_ms) and _may_be_sent_off(state, sitting)


def _may_be_sent_off(state: Table, sitting: Sitting) -> bool:
    if sitting.status is not Sit.SEATED or not sitting.sitting_out:
        return False
    return sitting.last_hand <= state.verified_hand and not in_hand(state, sitting)

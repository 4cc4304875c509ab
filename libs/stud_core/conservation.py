"""Conservation of chips: checked on the folded copy before every append (architecture.md, "Conservation")."""

from __future__ import annotations

from stud_core.state import Table


def check(state: Table) -> str | None:
    """What is wrong with the chips of a table, None when all are accounted for (minor units).

    Stacks + pending top-ups + chips in play + rake = paid in - paid out. A sitting's chips count until the
    wallet has paid them out; a top-up counts once it is funded.
    """
    held = 0
    for sitting in state.sittings.values():
        if sitting.stack < 0 or sitting.pending < 0:
            return f"sitting {sitting.sitting_no} has {sitting.stack} and {sitting.pending} pending"
        held += sitting.stack + sitting.pending
    hand = state.hand
    if hand is not None:
        in_play = sum(hand.paid) - hand.awarded
        if in_play < 0 or min(hand.bet) < 0 or min(hand.paid) < 0 or hand.rake < 0:
            return f"hand {hand.hand_no} holds {in_play} in play, {hand.paid} paid, {hand.bet} bet, {hand.rake} rake"
        held += in_play + hand.rake
    if state.rake_taken < 0 or state.ended_rake < 0:
        return f"rake of {min(state.rake_taken, state.ended_rake)}"
    total = held + state.rake_taken
    if total != state.paid_in - state.paid_out:
        return f"{total} at the table, but {state.paid_in} paid in and {state.paid_out} paid out"
    return None

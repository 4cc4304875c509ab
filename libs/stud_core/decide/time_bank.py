"""More time for a turn: a chip of the player's time bank, or the house's for a lost connection (B.18)."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide.draft import Answer
from stud_core.rejection import Reason, Rejection
from stud_core.state import Hand, Sitting, Table


def chips_for_hand(state: Table, sitting: Sitting) -> int | None:
    """How many time chips a player has for the hand that begins; None where the house has no time bank."""
    ruleset = state.rules.ruleset
    if not ruleset.time_bank_ms:
        return None
    most, refill = ruleset.time_bank_chips or 1, ruleset.time_bank_refill_hands
    if not sitting.hands_played:
        return most
    is_refilled = refill is not None and sitting.hands_played % refill == 0
    return min(most, sitting.time_chips + is_refilled)


def use_time_chip(state: Table, command: cmd.UseTimeChip, ctx: Context) -> Answer:
    """Take longer over the turn, for a chip; its time is added to the deadline."""
    hand = state.hand
    if state.of(command.account) is None:
        return Rejection(Reason.NOT_SEATED, "the account does not sit at this table")
    if hand is None:
        return Rejection(Reason.NO_HAND, "no hand is running")
    if not hand.turn_seat or state.at(hand.turn_seat).account != command.account:
        return Rejection(Reason.NOT_YOUR_TURN, "it is not this account's turn")
    if command.turn_id != hand.turn_id:
        text = f"the turn is {hand.turn_id}, not {command.turn_id}"
        return Rejection(Reason.STALE_TURN, text, turn_id=hand.turn_id)
    if hand.deadline_ms and ctx.now_ms > hand.deadline_ms:
        return Rejection(Reason.DEADLINE_PASSED, "the time chip came after the deadline", "B.18")
    chips = state.at(hand.turn_seat).time_chips
    if not chips or not hand.deadline_ms:
        return Rejection(Reason.NO_TIME_CHIP, _why_none(state, hand), "B.18")
    deadline = hand.deadline_ms + state.rules.ruleset.time_bank_ms
    return [ev.ClockExtended(hand.turn_id, hand.turn_seat, deadline, ev.Extension.TIME_CHIP, chips - 1)]


def _why_none(state: Table, hand: Hand) -> str:
    if not state.rules.ruleset.time_bank_ms:
        return "this table has no time bank"
    return "no time chip is left" if hand.deadline_ms else "no clock runs at this table"


def protect_turn(state: Table, command: cmd.ProtectTurn, ctx: Context) -> Answer:
    """The clock of a player whose connection is lost has run out: once in a hand the house gives them more time."""
    hand, extra = state.hand, state.rules.ruleset.reconnect_ms
    if hand is None or not hand.turn_seat or command.turn_id != hand.turn_id:
        return Rejection(Reason.STALE_TURN, f"turn {command.turn_id} is not open")
    if not may_protect(state, ctx.now_ms):
        return Rejection(Reason.ALREADY_DONE, "no more time is due to this turn", "B.18")
    chips = state.at(hand.turn_seat).time_chips
    deadline = ctx.now_ms + (extra or 0)
    return [ev.ClockExtended(hand.turn_id, hand.turn_seat, deadline, ev.Extension.RECONNECT, chips)]


def may_protect(state: Table, now_ms: int) -> bool:
    """Whether the open turn's clock has run out, and the house gives more time to one whose connection is lost."""
    hand = state.hand
    if hand is None or not hand.turn_seat or not 0 < hand.deadline_ms <= now_ms:
        return False
    return bool(state.rules.ruleset.reconnect_ms) and hand.turn_seat not in hand.protected

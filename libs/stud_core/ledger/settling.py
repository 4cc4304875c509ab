"""Verified hands: the referee's figures, strictly in hand order per table, or nothing moves.

See architecture.md, "The end of a hand".
"""

from __future__ import annotations

from typing import Any

from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.names import escrow
from stud_core.ledger.state import Ledger


def settle(state: Ledger, command: cmd.SettleHand, _: int) -> list[Any]:
    """Book a final verdict. A hand behind a blocked one waits: it is handed in again when that one is settled.

    A cash-out that was blocked because this hand was not settled is paid in the same commit, if the claim is right.
    """
    if command.hand_no <= state.settled.get(command.table, 0):
        return []
    problem = obstacle(state, command)
    place = (command.table, command.hand_no, command.verdict_version)
    if problem:
        return [] if command.table in state.blocked else [ev.SettlementBlocked(*place, problem)]
    return [ev.HandSettled(*place, command.postings, command.rake), *_released(state, command, _net(command))]


def obstacle(state: Ledger, command: cmd.SettleHand) -> str:
    """Say why the next hand cannot be booked now: a reason's name, empty when it can."""
    if command.hand_no != state.settled.get(command.table, 0) + 1:
        return "HAND_NOT_ENDED"  # the hand before it has no final verdict
    return command.refusal or _wrong_figures(state, command, _net(command))


def _net(command: cmd.SettleHand) -> dict[int, int]:
    net: dict[int, int] = {}
    for posting in command.postings:
        net[posting.sitting_no] = net.get(posting.sitting_no, 0) + posting.delta
    return net


def _wrong_figures(state: Ledger, command: cmd.SettleHand, net: dict[int, int]) -> str:
    """Say why figures cannot be booked: a reason's name, empty when they can."""
    if sum(net.values()) + command.rake != 0 or command.rake < 0:
        return "INVALID_ADJUSTMENT"
    for posting in command.postings:
        book = state.sittings.get((command.table, posting.sitting_no))
        if book is None or book.account != posting.account or not (book.holds_money or posting.delta == 0):
            return "SITTING_MISMATCH"
    for sitting_no, delta in net.items():
        if state.balance(escrow(command.table, sitting_no)) + delta < 0:
            return "ESCROW_OVERDRAWN"
    return ""


def _released(state: Ledger, command: cmd.SettleHand, net: dict[int, int]) -> list[ev.CashedOut]:
    """Pay the blocked cash-outs of those dealt into this hand (of anybody when it is void) whose claim is right now."""
    paid = []
    for sitting_no in sorted(state.held.get(command.table, ())):
        book = state.sittings[command.table, sitting_no]
        held = state.balance(escrow(command.table, sitting_no)) + net.get(sitting_no, 0)
        if book.claim == held and (sitting_no in net or not net):
            paid.append(ev.CashedOut(command.table, sitting_no, book.account, held))
    return paid

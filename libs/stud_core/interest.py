"""Whoever has an interest in a table decides nothing about it.

Asked where a caller's command is taken, on the state on which it is decided. Never by ``decide``: the referee decides
every recorded commit again, and what was decided before anybody asked stays valid.
"""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core.rejection import Reason, Rejection
from stud_core.state import Table

_ABOUT_A_TABLE = (cmd.PauseTable, cmd.ResumeTable, cmd.DrainTable, cmd.CloseTable, cmd.VoidHand)


def seated_text(role: str = "operator") -> str:
    """What somebody who sits at the table is told; ``role`` must decide it."""
    return f"you have a sitting at this table that is not final: another {role} must do it"


def dealt_in_text(hand_no: int, role: str = "operator") -> str:
    """What somebody who was dealt into the hand is told; ``role`` must decide it."""
    return f"you were dealt into hand {hand_no}: another {role} must do it"


def own_interest(state: Table, command: cmd.Command) -> Rejection | None:
    """Refuse a command of an operator who sits at the table, from their reservation until they are paid, or was dealt
    into the hand they would void; None where they may, and for what no operator asks.
    """
    if not isinstance(command, _ABOUT_A_TABLE) or not command.operator:
        return None
    if state.of(command.operator) is not None:
        return Rejection(Reason.OWN_INTEREST, seated_text())
    if isinstance(command, cmd.VoidHand):
        hands = [hand for hand in (state.hand, state.last_hand) if hand is not None]
        players = [p.account for hand in hands if hand.hand_no == command.hand_no for p in hand.dealt_in]
        if command.operator in players:
            return Rejection(Reason.OWN_INTEREST, dealt_in_text(command.hand_no))
    return None

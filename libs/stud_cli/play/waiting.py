"""Why nothing goes on, in words: what a table waits for, and why it is paused."""

from __future__ import annotations

import re
from typing import Final

from stud.table.v1 import table_service_pb2 as pb

WAITING: Final = {
    "TOO_FEW_PLAYERS": "waiting for another player",
    "VERIFYING": "waiting for the referee, who replays the last hand",
    "DECK_NOT_READY": "waiting for the dealer's next deck",
    "DISPUTED": "the last hand is disputed: operators decide",
    "PAUSED": "paused",
    "DRAINING": "no more hands are started here",
    "CLOSING": "the table is closing: everybody is paid out",
    "CLOSED": "the table is closed",
}

PHASES: Final = {
    pb.HAND_PHASE_ANTES: "waiting for antes",
    pb.HAND_PHASE_DEALING: "waiting for cards from the dealer",
    pb.HAND_PHASE_SHOW_PROMPTS: "waiting for whoever may show or muck",
}

_PAUSES: Final = {
    "DEALER_SILENT": "the dealer is silent: the hand goes on when the cards come",
    "HAND_DISPUTED": "paused: a hand is disputed, operators decide",
    "SETTLEMENT_BLOCKED": "paused: operators look into the payment of a hand",
    "CASH_OUT_BLOCKED": "paused: operators look into a cash-out",
    "NOT_CONSERVED": "paused: operators count the chips",
    "LOG_BEHIND": "paused: operators look into the log; no chip is lost",
    "LOG_BROKEN": "paused: operators look into the log; no chip is lost",
    "LOG_VOLATILE": "no new hand before the log is safe again; a running one is finished",
    "LOG_MEMORY": "no new hand before the log has room again; a running one is finished",
}
_NAME: Final = re.compile(r"[A-Z][A-Z_]+")


def why_paused(reason: str) -> str:
    """Return a pause in words; what an operator wrote is told as it is."""
    if reason in _PAUSES:
        return _PAUSES[reason]
    if reason.startswith("LOG_"):
        return "nothing can be written for now: clocks stand, and start afresh when it is over"
    if _NAME.fullmatch(reason):
        return f"paused by the house ({reason})"
    return f"paused: {reason}"


def clocks_stand(view: pb.TableView) -> bool:
    """Whether deadlines mean nothing, since nothing can be written."""
    return view.paused.startswith("LOG_") and view.waiting_for == "PAUSED"


def waits_for(view: pb.TableView) -> str:
    """Return what is waited for; empty where it is a player's turn, or a hand is about to start."""
    if view.paused and (clocks_stand(view) or not view.phase or view.paused == "DEALER_SILENT"):
        return why_paused(view.paused)
    if view.phase:
        return PHASES.get(view.phase, "")
    return WAITING.get(view.waiting_for, f"waiting ({view.waiting_for})" if view.waiting_for else "")

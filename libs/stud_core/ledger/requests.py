"""Which calls are the same call: a repeated request id gets the first result (architecture.md, "Calls" and "Money").

Deposits and withdrawals are known by (account, request id), whoever books them; everything else that a caller asks for
by (caller, request id). What comes from tables and the referee has no request id: it is idempotent by its numbers.
"""

from __future__ import annotations

import hashlib

import msgspec

from stud_core.ledger import commands as cmd
from stud_core.ledger.commands import Command
from stud_core.ledger.names import player
from stud_core.remembered import name_of

_NOT_CONTENT = frozenset({"request_id", "actor", "operator", "cashier", "after_hand"})


class Origin(msgspec.Struct, frozen=True):
    """Which call a commit answers; all empty for what tables and the referee caused."""

    actor: str = ""
    request_id: str = ""
    content: bytes = b""


NOWHERE = Origin()


def caller_of(command: Command) -> str:
    """Who calls; empty for what comes from a feed."""
    for name in ("cashier", "operator", "actor"):
        if hasattr(command, name):
            return str(getattr(command, name))
    return ""


def origin_of(command: Command) -> Origin:
    """Return what a commit notes of the call that it answers."""
    request_id = getattr(command, "request_id", "")
    return Origin(caller_of(command), request_id, content_of(command)) if request_id else NOWHERE


def key_of(command: Command) -> bytes | None:
    """Name the call; None for what has no request id."""
    request_id = getattr(command, "request_id", "")
    if not request_id:
        return None
    if isinstance(command, cmd.Deposit | cmd.Withdraw):
        return name_of(player(command.account), request_id)
    return call_key(caller_of(command), request_id)


def call_key(actor: str, request_id: str) -> bytes:
    """Name a call by its caller; no player's account is called so."""
    return name_of(f"caller:{actor}", request_id)


def content_of(command: Command) -> bytes:
    """SHA-256 of what a call asks for: kind and fields, without who asks and what they call it."""
    fields = [getattr(command, name) for name in command.__struct_fields__ if name not in _NOT_CONTENT]
    return hashlib.sha256(msgspec.json.encode([type(command).__name__, *fields])).digest()

"""Checks of single fields of a request. Each returns the value it has checked."""

from __future__ import annotations

import re

from stud_eventlog import keys
from stud_service.refusals import Refused

_ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
MAX_REQUEST_ID = 64


def require_account(name: str) -> str:
    """Raises Refused(INVALID_FIELD) unless the wallet can keep an account of that name."""
    if not _ACCOUNT.fullmatch(name):
        text = "account: want 1 to 64 letters, digits and _ . @ -"
        raise Refused("INVALID_FIELD", text, field="account", min="1", max="64")
    return name


def require_table(table_id: str) -> str:
    """Raises Refused(INVALID_FIELD) unless a table may have that id."""
    try:
        return keys.check_table_id(table_id)
    except ValueError as why:
        raise Refused("INVALID_FIELD", str(why), field="table") from None


def require_hand_no(hand_no: int) -> int:
    """Raises Refused(INVALID_FIELD) unless a hand may have that number."""
    if hand_no < 1:
        raise Refused("INVALID_FIELD", f"hand_no is {hand_no}: hands count from 1", field="hand_no", min="1")
    return hand_no


def require_request_id(request_id: str) -> str:
    """Raises Refused(REQUEST_ID_REQUIRED) unless it has 1 to 64 printable characters."""
    if not 1 <= len(request_id) <= MAX_REQUEST_ID or not request_id.isprintable():
        raise Refused(
            "REQUEST_ID_REQUIRED",
            f"request_id has {len(request_id)} characters: want 1 to {MAX_REQUEST_ID} printable ones, made by you",
            field="request_id",
            min="1",
            max=str(MAX_REQUEST_ID),
        )
    return request_id


def require_text(value: str, field: str, max_length: int) -> str:
    """Raises Refused(INVALID_FIELD) unless the text has 1 to `max_length` printable characters, not all blank."""
    limits = {"field": field, "min": "1", "max": str(max_length)}
    if not value.strip():
        raise Refused("INVALID_FIELD", f"{field} is empty: want 1 to {max_length} characters", **limits)
    if len(value) > max_length:
        raise Refused("INVALID_FIELD", f"{field} has {len(value)} characters: want 1 to {max_length}", **limits)
    if not value.isprintable():
        raise Refused("INVALID_FIELD", f"{field} has control characters: want printable text", **limits)
    return value

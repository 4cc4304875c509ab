"""Page tokens: where the next page of a list begins, for a client that cannot make one up.

A token holds a position and a digest of it, of the list and of what was asked for, so that one that is cut, typed, or
sent with another question is refused. It is not a secret and opens nothing: every page checks the caller as the first
did, and a position only says after which line to go on.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TypeVar

import msgspec

from stud_service.refusals import Refused

MAX_PAGE = 1000
MAX_TOKEN = 512
DIGEST_SIZE = 8

Position = TypeVar("Position")


def page_size(asked: int, usual: int, field: str = "page_size") -> int:
    """Returns how many lines a page has at most. Raises Refused(INVALID_FIELD)."""
    if not 0 <= asked <= MAX_PAGE:
        text = f"{field} {asked}: want 1 to {MAX_PAGE}, or 0 for the usual {usual}"
        raise Refused("INVALID_FIELD", text, field=field, min="0", max=str(MAX_PAGE))
    return asked or usual


def make_token(question: tuple[str | bool, ...], position: object) -> str:
    """Returns the token for what follows a position; `question` is the list's name and whatever it was filtered by."""
    place = msgspec.msgpack.encode(position)
    digest = hashlib.sha256(msgspec.msgpack.encode((question, place))).digest()[:DIGEST_SIZE]
    return base64.urlsafe_b64encode(digest + place).decode().rstrip("=")


def read_token(question: tuple[str | bool, ...], token: str, kind: type[Position]) -> Position | None:
    """Returns the position in a token of the same question, None for the first page. Raises Refused(INVALID_FIELD)."""
    if not token:
        return None
    try:
        data = base64.b64decode(token[:MAX_TOKEN] + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        position = msgspec.msgpack.decode(data[DIGEST_SIZE:], type=kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise wrong_token() from None
    if make_token(question, position) != token:
        raise wrong_token()
    return position


def wrong_token() -> Refused:
    """Returns the refusal of a token that is invalid, or another question's."""
    text = "page_token: want next_page_token of the page before, with the other fields as they were; empty = the first"
    return Refused("INVALID_FIELD", text, field="page_token")

"""The list of revoked tokens: a text file, one token a line, `<jti> <second of its end>`; `#` begins a comment.

A token is on it until it would have ended by itself. So the list stays short by itself, and whoever writes it may drop
old lines at any time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

MAX_ENTRIES: Final = 100_000
MAX_BYTES: Final = 16 * 1024 * 1024
MAX_ID: Final = 128
"""Characters of a `jti`."""

WANTED: Final = "want '<jti> <seconds since the epoch at which the token ends>', one token a line"


def is_token_id(text: object) -> bool:
    """Whether something can be the id of a token: 1 to 128 printable characters without spaces."""
    return isinstance(text, str) and 1 <= len(text) <= MAX_ID and text.isprintable() and " " not in text


def revoked_in(text: bytes) -> dict[str, float]:
    """Returns the ids in a list and when each would have ended. Raises ValueError naming the first line that is wrong:
    a list that is half understood would let somebody in.
    """
    try:
        lines = text.decode().splitlines()
    except UnicodeDecodeError:
        raise ValueError("want text in UTF-8") from None
    found: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        told = line.partition("#")[0].split()
        if not told:
            continue
        end_s = _seconds(told[1]) if len(told) == 2 and is_token_id(told[0]) else None
        if end_s is None:
            raise ValueError(f"line {number}: {WANTED}")
        found[told[0]] = max(end_s, found.get(told[0], 0.0))
    if len(found) > MAX_ENTRIES:
        raise ValueError(f"want at most {MAX_ENTRIES} tokens: those that have ended need no line")
    return found


def list_of(revoked: Mapping[str, float]) -> bytes:
    """Returns the text of a list."""
    lines = [f"{token_id} {math.ceil(end_s)}\n" for token_id, end_s in sorted(revoked.items())]
    return "".join(["# revoked tokens: jti, and the second at which each would have ended\n", *lines]).encode()


def still_good(revoked: Mapping[str, float], now_s: float) -> dict[str, float]:
    """Returns those that have not ended by themselves."""
    return {token_id: end_s for token_id, end_s in revoked.items() if end_s > now_s}


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None

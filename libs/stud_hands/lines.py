"""Finds JSON values that a printer has spread over lines, so that each is reported as one and not line by line.

What a hand is, is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

_OPENING: Final = {b"{": b"}", b"[": b"]"}
_MOST_LINES: Final = 100_000  # of one value; a file that goes on longer is read line by line


def whole_values(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines as they come; those that only together make one value as one, with the first one's number.

    Printers leave the opening bracket alone on its line, and the closing one below it. Nothing else is held back.
    """
    for number, line in lines:
        closing = _OPENING.get(line.rstrip())
        if closing is None:
            yield number, line
            continue
        held = [(number, line)]
        for following in lines:
            held.append(following)
            if following[1].rstrip() == closing or len(held) > _MOST_LINES:
                break
        whole = b"".join(text for _, text in held)
        if _is_json(whole):
            yield number, whole
        else:
            yield from held


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True

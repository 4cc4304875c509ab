"""What people write on the command line, as the index asks it: money and times."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

_DECIMAL: Final = re.compile(r"([0-9]{1,16})\.([0-9]{2})")
_EPOCH_MS: Final = re.compile(r"[0-9]{13}")
_MINOR: Final = re.compile(r"[0-9]{1,18}")


def minor_units(text: str) -> int:
    """Return an amount: ``1250`` (minor units) and ``12.50`` are the same. Raises ValueError."""
    plain = text.strip().replace(",", "")
    if decimal := _DECIMAL.fullmatch(plain):
        return int(decimal[1]) * 100 + int(decimal[2])
    if _MINOR.fullmatch(plain):
        return int(plain)
    raise ValueError(f"{text!r}: want an amount in minor units such as 1250, or with two decimals such as 12.50")


def moment_ms(text: str) -> int:
    """Return an ISO 8601 moment in milliseconds since the epoch; without an offset it is UTC, without a time midnight.
    So many milliseconds, 13 digits, are one too. Raises ValueError.
    """
    if _EPOCH_MS.fullmatch(text.strip()):
        return int(text)
    try:
        at = dt.datetime.fromisoformat(text.strip())
        if at.tzinfo is None:
            at = at.replace(tzinfo=dt.UTC)
        return int(at.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r}: want a moment such as 2026-03-31, 2026-03-31T21:05 or 2026-03-31T21:05:00+02:00"
        ) from None

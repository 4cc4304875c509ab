"""What people write on the command line, read strictly: money, times, ids, reasons."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from stud_eventlog.keys import check_table_id
from stud_service.checks import require_account, require_text
from stud_service.refusals import Refused

_DECIMAL: Final = re.compile(r"([0-9]{1,16})\.([0-9]{2})")
_EPOCH_MS: Final = re.compile(r"[0-9]{13}")
_MINOR: Final = re.compile(r"[0-9]{1,18}")

MAX_REASON: Final = 500
"""Characters that the dealer takes."""


def minor_units(text: str) -> int:
    """Return an amount: ``1250`` (minor units) and ``12.50`` are the same. Raises ValueError, for a comma too: whether
    it parts thousands or decimals is a matter of the country.
    """
    plain = text.strip()
    if decimal := _DECIMAL.fullmatch(plain):
        return int(decimal[1]) * 100 + int(decimal[2])
    if _MINOR.fullmatch(plain):
        return int(plain)
    raise ValueError(
        f"{text!r}: want an amount in minor units such as 1250, or with two decimals such as 12.50, without commas"
    )


def table_id(text: str) -> str:
    """Return what may be a table's id. Raises ValueError, which says what one is made of."""
    return check_table_id(text)


def account_id(text: str) -> str:
    """Return what may be an account's id. Raises ValueError, which says what one is made of."""
    try:
        return require_account(text)
    except Refused as refused:
        raise ValueError(f"{text[:80]!r}: {refused.text}") from None


def reason_text(text: str) -> str:
    """Return a reason that a log may keep. Raises ValueError for one that is blank, over 500 characters, or that cannot
    be printed.
    """
    try:
        return require_text(text, "reason", MAX_REASON)
    except Refused as refused:
        raise ValueError(refused.text) from None


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

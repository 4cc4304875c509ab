"""Times of a log as people write them."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(at_ms: int) -> str:
    """Return milliseconds since the epoch as ISO 8601, UTC: ``2026-11-30T21:04:05.123Z``; empty for 0."""
    if not at_ms:
        return ""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""What a position in a feed may be. Pure rules that all adapters share."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from stud_eventlog import keys
from stud_eventlog.entries import id_parts
from stud_eventlog.types import START

logger = logging.getLogger(__name__)

_TOO_MANY = 2**64


def is_log(feed: str) -> bool:
    name = keys.parse_stream(feed)
    return name is not None and name.is_log


def stored_position(cursor: str, stored: object) -> str:
    """Returns what a stored cursor says. One that is no position counts as none: its reader starts over, which does no
    harm, and nobody else has to stand still for it.
    """
    if stored is None:
        return START
    try:
        text = stored.decode("ascii") if isinstance(stored, bytes) else str(stored)
        if max(id_parts(text)) < _TOO_MANY:
            return text
    except ValueError:
        pass
    logger.critical("%s is no position: its reader starts from the beginning", cursor)
    return START


def check_trimmable(feed: str, readers: Sequence[str]) -> None:
    if is_log(feed):
        raise ValueError(f"{feed} is a log: only feeds are trimmed")
    if not readers:
        raise ValueError(f"{feed}: the readers whose cursors count must be named")


def is_relic(position: str, last: str, is_there: bool, of_a_log: bool) -> bool:
    """Returns whether a position points at nothing its feed still has: it comes from a past that the feed has lost.

    Trimming keeps the entry at every cursor, so in a feed a position that is not there is wrong even below the last id.
    """
    if position == START:
        return False
    return id_parts(position) > id_parts(last) or not (is_there or of_a_log)

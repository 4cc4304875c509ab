"""At which seat an account was dealt into a finished hand: what decides whose down cards are opened.

Unlike the question who has an interest, this one is answered only by a log that is whole: the range of the table's log
must lead, hash by hash, to the head that the deck was closed with.
"""

from __future__ import annotations

from stud_core.deck_events import LogRef
from stud_core.events import HandStarted
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import read_forwards
from stud_eventlog.types import StoredCommit
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit

_STARTED = frozenset({HandStarted})


async def seat_in(log: CommitLog, hand: LogRef, hand_no: int, account: str) -> int:
    """Return the seat, 0 = the account was not dealt in. Raises Refused(LOG_BROKEN), EventLogError, WireError."""
    seat, before, version = 0, None, hand.from_version
    async for stored in read_forwards(log, hand.stream, hand.from_version - 1, up_to=hand.to_version):
        if stored.version != version or (before is not None and stored.prev_hash != before.hash):
            raise _broken(hand)
        for event in decode_commit(stored.body, _STARTED).events:
            if event.hand_no == hand_no:
                seat = next((player.seat for player in event.dealt_in if player.account == account), 0)
        before, version = stored, version + 1
    if not _is_whole(hand, before):
        raise _broken(hand)
    return seat


def _is_whole(hand: LogRef, last: StoredCommit | None) -> bool:
    return last is not None and (last.version, last.hash) == (hand.to_version, hand.head_hash)


def _broken(hand: LogRef) -> Refused:
    text = "the table's log is not what the deck was closed with: its data must be restored first"
    return Refused("LOG_BROKEN", text, stream=hand.stream)

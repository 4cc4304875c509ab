"""Messages from the house to accounts: a few for each, for a day, in memory alone.

They are words, and nothing rests on them: what must not be lost goes another way. So a restart forgets them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable

import msgspec

from stud.table.v1 import table_service_pb2 as pb
from stud_service.refusals import Refused

MOST_EACH = 20
"""Messages that are kept for an account; the oldest goes first."""

MOST_ACCOUNTS = 10_000
"""Accounts that messages are kept for, the latest ones written to: 300 MB if somebody tried."""

MOST_REQUESTS = 1_000
"""Calls that are remembered, for those who ask again."""

MAX_TEXT = 500
DAY_MS = 86_400_000


class Sent(msgspec.Struct, frozen=True):
    """A message that was sent: by which request, and to how many."""

    digest: bytes
    message_no: int
    accounts: int
    watching: int


class HouseMessages:
    """All that are kept."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, deque[pb.HouseMessage]] = OrderedDict()
        self._sent: OrderedDict[tuple[str, str], Sent] = OrderedDict()
        self._last_no = 0

    def sent_before(self, operator: str, request_id: str, digest: bytes) -> Sent | None:
        """Return what came of the same request. Raises Refused(REQUEST_ID_REUSED)."""
        found = self._sent.get((operator, request_id))
        if found is not None and found.digest != digest:
            raise Refused("REQUEST_ID_REUSED", f"request_id {request_id!r} was used for another message: send a new id")
        return found

    def remember(self, operator: str, request_id: str, sent: Sent) -> None:
        """Note what came of a request."""
        self._sent[operator, request_id] = sent
        if len(self._sent) > MOST_REQUESTS:
            self._sent.popitem(last=False)

    def send(self, accounts: Iterable[str], table: str, text: str, now_ms: int, keep_ms: int) -> int:
        """Keep a message for each account, and return its number: greater than any before, after a restart too."""
        self._last_no = max(self._last_no + 1, now_ms)
        message = pb.HouseMessage(
            message_no=self._last_no, at_ms=now_ms, until_ms=now_ms + keep_ms, table=table, text=text
        )
        for account in accounts:
            self._of.setdefault(account, deque(maxlen=MOST_EACH)).append(message)
            self._of.move_to_end(account)
            if len(self._of) > MOST_ACCOUNTS:
                self._of.popitem(last=False)
        return self._last_no

    def of(self, account: str, now_ms: int, after_no: int = 0) -> list[pb.HouseMessage]:
        """Return an account's messages behind a number that are still good, oldest first."""
        kept = self._of.get(account, ())
        return [message for message in kept if message.message_no > after_no and message.until_ms > now_ms]

    def drop_old(self, now_ms: int) -> None:
        """Forget those who have no message that is still good, as far as they were written to first."""
        while self._of and all(message.until_ms <= now_ms for message in next(iter(self._of.values()))):
            self._of.popitem(last=False)

"""An account and its movements, as a stream: the account as it is, after each change, with the entries behind it.

Nothing is queued for anybody: a watcher is woken, asks the ledger for the page of entries behind the last one it told,
and tells them. A client that reads slowly is told of several changes at once, and of every entry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from stud.wallet.v1 import wallet_service_pb2 as pb
from stud_core.ledger.state import Ledger
from stud_eventlog.log import CommitLog
from wallet_service.book import Book
from wallet_service.transfers import read_transfers

PAGE = 100
"""Entries in a message."""

View = Callable[[Ledger, str], pb.GetAccountResponse]
Write = Callable[[pb.WatchAccountResponse], Awaitable[None]]


class Now(NamedTuple):
    """The account, versions of the entries behind the last one told, and whether there are more."""

    account: pb.GetAccountResponse
    versions: list[int]
    more: bool


class AccountWatch:
    """Serves those who watch accounts of one ledger."""

    def __init__(self, log: CommitLog, clock: Callable[[], int], view: View) -> None:
        self._log = log
        self._clock = clock
        self._view = view

    async def serve(self, book: Book, account: str, shown_to: str, after: int | None, write: Write) -> None:
        """Tell until they go away. ``after``: the last version whose entries they have; None = all there are.

        Raises Refused: UNKNOWN_ACCOUNT, STOPPING, and what the ledger refuses.
        """
        told: pb.GetAccountResponse | None = None
        with book.bell.listening(account) as ear:
            while True:
                ear.news.clear()
                book.check_not_behind()
                now = await self._now(book, account, after)
                transfers = await read_transfers(self._log, book, now.versions, account, shown_to)
                after = now.versions[-1] if now.more else now.account.version
                message = pb.WatchAccountResponse(transfers=transfers, version=after, sent_at_ms=self._clock())
                if not now.more:
                    message.account.CopyFrom(now.account)
                if transfers or told is None or not _same(told, now.account):
                    await write(message)
                if now.more:
                    continue
                told = now.account
                await ear.news.wait()
                if ear.why is not None:
                    raise ear.why

    async def _now(self, book: Book, account: str, after: int | None) -> Now:
        def look(state: Ledger) -> Now:
            view = self._view(state, account)
            if after is None:
                return Now(view, [], more=False)
            versions = book.entries.page(account, after, PAGE)
            return Now(view, versions, bool(versions and book.entries.page(account, versions[-1], 1)))

        return await book.read(look)


def _same(told: pb.GetAccountResponse, now: pb.GetAccountResponse) -> bool:
    """Whether nothing has changed but the version, which every entry of anybody moves."""
    then = pb.GetAccountResponse()
    then.CopyFrom(told)
    then.version = now.version
    return then == now

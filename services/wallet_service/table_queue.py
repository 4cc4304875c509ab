"""A table's commands, queued in order without waiting for each other. After one that fails, all fail."""

from __future__ import annotations

import asyncio

from stud_core.ledger.commands import Command, FundTopUp
from stud_core.ledger.events import HandSettled
from wallet_service.book import Asked, Book, Done


class TableQueue:
    """Commands of one table on their way into its ledger."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.handed_in: set[int] = set()
        """Versions of the verdicts among them."""
        self._mails: list[Asked] = []
        self._book: Book | None = None

    async def post(self, book: Book, command: Command, cause: tuple[str, int]) -> None:
        """Queue a command behind those before it."""
        if self._book not in {None, book}:
            await self.durable()  # order holds within one ledger only
        self._book = book
        last = self._mails[-1] if self._mails else None
        self._mails.append(book.post(command, cause=cause, after=last))

    async def durable(self) -> list[Done]:
        """Wait until everything is written; raises the first failure."""
        if self._mails:  # not gathered: a waiter who goes away must not settle what is still on its way
            await asyncio.wait([mail.future for mail in self._mails])
        return [mail.future.result() for mail in self._mails]

    async def unblocks(self) -> bool:
        """Wait for everything; whether a hand that could not be settled before may be settled now."""
        done = await self.durable()
        topped_up = any(isinstance(mail.command, FundTopUp) for mail in self._mails)
        return topped_up or any(isinstance(event, HandSettled) for answer in done for event in answer.events)

"""A player's money: what the account holds, what a sitting was paid, and play money that is made up where it is meant
to be (XTS, and nobody is asked for a key they do not have).
"""

from __future__ import annotations

import contextlib
from typing import Final

from stud.events.v1 import ledger_events_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_client import StudClient, StudError, pages

PLAYER: Final = "player:"
"""Before an account's name in the ledger."""

CASHED_OUT: Final = "CashedOut"
BUY_INS: Final = 10
"""How much play money is made up at a time."""

PAGE: Final = 1000
REFERENCE: Final = "play money"


class Purse:
    """The money of ``account`` in one currency. With a ``cashier`` what is missing is made up."""

    def __init__(self, client: StudClient, account: str, currency: str, cashier: StudClient | None = None) -> None:
        self.account = account
        self.currency = currency
        self._client = client
        self.made_up = 0
        """Play money that was paid in here, minor units."""
        self._cashier = cashier
        self._since = 0

    async def open(self) -> None:
        """Open the account; one that is open stays as it is. Raises StudError."""
        await self._client.wallet.OpenAccount(wallet.OpenAccountRequest(currency=self.currency))
        self._since = max(self._since, (await self._account()).version)

    async def _account(self) -> wallet.GetAccountResponse:
        return await self._client.wallet.GetAccount(wallet.GetAccountRequest(currency=self.currency))

    async def balance(self) -> int:
        """Return what may be spent, minor units. Raises StudError."""
        return (await self._account()).balance

    async def have(self, amount: int) -> None:
        """See to it that an amount is there, if it may be made up. Raises StudError."""
        if self._cashier is not None and await self.balance() < amount:
            deposit = BUY_INS * amount
            await self._cashier.wallet.Deposit(
                wallet.DepositRequest(currency=self.currency, account=self.account, amount=deposit, reference=REFERENCE)
            )
            self.made_up += deposit

    async def cashed_out(self, table: str) -> int | None:
        """Return what was paid out at a table since this was asked last, or since `open`, minor units; None = nothing
        yet. Raises StudError.
        """
        request = wallet.ListTransfersRequest(currency=self.currency, after_version=self._since, page_size=PAGE)
        paid: int | None = None
        async for page in pages(self._client.wallet.ListTransfers, request):
            for entry in page.transfers:
                if entry.kind == CASHED_OUT and entry.table == table:
                    paid = (paid or 0) + sum(_to(self.account, line) for line in entry.postings)
                    self._since = entry.version
        return paid


def _to(account: str, line: ledger_events_pb2.Posting) -> int:
    return line.amount if line.account == PLAYER + account else 0


async def sit_down(client: StudClient, table: str, amount: int, seat: int = 0) -> pb.TakeSeatResponse:
    """Take a seat, with antes posted by themselves. Raises StudError."""
    request = pb.TakeSeatRequest(table=table, seat=seat, amount=amount, auto_post=True)
    answer = await client.tables.TakeSeat(request)
    if answer.outcome == pb.SEAT_OUTCOME_LEFT:
        raise StudError("SEAT_LEFT", "the seat was given up again")
    return answer


async def stand_up(client: StudClient, table: str) -> None:
    """Give up a seat, where there is one to give up and somebody who takes it."""
    with contextlib.suppress(StudError):
        await client.tables.LeaveSeat(pb.LeaveSeatRequest(table=table))

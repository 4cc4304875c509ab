"""What a client would otherwise poll, kept as it is now: the lobby, one's own sittings, an account.

Each is entered with `async with`; `async for` gives it again whenever it has changed. After a broken stream lobby and
sittings are asked for afresh, which nobody notices; an account goes on behind the last entry that came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1.table_service_pb2_grpc import TableServiceStub
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud.wallet.v1.wallet_service_pb2_grpc import WalletServiceStub
from stud_client.resuming import Resuming

MOST_MESSAGES = 100
"""Messages from the house that are kept here: five times what the service keeps."""

MOST_UNTAKEN = 100
"""Changes of an account that wait; while there are as many no more are read from its stream."""


class _Kept(Resuming[None]):
    """Something that is given again when it has changed, however often it has."""

    def _changed(self) -> None:
        if not self._waiting:
            self._put(None)


class Lobby(_Kept):
    """Made by `StudClient.lobby`.

    async with client.lobby(pb.TableFilter(currency="EUR")) as lobby:
        async for tables in lobby:
            print(len(tables))
    """

    def __init__(
        self, stub: TableServiceStub, wanted: pb.TableFilter | None, *, give_up_s: float, token: Callable[[], str]
    ) -> None:
        super().__init__("lobby", give_up_s=give_up_s, token=token)
        self.tables: dict[str, pb.TableSummary] = {}
        """Every table that fits, by id; empty until it is known."""
        self._stub = stub
        self._request = pb.WatchLobbyRequest(filter=wanted)

    async def __anext__(self) -> dict[str, pb.TableSummary]:  # type: ignore[override]  # what has changed, not None
        """Raises StudError when the lobby cannot be watched any more."""
        await super().__anext__()
        return self.tables

    async def _converse(self) -> None:
        call: Any = self._stub.WatchLobby(self._request)
        tables: dict[str, pb.TableSummary] = {}
        try:
            async for message in call:
                self._progress = True
                tables.update({line.table: line for line in message.tables})
                for table in message.removed:
                    tables.pop(table, None)
                if message.current:
                    self.tables = dict(tables)
                    self._changed()
        finally:
            call.cancel()  # else the server would go on serving a stream that nobody reads


class Me(_Kept):
    """Made by `StudClient.me`.

    async with client.me() as me:
        async for _ in me:
            for turn in me.turns:
                print(turn.table, turn.turn_id, turn.deadline_ms)
    """

    def __init__(self, stub: TableServiceStub, *, give_up_s: float, token: Callable[[], str]) -> None:
        super().__init__("me", give_up_s=give_up_s, token=token)
        self.sittings: dict[tuple[str, int], pb.MySitting] = {}
        """Sittings that are not over, by table and sitting_no."""
        self.over: list[pb.SittingOver] = []
        """Sittings that were over since they were last asked for; whoever has seen them clears the list."""
        self.waiting: dict[str, pb.MyWaiting] = {}
        """Places on waiting lists, by table."""
        self.messages: dict[int, pb.HouseMessage] = {}
        """Messages from the house by their numbers, oldest first."""
        self._stub = stub

    @property
    def turns(self) -> list[pb.MyTurn]:
        """Turns that wait, the most urgent first."""
        turns = [sitting.turn for sitting in self.sittings.values() if sitting.HasField("turn")]
        return sorted(turns, key=lambda turn: turn.deadline_ms)

    async def __anext__(self) -> Self:  # type: ignore[override]  # what has changed, not None
        """Raises StudError when nothing can be told any more."""
        await super().__anext__()
        return self

    async def _converse(self) -> None:
        call: Any = self._stub.WatchMe(pb.WatchMeRequest())
        try:
            async for message in call:
                self._progress = True
                self._take(message)
                self._changed()
        finally:
            call.cancel()

    def _take(self, message: pb.WatchMeResponse) -> None:
        now = {(sitting.table, sitting.sitting_no): sitting for sitting in message.sittings}
        over = list(message.over)
        if message.reset:  # what was over meanwhile is not told again
            gone = self.sittings.keys() - now.keys()
            over += [pb.SittingOver(table=table, sitting_no=sitting_no) for table, sitting_no in sorted(gone)]
        for left in over:
            self.sittings.pop((left.table, left.sitting_no), None)
        self.sittings.update(now)
        if message.reset:
            self.waiting.clear()
        self.waiting.update({place.table: place for place in message.waiting})
        for table in message.waits_no_more:
            self.waiting.pop(table, None)
        self.over = [*self.over, *over][-MOST_MESSAGES:]
        self.messages.update({told.message_no: told for told in message.messages})
        for number in list(self.messages)[:-MOST_MESSAGES]:
            del self.messages[number]


class Account(Resuming[wallet.WatchAccountResponse]):
    """Made by `StudClient.account`. Each change comes once, with the entries behind it; none is left out.

    async with client.account("EUR") as account:
        async for change in account:
            print(change.account.balance, [transfer.kind for transfer in change.transfers])
    """

    def __init__(
        self,
        stub: WalletServiceStub,
        currency: str,
        account: str,
        after_version: int | None,
        *,
        give_up_s: float,
        token: Callable[[], str],
    ) -> None:
        super().__init__(f"account {account}", give_up_s=give_up_s, token=token)
        self.version = after_version
        """Version of the ledger up to which every entry has come."""
        self._stub = stub
        self._request = wallet.WatchAccountRequest(currency=currency, account=account)
        self._room = asyncio.Event()

    async def __anext__(self) -> wallet.WatchAccountResponse:
        """Raises StudError when the account cannot be watched any more."""
        change = await super().__anext__()
        self._room.set()
        return change

    async def _converse(self) -> None:
        request = wallet.WatchAccountRequest()
        request.CopyFrom(self._request)
        if self.version is not None:
            request.after_version = self.version
        call: Any = self._stub.WatchAccount(request)
        try:
            async for message in call:
                self._progress = True
                self.version = message.version
                self._put(message)
                while len(self._waiting) >= MOST_UNTAKEN:
                    self._room.clear()
                    await self._room.wait()
        finally:
            call.cancel()

"""Somebody at the end of a stream that only tells (WatchLobby, WatchMe, WatchAccount), without the network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest
from google.protobuf.message import Message

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_service.identity import Caller, set_caller
from stud_service.refusals import Refused
from table_service.servicer import TableServicer
from tests.support.strict_wire import check_canonical
from tests.support.system_memory import MemorySystem
from wallet_service.servicer import WalletServicer

M = TypeVar("M", bound=Message)


class Watcher(Generic[M]):
    """Everything that comes is kept in `said`. `reads` is cleared for a client that reads nothing."""

    def __init__(self, kind: type[M], handler: Any, request: Any, account: str, *roles: str) -> None:
        self.said: list[M] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self._kind = kind
        self._came = asyncio.Event()

        async def run() -> None:
            set_caller(Caller(account, frozenset(roles or ("player",))))
            await handler(request, self)

        self.task = asyncio.get_running_loop().create_task(run())

    async def write(self, message: Any) -> None:
        await self.reads.wait()
        data = message if isinstance(message, bytes) else message.SerializeToString()
        check_canonical(self._kind, data)
        self.said.append(self._kind.FromString(data))
        self._came.set()

    async def until(self, holds: Callable[[list[M]], Any], within_s: float = 30) -> list[M]:
        """Waits, in virtual time, until what was said is so."""
        async with asyncio.timeout(within_s):
            while not holds(self.said):
                self._came.clear()
                await self._came.wait()
        return self.said

    async def end(self) -> Refused:
        with pytest.raises(Refused) as refused:
            await asyncio.wait_for(self.task, 30)
        return refused.value

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def servicer_of(system: MemorySystem) -> TableServicer:
    return TableServicer(system.tables.registry, system.tables.streams)


def wallet_servicer(system: MemorySystem) -> WalletServicer:
    app = system.service("wallet")
    return WalletServicer(app._runtime.log, app.books, app)


class LobbyWatcher(Watcher[pb.WatchLobbyResponse]):
    """Keeps the list as a client would."""

    def __init__(self, system: MemorySystem, account: str = "eve", **wanted: Any) -> None:
        request = pb.WatchLobbyRequest(filter=pb.TableFilter(**wanted) if wanted else None)
        super().__init__(pb.WatchLobbyResponse, servicer_of(system).WatchLobby, request, account)

    @property
    def tables(self) -> dict[str, pb.TableSummary]:
        lines: dict[str, pb.TableSummary] = {}
        for message in self.said:
            assert len(message.tables) + len(message.removed) <= 100
            assert not {line.table for line in message.tables} & set(message.removed)
            lines |= {line.table: line for line in message.tables}
            for table in message.removed:
                del lines[table]
        return lines


class MeWatcher(Watcher[pb.WatchMeResponse]):
    """Keeps sittings and messages as a client would."""

    def __init__(self, system: MemorySystem, account: str) -> None:
        super().__init__(pb.WatchMeResponse, servicer_of(system).WatchMe, pb.WatchMeRequest(), account)

    @property
    def sittings(self) -> dict[tuple[str, int], pb.MySitting]:
        known: dict[tuple[str, int], pb.MySitting] = {}
        for number, message in enumerate(self.said):
            assert message.reset == (number == 0)
            for over in message.over:
                del known[over.table, over.sitting_no]
            known |= {(sitting.table, sitting.sitting_no): sitting for sitting in message.sittings}
        return known

    @property
    def waiting(self) -> dict[str, pb.WaitingView]:
        known: dict[str, pb.WaitingView] = {}
        for message in self.said:
            for table in message.waits_no_more:
                del known[table]
            known |= {waiting.table: waiting.place for waiting in message.waiting}
        return known

    @property
    def texts(self) -> list[str]:
        return [message.text for said in self.said for message in said.messages]


class AccountWatcher(Watcher[wallet.WatchAccountResponse]):
    def __init__(self, system: MemorySystem, who: str, *roles: str, **fields: Any) -> None:
        request = wallet.WatchAccountRequest(**{"currency": "EUR"} | fields)
        handler = wallet_servicer(system).WatchAccount
        super().__init__(wallet.WatchAccountResponse, handler, request, who, *roles)

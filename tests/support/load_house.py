"""A house without poker for the tests of load drivers: real streams and calls, turns that go round, hands of a few
turns without a winner. It stalls, misses or repeats a version and miscounts money when it is told to.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import jwt
from grpc_health.v1 import health_pb2, health_pb2_grpc

from stud.common.v1 import seat_pb2
from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1.table_service_pb2_grpc import TableServiceServicer, add_TableServiceServicer_to_server
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud.wallet.v1.wallet_service_pb2_grpc import WalletServiceServicer, add_WalletServiceServicer_to_server
from stud_client import Endpoints
from stud_load import Target

BUY_IN = 20_000
TURNS = 6
"""Turns of a hand."""


class Faults:
    """What goes wrong. ``miss`` and ``repeat``: the first player is not sent that version, or is sent it twice."""

    def __init__(self, *, miss: int = 0, repeat: int = 0, lost: int = 0, takes_wrong: bool = False) -> None:
        self.miss = miss
        self.repeat = repeat
        self.lost = lost
        """Minor units that every balance lacks."""
        self.takes_wrong = takes_wrong
        self.skip_verdict = 0
        """The hand whose verdict is not waited for."""
        self.seated = asyncio.Event()
        self.stalled = asyncio.Event()
        self.stalled.set()
        self.silent = asyncio.Event()
        """Cleared while no health check is answered; play goes on."""
        self.silent.set()

    async def gate(self) -> None:
        """Everybody sits: the run begins, however long that took."""
        self.seated.set()

    async def stall(self, after_s: float, for_s: float) -> None:
        """Answer nothing for a while; ``after_s`` counts from `gate`."""
        await self.seated.wait()
        await asyncio.sleep(after_s)
        self.stalled.clear()
        await asyncio.sleep(for_s)
        self.stalled.set()


class HouseTable:
    """A table: who sits and who listens."""

    def __init__(self, table_id: str) -> None:
        self.view = pb.TableView(life=pb.TABLE_LIFE_OPEN, paused="new")
        self.table_id = table_id
        self.version = 1
        self.seats: dict[str, int] = {}
        self.viewers: list[tuple[str, asyncio.Queue[pb.PlayResponse | None]]] = []
        self.turns = 0
        self.turn_id = 0

    @property
    def turn(self) -> int:
        return 1 + self.turns % max(1, len(self.seats))

    def seen_by(self, account: str, events: list[commit_pb2.Event], *, reset: bool) -> pb.TableUpdate:
        update = pb.TableUpdate(table=self.table_id, version=self.version, events=events, reset=reset, current=True)
        update.head_hash = bytes(32)
        update.view.CopyFrom(self.view)
        seat = self.seats.get(account, 0)
        if seat:
            update.mine.sitting_no = update.mine.seat = seat
            if self.view.phase and seat == self.turn:
                update.mine.turn_id = self.turn_id
                update.mine.options.add(verb=seat_pb2.VERB_CHECK)
        return update


class Health(health_pb2_grpc.HealthServicer):
    """Says that all is well, as soon as it says anything."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults

    async def Check(self, request: Any, context: Any) -> health_pb2.HealthCheckResponse:
        await self.faults.silent.wait()
        return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)


class House(TableServiceServicer, WalletServiceServicer):
    """Both services in one."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.tables: dict[str, HouseTable] = {}
        self.balances: dict[str, int] = {}

    # Commits

    def commit(self, table: HouseTable, *events: commit_pb2.Event) -> int:
        table.version += 1
        for number, (account, queue) in enumerate(table.viewers):
            update = pb.PlayResponse(update=table.seen_by(account, list(events), reset=False))
            if number or table.version != self.faults.miss:
                queue.put_nowait(update)
            if not number and table.version == self.faults.repeat:
                queue.put_nowait(update)
        return table.version

    def begin(self, table: HouseTable) -> None:
        table.view.hand_no += 1
        table.view.phase = pb.HAND_PHASE_BETTING
        table.turns, table.turn_id = 0, table.turn_id + 1
        antes = commit_pb2.Event()
        antes.antes_opened.hand_no = table.view.hand_no
        self.commit(table, antes)

    def end(self, table: HouseTable) -> None:
        ended, verified = commit_pb2.Event(), commit_pb2.Event()
        ended.hand_ended.hand_no = verified.table_hand_verified.hand_no = table.view.hand_no
        self.commit(table, ended)
        if table.view.hand_no != self.faults.skip_verdict:
            table.view.verified_hand = table.view.hand_no
            self.commit(table, verified)
        if table.view.life == pb.TABLE_LIFE_OPEN:
            self.begin(table)

    async def act(self, table: HouseTable, act: pb.ActRequest) -> pb.CommandResult:
        await self.faults.stalled.wait()
        if act.verb != seat_pb2.VERB_CHECK or act.turn_id != table.turn_id:
            reason = "" if self.faults.takes_wrong else "ILLEGAL_ACTION"
            return pb.CommandResult(request_id=act.request_id, reason=reason, version=table.version)
        table.turns, table.turn_id = table.turns + 1, table.turn_id + 1
        over = table.turns == TURNS or table.view.life != pb.TABLE_LIFE_OPEN
        if over:
            table.view.phase = pb.HAND_PHASE_UNSPECIFIED  # nobody is asked any more
        version = self.commit(table, commit_pb2.Event())
        if over:
            self.end(table)
        return pb.CommandResult(request_id=act.request_id, version=version)

    # Tables

    async def CreateTable(self, request: pb.CreateTableRequest, context: Any) -> pb.CreateTableResponse:
        self.tables[request.table] = HouseTable(request.table)
        answer = pb.CreateTableResponse()
        answer.config.ruleset.min_buy_in.amount = BUY_IN // 2
        return answer

    async def PauseTable(self, request: pb.PauseTableRequest, context: Any) -> pb.PauseTableResponse:
        return pb.PauseTableResponse()

    async def TakeSeat(self, request: pb.TakeSeatRequest, context: Any) -> pb.TakeSeatResponse:
        table, account = self.tables[request.table], _caller(context)
        seat = table.seats[account] = len(table.seats) + 1
        table.view.seats.add(seat=seat, account=account, stack=request.amount)
        self.balances[account] -= request.amount
        return pb.TakeSeatResponse(outcome=pb.SEAT_OUTCOME_SEATED, seat=seat)

    async def ResumeTable(self, request: pb.ResumeTableRequest, context: Any) -> pb.ResumeTableResponse:
        self.begin(self.tables[request.table])
        return pb.ResumeTableResponse()

    async def DrainTable(self, request: pb.DrainTableRequest, context: Any) -> pb.DrainTableResponse:
        self.tables[request.table].view.life = pb.TABLE_LIFE_DRAINING
        return pb.DrainTableResponse()

    async def ListTables(self, request: pb.ListTablesRequest, context: Any) -> pb.ListTablesResponse:
        return pb.ListTablesResponse(
            tables=[pb.TableSummary(table=name, life=table.view.life) for name, table in self.tables.items()]
        )

    async def CloseTable(self, request: pb.CloseTableRequest, context: Any) -> pb.CloseTableResponse:
        table = self.tables[request.table]
        table.view.life = pb.TABLE_LIFE_CLOSED
        for account in table.seats:
            self.balances[account] += BUY_IN
        self.commit(table, commit_pb2.Event())
        for _, queue in table.viewers:
            queue.put_nowait(None)
        return pb.CloseTableResponse()

    async def Play(self, request_iterator: Any, context: Any) -> None:  # type: ignore[override]  # writes by itself
        first = await anext(aiter(request_iterator))
        table, account = self.tables[first.subscribe.table], _caller(context)
        queue: asyncio.Queue[pb.PlayResponse | None] = asyncio.Queue()
        queue.put_nowait(pb.PlayResponse(update=table.seen_by(account, [], reset=True)))
        table.viewers.append((account, queue))

        async def listen() -> None:
            async for message in request_iterator:
                queue.put_nowait(pb.PlayResponse(result=await self.act(table, message.act)))

        listening = asyncio.create_task(listen())
        try:
            while (response := await queue.get()) is not None:
                await context.write(response)
        finally:
            table.viewers.remove((account, queue))
            listening.cancel()

    # Money

    async def OpenAccount(self, request: wallet.OpenAccountRequest, context: Any) -> wallet.OpenAccountResponse:
        self.balances.setdefault(_caller(context), 0)
        return wallet.OpenAccountResponse()

    async def Deposit(self, request: wallet.DepositRequest, context: Any) -> wallet.DepositResponse:
        self.balances[request.account] += request.amount
        return wallet.DepositResponse()

    async def GetAccount(self, request: wallet.GetAccountRequest, context: Any) -> wallet.GetAccountResponse:
        return wallet.GetAccountResponse(balance=self.balances[request.account] - self.faults.lost)

    async def GetTrialBalance(self, request: Any, context: Any) -> wallet.GetTrialBalanceResponse:
        return wallet.GetTrialBalanceResponse()


def _caller(context: Any) -> str:
    """Tokens of this house are names; of a driver in a process of its own they are tokens that nobody verifies."""
    values = dict(itertools.chain(context.invocation_metadata()))
    token = str(values["authorization"]).removeprefix("Bearer ")
    if token.count(".") != 2:
        return token
    return str(jwt.decode(token, options={"verify_signature": False})["sub"])


@asynccontextmanager
async def open_house(faults: Faults | None = None) -> AsyncIterator[Target]:
    """A house that listens, as a driver needs it."""
    server = grpc.aio.server()
    house = House(faults or Faults())  # type: ignore[abstract]
    add_TableServiceServicer_to_server(house, server)
    add_WalletServiceServicer_to_server(house, server)
    health_pb2_grpc.add_HealthServicer_to_server(Health(house.faults), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        address = f"127.0.0.1:{port}"
        yield Target(Endpoints(table=address, wallet=address), lambda subject, _: lambda: subject)
    finally:
        await server.stop(0)

"""One viewer of a table: a stream that is opened again when it breaks, and what it brings, checked and timed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud_client.errors import OPERATORS_NEEDED, from_rpc
from stud_client.resuming import BROKEN
from stud_load.checks import StreamCheck
from stud_load.plan import LoadPlan
from stud_load.recorder import Count, Measure, Recorder
from stud_load.table import LoadTable
from stud_load.target import Token
from stud_load.violations import Rule
from stud_load.wire import Decode, Item, Line, decoder_of_watch, metadata, subscription

FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 1.0
GIVE_UP_S: Final = 60.0
SLOW_S: Final = 1.0
"""What a slow reader waits after each update."""

Clock = Callable[[], float]


class Viewer:
    """A spectator; a player is one who also answers."""

    is_slow = False

    def __init__(
        self, table: LoadTable, name: str, token: Token, line: Line, clock: Clock, rng: random.Random, plan: LoadPlan
    ) -> None:
        self.table = table
        self.name = name
        self.token = token
        self.line = line
        self.clock = clock
        self.recorder: Recorder = table.recorder
        self.current = asyncio.Event()
        """Set once a view of the present has come."""
        self.why = "it is closed"
        """Why they do not follow any more, once they do not."""
        self.check = StreamCheck(f"{table.table_id} {name}", self.recorder.violations)
        self.rng = rng
        self._cuts = 0.0 if self.is_slow else plan.chaos.reconnect
        self._plain = plan.plain
        self._hand_no = 0
        self._head_hash = b""
        self._opened_s = 0.0
        self._reopened = False
        self._is_current = False
        self._cut = False

    async def follow(self) -> None:
        """Follow the table until it is closed, or cannot be followed any more, which is a violation."""
        pause_s, good_s = FIRST_PAUSE_S, self.clock()
        while not self.table.is_closed:
            before = self.check.version
            try:
                await self._converse()
                why = "CUT" if self._cut else "OK"
            except grpc.aio.AioRpcError as error:
                fault = from_rpc(error)
                why = fault.reason
                if not self._may_resume(fault.reason, fault.code, passing=fault.passing):
                    self._gave_up(str(fault))
                    return
            if why == "OK":
                return
            self.recorder.events[f"stream {why}"] += 1
            self._reopened = True
            if self.check.version != before:
                pause_s, good_s = FIRST_PAUSE_S, self.clock()
            elif self.clock() - good_s > GIVE_UP_S:
                self._gave_up(f"{why} for {GIVE_UP_S:.0f} s")
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _gave_up(self, why: str) -> None:
        self.why = why
        self.recorder.violations.add(Rule.STREAM, f"{self.table.table_id} {self.name}: {why}")

    def _may_resume(self, reason: str, code: grpc.StatusCode | None, *, passing: bool) -> bool:
        at_once = reason in {"RESUME_FROM_VERSION", "TOKEN_EXPIRED"}
        return at_once or passing or (code in BROKEN and reason not in OPERATORS_NEEDED)

    async def _converse(self) -> None:
        """Hold one stream until the server ends it, or it is cut."""
        self._cut = False
        self.check.opened()
        self._opened_s = self.clock()
        async with self._open() as (call, decode):
            try:
                while (data := await call.read()) is not grpc.aio.EOF:
                    now_s = self.clock()
                    self.recorder.count(Count.BYTES, len(data))
                    for item in decode(data):
                        await self._take(item, now_s)
                    if self._cut:
                        return
            finally:
                self.table.fanout.viewers -= self._is_current and not self.is_slow
                self._is_current = False

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[tuple[Any, Decode]]:
        call = self.line.watch(pb.WatchRequest(subscribe=self.subscribe()), metadata=metadata(self.token))
        try:
            yield call, decoder_of_watch()
        finally:
            call.cancel()

    def subscribe(self) -> pb.Subscribe:
        """Return how the next stream begins."""
        return subscription(self.table.table_id, self.check.version, self._head_hash, plain=self._plain)

    async def _take(self, item: Item, now_s: float) -> None:
        if isinstance(item, pb.CommandResult):
            self.settled(item, now_s)
            return
        self.check.take(item.version, reset=item.reset)
        self._head_hash = item.head_hash
        self.recorder.count(Count.DELIVERIES)
        if item.current and not self._is_current:
            self._is_current = True
            self.table.fanout.viewers += not self.is_slow
            self.current.set()
            if self._reopened:
                self.recorder.time(Measure.CURRENT, self._opened_s, now_s)
        self.table.delivered(item, now_s, counts=item.current and not item.reset and not self.is_slow)
        if item.current and item.view.hand_no != self._hand_no:
            self._hand_no = item.view.hand_no
            self._cut = self._cut or self.rng.random() < self._cuts
        await self.told(item, now_s)

    def settled(self, result: pb.CommandResult, now_s: float) -> None:
        """A command was answered; nobody here sent one."""

    async def told(self, update: pb.TableUpdate, now_s: float) -> None:
        """The table moved."""


class SlowReader(Viewer):
    """A spectator who takes an update a second and is told to resume again and again."""

    is_slow = True

    async def told(self, update: pb.TableUpdate, now_s: float) -> None:
        del update, now_s
        if not self.table.is_closed:
            await asyncio.sleep(SLOW_S)

"""A player's session at a table: updates come, commands go, over one Play stream that is mended when it breaks."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

import grpc

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1.table_service_pb2_grpc import TableServiceStub
from stud_client.calling import attempts, new_request_id
from stud_client.errors import StudError, from_result
from stud_client.following import Following
from stud_client.resuming import FIRST_PAUSE_S, LONGEST_PAUSE_S, stop_task
from stud_eventlog.pauses import Pauses

COMMAND_TIMEOUT_S = 10.0


class TableSession(Following):
    """Made by `StudClient.play`; enter it with `async with`.

    A command returns its CommandResult once it is durable, or raises StudError: a reason of the catalogue, or
    CALL_DEADLINE when there was no answer within `timeout_s`: it may still come about, the same `request_id` finds out.
    When the stream breaks, unanswered commands are sent again with their request ids.
    """

    def __init__(
        self,
        tables: TableServiceStub,
        table: str,
        after_version: int | None,
        head_hash: bytes,
        *,
        give_up_s: float,
        token: Callable[[], str],
    ) -> None:
        super().__init__(tables, table, after_version, head_hash, give_up_s=give_up_s, token=token)
        self._unanswered: dict[str, tuple[pb.PlayRequest, asyncio.Future[pb.CommandResult]]] = {}
        self._outbox: deque[pb.PlayRequest] = deque()
        self._mail = asyncio.Event()

    # Commands

    async def act(
        self,
        turn_id: int,
        verb: seat_pb2.Verb.ValueType,
        *,
        to: int | None = None,
        size: seat_pb2.Size.ValueType = seat_pb2.SIZE_UNSPECIFIED,
        request_id: str = "",
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> pb.CommandResult:
        """Acts on a turn. `to` is the total on this street after it, minor units; None = the only legal amount."""
        body = pb.ActRequest(table=self.table, turn_id=turn_id, verb=verb, to=to, size=size)
        return await self._command("act", body, request_id, timeout_s)

    async def use_time_chip(
        self, turn_id: int, *, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> pb.CommandResult:
        """Takes longer over a turn, for a time chip."""
        body = pb.UseTimeChipRequest(table=self.table, turn_id=turn_id)
        return await self._command("use_time_chip", body, request_id, timeout_s)

    async def set_pre_action(
        self,
        update: pb.TableUpdate,
        verb: seat_pb2.Verb.ValueType,
        *,
        size: seat_pb2.Size.ValueType = seat_pb2.SIZE_UNSPECIFIED,
        any_price: bool = False,
        request_id: str = "",
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> pb.CommandResult:
        """Chooses what is done when the turn comes, at the price that ``update`` shows (one of `mine.pre_options`);
        with ``any_price`` a CALL stands at any, where the table has that.
        """
        body = pb.SetPreActionRequest(
            table=self.table,
            hand_no=update.view.hand_no,
            street=update.view.street,
            price=update.mine.price,
            verb=verb,
            size=size,
            any_price=any_price,
        )
        return await self._command("set_pre_action", body, request_id, timeout_s)

    async def clear_pre_action(
        self, hand_no: int = 0, *, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> pb.CommandResult:
        """Takes the choice of that hand back; 0 = whichever hand is running."""
        body = pb.ClearPreActionRequest(table=self.table, hand_no=hand_no)
        return await self._command("clear_pre_action", body, request_id, timeout_s)

    async def post_ante(
        self, prompt_id: int, *, decline: bool = False, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> pb.CommandResult:
        """Answers an ante prompt; `decline` sits out instead."""
        body = pb.PostAnteRequest(table=self.table, prompt_id=prompt_id, decline=decline)
        return await self._command("post_ante", body, request_id, timeout_s)

    async def choose_show(
        self, prompt_id: int, *, show: bool, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> pb.CommandResult:
        """Answers a show prompt."""
        body = pb.ChooseShowRequest(table=self.table, prompt_id=prompt_id, show=show)
        return await self._command("choose_show", body, request_id, timeout_s)

    async def sit_out(self, *, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S) -> pb.CommandResult:
        return await self._command("sit_out", pb.SitOutRequest(table=self.table), request_id, timeout_s)

    async def sit_in(self, *, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S) -> pb.CommandResult:
        return await self._command("sit_in", pb.SitInRequest(table=self.table), request_id, timeout_s)

    async def set_preferences(
        self,
        *,
        auto_post: bool | None = None,
        muck_losing: bool | None = None,
        request_id: str = "",
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> pb.CommandResult:
        """None leaves a preference as it is."""
        body = pb.SetPreferencesRequest(table=self.table, auto_post=auto_post, muck_losing=muck_losing)
        return await self._command("set_preferences", body, request_id, timeout_s)

    async def add_chips(
        self, amount: int, *, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S
    ) -> pb.CommandResult:
        """Asks for more chips, minor units."""
        body = pb.AddChipsRequest(table=self.table, amount=amount)
        return await self._command("add_chips", body, request_id, timeout_s)

    async def leave_seat(self, *, request_id: str = "", timeout_s: float = COMMAND_TIMEOUT_S) -> pb.CommandResult:
        return await self._command("leave_seat", pb.LeaveSeatRequest(table=self.table), request_id, timeout_s)

    async def _command(self, name: str, body: Any, request_id: str, timeout_s: float) -> pb.CommandResult:
        body.request_id = request_id or new_request_id()
        request = pb.PlayRequest(**{name: body})
        try:
            async with asyncio.timeout(timeout_s):
                pauses = Pauses(FIRST_PAUSE_S, LONGEST_PAUSE_S)
                for attempt in itertools.count(1):
                    result = await self._ask(body.request_id, request)
                    error = from_result(result) if result.reason else None
                    if error is None:
                        return result
                    if not error.passing or attempt >= attempts(error):
                        raise error
                    await asyncio.sleep(max(pauses.next_s(), error.retry_after_s))
        except TimeoutError:
            text = f"no answer within {timeout_s:g} s; it may still come about"
            raise StudError("CALL_DEADLINE", text) from None
        raise AssertionError("the last attempt returns or raises")

    async def _ask(self, request_id: str, request: pb.PlayRequest) -> pb.CommandResult:
        if self._ended or self._task is None:
            raise self._fault or StudError("STOPPING", "the session is not open")
        if request_id in self._unanswered:
            raise ValueError(f"request_id {request_id!r} is under way already")
        answer: asyncio.Future[pb.CommandResult] = asyncio.get_running_loop().create_future()
        self._unanswered[request_id] = request, answer
        self._outbox.append(request)
        self._mail.set()
        try:
            return await answer
        finally:
            self._unanswered.pop(request_id, None)

    def _end(self, fault: Exception | None) -> None:
        super()._end(fault)
        for _, answer in self._unanswered.values():
            if not answer.done():
                answer.set_exception(fault or StudError("STOPPING", "the session was closed before the answer came"))

    # The stream

    async def _converse(self) -> None:
        call: Any = self._tables.Play()
        # Only this task writes: two writes at a time are an error, and cancelling one would end the call.
        self._outbox = deque(request for request, _ in self._unanswered.values())
        self._mail.set()
        writing = asyncio.get_running_loop().create_task(self._write(call.write), name=f"play {self.table}")
        try:
            await self._hear(call)
        finally:
            call.cancel()  # else the server would go on serving a stream that nobody reads
            await stop_task(writing)

    def _take(self, said: pb.TableUpdate | pb.CommandResult) -> None:
        super()._take(said)
        if isinstance(said, pb.CommandResult):
            self._answer(said)

    def _answer(self, result: pb.CommandResult) -> None:
        self._progress = True
        found = self._unanswered.get(result.request_id)
        if found is not None and not found[1].done():
            found[1].set_result(result)

    async def _write(self, write: Callable[[pb.PlayRequest], Any]) -> None:
        try:
            await write(pb.PlayRequest(subscribe=self._subscribe()))
            while True:
                while self._outbox:
                    await write(self._outbox.popleft())
                self._mail.clear()
                await self._mail.wait()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass  # the stream is over; its reader says why, and what is unanswered will be sent again

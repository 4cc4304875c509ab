"""TableService over gRPC: unary calls. Streams are in :mod:`table_service.play`."""

from __future__ import annotations

from typing import Any

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_core.commands import CloseTable, Command, DrainTable, OpenTable, PauseTable, ResumeTable, VoidHand
from stud_core.state import SYSTEM_PAUSES
from stud_service.checks import require_text
from stud_service.identity import caller, require
from stud_service.limits import factor_of
from stud_service.pages import make_token, page_size, read_token
from stud_service.refusals import CODES, Refused
from table_service import handlers, house_mail, views
from table_service.history import History
from table_service.lobby_filter import wanted_by, wanted_live
from table_service.mail import Outcome
from table_service.opening import config_of
from table_service.play import Streams
from table_service.registry import Registry

Context = grpc.aio.ServicerContext[Any, Any]
MAX_REASON = 500
TROUBLES = "LOG_"
"""How every name for a log in trouble begins: by it the contract tells such a pause from an operator's words."""

USUAL_PAGE = 100


class TableServicer(rpc.TableServiceServicer):
    """Thin: reads the request, submits one command, answers with its version."""

    def __init__(self, registry: Registry, streams: Streams) -> None:
        self._registry = registry
        self._streams = streams
        self._history = History(registry)

    # --------------------------------------------------------------- reading

    async def ListTables(self, request: pb.ListTablesRequest, context: Context) -> pb.ListTablesResponse:
        size = page_size(request.page_size, USUAL_PAGE)
        question = ("tables", request.currency, request.include_closed)
        if request.HasField("filter"):
            return await self._filtered(request, size)
        after = read_token(question, request.page_token, str) or ""
        include_closed, limit = request.include_closed, size + 1
        lines = await self._registry.lobby(after, request.currency, include_closed=include_closed, limit=limit)
        more = make_token(question, lines[size - 1].table) if len(lines) > size else ""
        return pb.ListTablesResponse(tables=lines[:size], next_page_token=more)

    async def _filtered(self, request: pb.ListTablesRequest, size: int) -> pb.ListTablesResponse:
        wanted = wanted_by(request.filter, request.currency, include_closed=request.include_closed)
        asked = request.filter.SerializeToString(deterministic=True).hex()
        question = ("tables", request.currency, request.include_closed, asked)
        after = read_token(question, request.page_token, str) or ""
        lines, last = await self._registry.matching(after, wanted, size)
        return pb.ListTablesResponse(tables=lines, next_page_token=make_token(question, last) if last else "")

    async def GetTable(self, request: pb.GetTableRequest, context: Context) -> pb.GetTableResponse:
        account = caller().account
        shown = await self._registry.closed(request.table)
        if shown is None:
            shown = (await self._registry.get(request.table, account)).full_view(account)
        full = shown.update_bytes(self._registry.runtime.clock())
        return pb.GetTableResponse(update=pb.TableUpdate.FromString(full))

    async def GetMe(self, request: pb.GetMeRequest, context: Context) -> pb.GetMeResponse:
        return self._registry.people.everything(caller().account)

    async def ListHands(self, request: pb.ListHandsRequest, context: Context) -> pb.ListHandsResponse:
        return await self._history.list(request, caller().account)

    async def GetHand(self, request: pb.GetHandRequest, context: Context) -> pb.GetHandResponse:
        return await self._history.get(request, caller())

    # --------------------------------------------------------------- players

    async def TakeSeat(self, request: pb.TakeSeatRequest, context: Context) -> pb.TakeSeatResponse:
        who = require("player")
        actor = await self._registry.get(request.table, who.account)
        return await handlers.take_seat(actor, who.account, request, self._registry.profiles.of(who))

    async def JoinWaitingList(self, request: pb.JoinWaitingListRequest, context: Context) -> pb.JoinWaitingListResponse:
        require("player")
        account = caller().account
        if self._registry.is_over(request.table):
            raise Refused("TABLE_NOT_OPEN", "the table is closed")
        actor = await self._registry.get(request.table, account)
        outcome = await handlers.perform(actor, account, "join_waiting_list", request)
        places = [waiter.account for waiter in actor.table.waiting]
        position = places.index(account) + 1 if account in places else 0
        return pb.JoinWaitingListResponse(position=position, version=outcome.version)

    async def LeaveWaitingList(
        self, request: pb.LeaveWaitingListRequest, context: Context
    ) -> pb.LeaveWaitingListResponse:
        require("player")
        account = caller().account
        if self._registry.is_over(request.table):
            raise Refused("NOT_WAITING", "the table is closed, and nobody waits there")
        actor = await self._registry.get(request.table, account)
        outcome = await handlers.perform(actor, account, "leave_waiting_list", request)
        return pb.LeaveWaitingListResponse(version=outcome.version)

    async def AddChips(self, request: pb.AddChipsRequest, context: Context) -> pb.AddChipsResponse:
        outcome = await self._play("add_chips", request)
        return pb.AddChipsResponse(top_up_no=outcome.number, version=outcome.version)

    async def LeaveSeat(self, request: pb.LeaveSeatRequest, context: Context) -> pb.LeaveSeatResponse:
        return pb.LeaveSeatResponse(version=(await self._play("leave_seat", request)).version)

    async def SitOut(self, request: pb.SitOutRequest, context: Context) -> pb.SitOutResponse:
        return pb.SitOutResponse(version=(await self._play("sit_out", request)).version)

    async def SitIn(self, request: pb.SitInRequest, context: Context) -> pb.SitInResponse:
        return pb.SitInResponse(version=(await self._play("sit_in", request)).version)

    async def SetPreferences(self, request: pb.SetPreferencesRequest, context: Context) -> pb.SetPreferencesResponse:
        return pb.SetPreferencesResponse(version=(await self._play("set_preferences", request)).version)

    async def PostAnte(self, request: pb.PostAnteRequest, context: Context) -> pb.PostAnteResponse:
        return pb.PostAnteResponse(version=(await self._play("post_ante", request)).version)

    async def Act(self, request: pb.ActRequest, context: Context) -> pb.ActResponse:
        return pb.ActResponse(version=(await self._play("act", request)).version)

    async def UseTimeChip(self, request: pb.UseTimeChipRequest, context: Context) -> pb.UseTimeChipResponse:
        return pb.UseTimeChipResponse(version=(await self._play("use_time_chip", request)).version)

    async def SetPreAction(self, request: pb.SetPreActionRequest, context: Context) -> pb.SetPreActionResponse:
        return pb.SetPreActionResponse(version=(await self._play("set_pre_action", request)).version)

    async def ClearPreAction(self, request: pb.ClearPreActionRequest, context: Context) -> pb.ClearPreActionResponse:
        return pb.ClearPreActionResponse(version=(await self._play("clear_pre_action", request)).version)

    async def ChooseShow(self, request: pb.ChooseShowRequest, context: Context) -> pb.ChooseShowResponse:
        return pb.ChooseShowResponse(version=(await self._play("choose_show", request)).version)

    async def _play(self, name: str, request: Any) -> Outcome:
        require("player")
        account = caller().account
        if name not in handlers.ABOUT_MONEY and self._registry.is_over(request.table):
            raise Refused("NOT_SEATED", "the table is closed, and nobody sits there")
        actor = await self._registry.get(request.table, account)
        return await handlers.perform(actor, account, name, request)

    # --------------------------------------------------------------- streams

    async def Play(  # type: ignore[override]  # writes through the context: bytes made once for all viewers
        self, request_iterator: Any, context: Context
    ) -> None:
        require("player")
        await self._streams.play(request_iterator, context, caller().account)

    async def Watch(self, request: pb.WatchRequest, context: Context) -> None:  # type: ignore[override]  # as Play
        await self._streams.watch(request, context, caller().account)

    async def WatchLobby(  # type: ignore[override]  # as Play
        self, request: pb.WatchLobbyRequest, context: Context
    ) -> None:
        who, wanted = caller(), wanted_live(request.filter)
        await self._registry.watch.serve(wanted, who.account, factor_of(who.roles), context.write)

    async def WatchMe(self, request: pb.WatchMeRequest, context: Context) -> None:  # type: ignore[override]  # as Play
        await self._registry.people.serve(caller().account, context.write)

    # ------------------------------------------------------------- operators

    async def CreateTable(self, request: pb.CreateTableRequest, context: Context) -> pb.CreateTableResponse:
        require("operator")
        command = OpenTable(config_of(request, self._registry.runtime.settings.currencies), caller().account)
        async with self._registry.opening(request.table) as actor:
            outcome = await handlers.submit(actor, caller().account, request, command)
        return pb.CreateTableResponse(config=views.config_message(actor.table), version=outcome.version)

    async def CloseTable(self, request: pb.CloseTableRequest, context: Context) -> pb.CloseTableResponse:
        return pb.CloseTableResponse(version=await self._operate(request, CloseTable(caller().account)))

    async def PauseTable(self, request: pb.PauseTableRequest, context: Context) -> pb.PauseTableResponse:
        require("operator")
        reason = require_text(request.reason, "reason", MAX_REASON)
        word = reason.strip().upper()
        if word in SYSTEM_PAUSES or word in CODES or word.startswith(TROUBLES):
            raise Refused("INVALID_FIELD", f"{word} is what the system says: use other words", field="reason")
        command = PauseTable(reason, caller().account)
        return pb.PauseTableResponse(version=await self._operate(request, command))

    async def ResumeTable(self, request: pb.ResumeTableRequest, context: Context) -> pb.ResumeTableResponse:
        return pb.ResumeTableResponse(version=await self._operate(request, ResumeTable(caller().account)))

    async def DrainTable(self, request: pb.DrainTableRequest, context: Context) -> pb.DrainTableResponse:
        return pb.DrainTableResponse(version=await self._operate(request, DrainTable(caller().account)))

    async def VoidHand(self, request: pb.VoidHandRequest, context: Context) -> pb.VoidHandResponse:
        require("operator")
        reason = require_text(request.reason, "reason", MAX_REASON)
        command = VoidHand(request.hand_no, reason, caller().account)
        return pb.VoidHandResponse(version=await self._operate(request, command))

    async def SendHouseMessage(
        self, request: pb.SendHouseMessageRequest, context: Context
    ) -> pb.SendHouseMessageResponse:
        operator = require("operator").account
        return await house_mail.send(self._registry, operator, request)

    async def _operate(self, request: Any, command: Command) -> int:
        require("operator")
        actor = await self._registry.get(request.table, caller().account)
        return (await handlers.submit(actor, caller().account, request, command)).version

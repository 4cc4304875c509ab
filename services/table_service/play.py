"""Play and Watch: a table's updates to a viewer, and a player's commands back."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud_service.refusals import Refused
from table_service.registry import Registry
from table_service.several import Several
from table_service.viewing import join, listen, send

Context = grpc.aio.ServicerContext[Any, Any]


class Streams:
    """Serves viewers. A stream ends with OK after the last update of a table that closed, else with a refusal."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def watch(self, request: pb.WatchRequest, context: Context, account: str) -> None:
        """Send updates until the client goes away or the table is closed."""
        if await self._show_closed(request.subscribe.table, context):
            return
        actor = await self._registry.get(request.subscribe.table, account)
        viewer = join(actor, request.subscribe, account)
        actor.presence.connected(account)
        try:
            await send(viewer, context.write, self._registry.runtime.clock)
        finally:
            actor.hub.remove(viewer)
            actor.presence.disconnected(account)

    async def play(self, requests: Any, context: Context, account: str) -> None:
        """Send updates and results; take commands in order. The first message must subscribe, and come soon."""
        first = await self._first(requests)
        if first is None or first.WhichOneof("body") != "subscribe":
            raise Refused("INVALID_FIELD", "the first message of a Play stream must be subscribe", field="subscribe")
        if pb.CAPABILITY_SEVERAL_TABLES in first.subscribe.accepts:
            await Several(self._registry, context.write, account, first.subscribe.accepts).play(
                first.subscribe, requests
            )
            return
        if await self._show_closed(first.subscribe.table, context):
            return
        actor = await self._registry.get(first.subscribe.table, account)
        viewer = join(actor, first.subscribe, account)
        listener = asyncio.create_task(listen(actor, viewer, requests, account))
        actor.presence.connected(account)
        try:
            await send(viewer, context.write, self._registry.runtime.clock)
        finally:
            actor.hub.remove(viewer)
            actor.presence.disconnected(account)
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener

    async def _first(self, requests: Any) -> Any:
        within_s = self._registry.runtime.settings.subscribe_within_ms / 1000
        timeout = asyncio.timeout(within_s)
        try:
            async with timeout:
                return await anext(aiter(requests), None)
        except TimeoutError:
            if not timeout.expired():
                raise
            text = f"a Play stream must subscribe within {within_s:g} s"
            raise Refused("INVALID_FIELD", text, field="subscribe") from None

    async def _show_closed(self, table_id: str, context: Context) -> bool:
        """Send a closed table as it is, which ends the stream; False where there is more to come."""
        shown = await self._registry.closed(table_id)
        if shown is not None:
            await context.write(shown.wire(self._registry.runtime.clock()))
        return shown is not None

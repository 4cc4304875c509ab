"""Play and Watch: a table's updates to a viewer, and a player's commands back."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import grpc
import structlog

from stud.table.v1 import table_service_pb2 as pb
from stud_core.state import Life
from stud_service.checks import MAX_REQUEST_ID
from stud_service.limits import RATE_LIMITED
from stud_service.mailbox import stopping
from stud_service.metrics import REFUSALS, VIEWERS_DROPPED
from stud_service.refusals import Refused
from stud_wire.codec import to_message
from table_service import handlers
from table_service.actor import TableActor
from table_service.hub import Viewer
from table_service.registry import Registry
from table_service.updates import Outgoing, batch

HASH_SIZE = 32
Context = grpc.aio.ServicerContext[Any, Any]
log = structlog.get_logger()


class Streams:
    """Serves viewers. A stream ends with OK after the last update of a table that closed, else with a refusal."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def watch(self, request: pb.WatchRequest, context: Context, account: str) -> None:
        """Send updates until the client goes away or the table is closed."""
        if await self._show_closed(request.subscribe.table, context):
            return
        actor = await self._registry.get(request.subscribe.table, account)
        viewer = self._join(actor, request.subscribe, account)
        actor.ahead.connected(account)
        try:
            await self._send(viewer, context)
        finally:
            actor.hub.remove(viewer)
            actor.ahead.disconnected(account)

    async def play(self, requests: Any, context: Context, account: str) -> None:
        """Send updates and results; take commands in order. The first message must subscribe, and come soon."""
        first = await self._first(requests)
        if first is None or first.WhichOneof("body") != "subscribe":
            raise Refused("INVALID_FIELD", "the first message of a Play stream must be subscribe", field="subscribe")
        if await self._show_closed(first.subscribe.table, context):
            return
        actor = await self._registry.get(first.subscribe.table, account)
        viewer = self._join(actor, first.subscribe, account)
        listener = asyncio.create_task(_listen(actor, viewer, requests, account))
        actor.ahead.connected(account)
        try:
            await self._send(viewer, context)
        finally:
            actor.hub.remove(viewer)
            actor.ahead.disconnected(account)
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

    def _join(self, actor: TableActor, subscribe: pb.Subscribe, account: str) -> Viewer:
        """Queue what the viewer missed, as far as it is kept, then the table as it is, and start serving them: no
        update can fall between the two.
        """
        if subscribe.after_version < 0 or len(subscribe.head_hash) not in {0, HASH_SIZE}:
            raise Refused("INVALID_FIELD", "want the version and head_hash of an update", field="subscribe")
        if actor.stopping:
            raise stopping()  # its streams have been ended already, and nobody would end this one
        viewer = Viewer(account, accepts=subscribe.accepts, drops=actor.runtime.meters.counter(VIEWERS_DROPPED))
        missing = None
        if subscribe.HasField("after_version"):
            missing = actor.hub.since(subscribe.after_version, subscribe.head_hash)
        if missing is not None and len(missing) <= viewer.queue.maxsize // 2:
            for step in missing:
                viewer.offer(Outgoing(step.shared, current=False))
        viewer.show(actor.present(), actor.private_part(account))
        actor.hub.add(viewer)
        if actor.table.life is Life.CLOSED:
            viewer.finish()
        return viewer

    async def _send(self, viewer: Viewer, context: Context) -> None:
        clock = self._registry.runtime.clock
        while found := await viewer.waiting():
            now_ms = clock()
            messages = [data if isinstance(data, bytes) else data.wire(now_ms) for data in found]
            await context.write(messages[0] if len(messages) == 1 else batch(messages))
        if viewer.why is not None:
            raise viewer.why


async def _listen(actor: TableActor, viewer: Viewer, requests: Any, account: str) -> None:
    """Take a player's commands one after the other; each gets one result. What is not a message ends the stream."""
    inline = pb.CAPABILITY_RESULT_INLINE in viewer.accepts
    try:
        async for message in requests:
            name = message.WhichOneof("body")
            body = getattr(message, name) if name else None
            too_many = actor.runtime.limits.note(account)
            awaits = viewer.awaits = (
                handlers.content_of(body) if inline and body is not None and name in handlers.COMMANDS else b""
            )
            result = await _answer(actor, account, name, body)
            if viewer.awaits != awaits:
                continue  # the result has come with the update of what was done
            viewer.awaits = b""
            if result.reason == RATE_LIMITED or (result.reason and too_many):
                await actor.runtime.limits.hold(account)
            viewer.offer(pb.PlayResponse(result=result).SerializeToString())
    except Refused as refused:
        viewer.finish(refused)


async def _answer(actor: TableActor, account: str, name: str | None, body: Any) -> pb.CommandResult:
    request_id = getattr(body, "request_id", "")[:MAX_REQUEST_ID]  # nobody has to keep what they send
    try:
        if name is None or name not in {*handlers.COMMANDS, *handlers.CHOICES}:
            raise Refused("INVALID_FIELD", "want one command; subscribe comes once, first", field="body")
        if body.table != actor.table_id:
            raise Refused("INVALID_FIELD", f"this stream is for table {actor.table_id!r}", field="table")
        outcome = await handlers.perform(actor, account, name, body)
    except Refused as refused:
        actor.runtime.meters.counter(REFUSALS)[refused.reason] += 1
        return _refusal(request_id, refused)
    except Exception:  # as the interceptor does for a call: nothing of it may reach the client
        incident = actor.runtime.new_id().hex()
        actor.runtime.meters.counter(REFUSALS)["INTERNAL"] += 1
        log.exception("incident", table=actor.table_id, command=name, incident=incident)
        return _refusal(request_id, Refused("INTERNAL", "something unexpected happened", incident=incident))
    return pb.CommandResult(request_id=request_id, version=outcome.version)


def _refusal(request_id: str, refused: Refused) -> pb.CommandResult:
    return pb.CommandResult(
        request_id=request_id,
        reason=refused.reason,
        text=refused.text,
        metadata=dict(refused.metadata),
        legal=[to_message(option) for option in refused.legal],
    )

"""One table on a stream: how a viewer joins it, is sent what it tells, and has its commands taken.

Whose stream it is, and how it ends, is the business of :mod:`table_service.play` and :mod:`table_service.several`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import Any

import structlog

from stud.table.v1 import table_service_pb2 as pb
from stud_core.state import Life
from stud_service.checks import MAX_REQUEST_ID
from stud_service.limits import RATE_LIMITED, count
from stud_service.mailbox import stopping
from stud_service.metrics import LIMITED, REFUSALS, VIEWERS_DROPPED
from stud_service.refusals import Refused
from stud_wire.codec import to_message
from table_service import handlers
from table_service.actor import TableActor
from table_service.hub import Viewer
from table_service.updates import Outgoing, batch

HASH_SIZE = 32
Write = Callable[[bytes], Awaitable[None]]
log = structlog.get_logger()


def join(actor: TableActor, subscribe: pb.Subscribe, account: str, accepts: Iterable[int] | None = None) -> Viewer:
    """Queue what the viewer missed, as far as it is kept, then the table as it is, and start serving them: no
    update can fall between the two. ``accepts`` is what its client understands, where that was said before. Raises
    Refused.
    """
    if subscribe.after_version < 0 or len(subscribe.head_hash) not in {0, HASH_SIZE}:
        raise Refused("INVALID_FIELD", "want the version and head_hash of an update", field="subscribe")
    if actor.stopping:
        raise stopping()  # its streams have been ended already, and nobody would end this one
    drops = actor.runtime.meters.counter(VIEWERS_DROPPED)
    understood = subscribe.accepts if accepts is None else accepts
    table = actor.table_id if pb.CAPABILITY_SEVERAL_TABLES in understood else ""
    viewer = Viewer(account, accepts=understood, drops=drops, table=table)
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


async def send(viewer: Viewer, write: Write, clock: Callable[[], int]) -> None:
    """Send whatever is queued for a viewer until that ends. Raises Refused: why it ended, if not well."""
    while found := await viewer.waiting():
        now_ms = clock()
        messages = [data if isinstance(data, bytes) else data.wire(now_ms) for data in found]
        await write(messages[0] if len(messages) == 1 else batch(messages))
    if viewer.why is not None:
        raise viewer.why


async def listen(actor: TableActor, viewer: Viewer, requests: AsyncIterable[Any], account: str) -> None:
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
            result.table = viewer.table
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
        count(refused, actor.runtime.meters.counter(REFUSALS), actor.runtime.meters.counter(LIMITED))
        return refusal(request_id, refused)
    except Exception:  # as the interceptor does for a call: nothing of it may reach the client
        incident = actor.runtime.new_id().hex()
        actor.runtime.meters.counter(REFUSALS)["INTERNAL"] += 1
        log.exception("incident", table=actor.table_id, command=name, incident=incident)
        return refusal(request_id, Refused("INTERNAL", "something unexpected happened", incident=incident))
    return pb.CommandResult(request_id=request_id, version=outcome.version)


def refusal(request_id: str, refused: Refused) -> pb.CommandResult:
    """Return the result of a command that was refused."""
    return pb.CommandResult(
        request_id=request_id,
        reason=refused.reason,
        text=refused.text,
        metadata=dict(refused.metadata),
        legal=[to_message(option) for option in refused.legal],
    )

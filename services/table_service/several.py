"""Several tables on one Play stream: each is followed as on a stream of its own, and all write to the one.

Each table has its own viewer, with its own queue, and its own line of commands, so that what waits at one table waits
for no other. The stream ends with the first refusal that ends one of them, or with OK when no table is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack
from typing import Any

from stud.table.v1 import table_service_pb2 as pb
from stud_service.identity import caller
from stud_service.limits import factor_of
from stud_service.refusals import Refused
from table_service.actor import TableActor
from table_service.handlers import CHOICES, COMMANDS
from table_service.hub import Viewer
from table_service.registry import Registry
from table_service.viewing import Write, join, listen, refusal, send

COMMANDS_WAITING = 16
"""Commands that wait for one table; then the stream is read no further until one is done."""


class _Place:
    """A table on the stream: what was said of it, and the two tasks that tell of it and take its commands."""

    def __init__(self, actor: TableActor, viewer: Viewer, held: ExitStack) -> None:
        self.actor = actor
        self.viewer = viewer
        self.held = held
        self.tasks: tuple[asyncio.Task[None], ...] = ()
        self._commands: asyncio.Queue[Any] = asyncio.Queue(COMMANDS_WAITING)

    async def put(self, command: Any) -> None:
        """Queue a command; None is the last."""
        await self._commands.put(command)

    async def listen(self) -> None:
        """Take commands, and then no more of the table."""
        await listen(self.actor, self.viewer, self._waiting(), self.viewer.account)
        self.viewer.finish()

    async def _waiting(self) -> AsyncIterator[Any]:
        while (command := await self._commands.get()) is not None:
            yield command


class Several:
    """One stream. ``accepts`` is what its client understands, for every table."""

    def __init__(self, registry: Registry, write: Write, account: str, accepts: Iterable[int]) -> None:
        self._registry = registry
        self._account = account
        self._accepts = frozenset(accepts)
        self._roles = caller().roles
        self._unlocked_write = write
        self._writing = asyncio.Lock()
        self._places: dict[str, _Place] = {}
        self._leaving: dict[str, _Place] = {}
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def play(self, first: pb.Subscribe, requests: Any) -> None:
        """Serve the stream until no table is left, or the client goes away. Raises Refused."""
        reader: asyncio.Task[None] | None = None
        try:
            await self._subscribe(first, counted=True)
            if self._places:
                reader = asyncio.create_task(self._read(requests))
                await asyncio.wait({self._over})
                async with self._writing:  # what is being written would be cut short, and the call end another way
                    self._over.result()
        finally:
            tasks = [task for place in self._all() for task in place.tasks]
            tasks += [reader] if reader is not None else []
            for task in tasks:
                task.cancel()
            for place in self._all():
                place.held.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _all(self) -> list[_Place]:
        return [*self._places.values(), *self._leaving.values()]

    async def _write(self, data: bytes) -> None:
        async with self._writing:
            await self._unlocked_write(data)

    # ------------------------------------------------------------ what comes

    async def _read(self, requests: Any) -> None:
        """Take what the client sends. One that sends no more goes on receiving; what is no message ends the stream."""
        try:
            async for message in requests:
                await self._take(message)
        except Refused as refused:
            self._finish(refused)
        except Exception as fault:  # noqa: BLE001  (whoever serves the call says what it is)
            self._finish(fault)

    async def _take(self, message: Any) -> None:
        name = message.WhichOneof("body")
        body = getattr(message, name) if name else None
        table = getattr(body, "table", "")
        try:
            if body is not None and name == "subscribe":
                await self._registry.runtime.limits.call(self._account, self._roles)
                await self._subscribe(body)
                return
            if name == "unsubscribe":
                await self._unsubscribe(table)
                return
            if name is not None and name not in {*COMMANDS, *CHOICES}:
                raise Refused("INVALID_FIELD", "want subscribe, unsubscribe or one command", field="body")
            await self._place_of(table).put(message)
        except Refused as refused:
            limits = self._registry.runtime.limits
            if limits.note(self._account):
                await limits.hold(self._account)
            result = refusal(getattr(body, "request_id", "")[:64], refused)
            result.table = table[:64]
            await self._write(pb.PlayResponse(result=result).SerializeToString())

    def _place_of(self, table: str) -> _Place:
        place = self._places.get(table)
        if place is None:
            text = f"this stream is subscribed to {', '.join(sorted(self._places))}, and to no other table"
            raise Refused("INVALID_FIELD", text, field="table")
        return place

    # ---------------------------------------------------------------- tables

    async def _subscribe(self, subscribe: pb.Subscribe, *, counted: bool = False) -> None:
        """Follow one more table; ``counted``: the stream stands for it. Raises Refused, and nothing has changed."""
        table_id = subscribe.table
        if table_id in self._leaving:
            await asyncio.wait({self._leaving[table_id].tasks[0]})
        if table_id in self._places:
            raise Refused("INVALID_FIELD", f"this stream is subscribed to {table_id} already", field="subscribe")
        shown = await self._registry.closed(table_id)
        if shown is not None:
            await self._write(shown.wire(self._registry.runtime.clock()))
            return
        actor = await self._registry.get(table_id, self._account)
        with ExitStack() as held:
            if not counted:
                held.enter_context(self._registry.runtime.limits.streams.hold(self._account, factor_of(self._roles)))
            viewer = join(actor, subscribe, self._account, self._accepts)
            held.callback(actor.hub.remove, viewer)
            actor.presence.connected(self._account)
            held.callback(actor.presence.disconnected, self._account)
            place = self._places[table_id] = _Place(actor, viewer, held.pop_all())
        place.tasks = (
            asyncio.create_task(self._serve(table_id, place)),
            asyncio.create_task(place.listen()),
        )

    async def _unsubscribe(self, table_id: str) -> None:
        """Stop following a table once what was asked there before is answered. Raises Refused."""
        place = self._place_of(table_id)
        self._leaving[table_id] = self._places.pop(table_id)
        await place.put(None)

    async def _serve(self, table_id: str, place: _Place) -> None:
        """Send what a table tells, until the viewer is no more of it: then the others go on."""
        try:
            await send(place.viewer, self._write, self._registry.runtime.clock)
        except Exception as why:  # noqa: BLE001  (a refusal ends the stream as it would end its own)
            self._finish(why)
            return
        place.held.close()
        place.tasks[1].cancel()
        for places in (self._places, self._leaving):
            if places.get(table_id) is place:
                del places[table_id]
        if not self._all():
            self._finish(None)

    def _finish(self, why: Exception | None) -> None:
        if not self._over.done():
            if why is None:
                self._over.set_result(None)
            else:
                self._over.set_exception(why)

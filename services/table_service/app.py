"""The table service: owns seats, turns, actions, pots; reads dealer, referee and wallet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import grpc
import structlog

from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_core.commands import Command
from stud_core.deck_events import LogRef
from stud_eventlog.reading import commit_at
from stud_eventlog.types import EventLogError, FeedEntry, Head, LogUnavailable
from stud_service.feeds import FeedReader, Poison
from stud_service.keyring import KeyRing
from stud_service.log_writer import behind
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from table_service import inbound, names
from table_service.actor import TableActor
from table_service.play import Streams
from table_service.registry import Registry
from table_service.servicer import TableServicer

RETRY = {"OUTCOME_UNKNOWN", "LOG_UNAVAILABLE", "STOPPING"}
"""Refusals that say nothing about the message: it is handed in again, never parked. A table that needs operators
(LOG_BEHIND, LOG_BROKEN, a fault of ours) is not among them: its line is parked, since the other tables must not wait
for it.
"""

log = structlog.get_logger()


class TableApp:
    """Wires the registry, the feeds and the gRPC servicer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.registry = Registry(runtime, KeyRing.load(runtime.keys_dir, "down").key("down"))
        self.streams = Streams(self.registry)
        self._reader: FeedReader | None = None
        self._next_on_log_behind = runtime.log.on_log_behind
        runtime.log.on_log_behind = self._log_behind
        runtime.warm_ups.append(names.warm_up)
        runtime.on_clock_set.append(self.registry.clock_set)
        runtime.on_trouble.append(self.registry.trouble_changed)

    async def start(self) -> None:
        """Load every table, then listen."""
        await self.registry.load_all()
        reader = self._reader = FeedReader(self._runtime, self.handle, inbound.table_of, on_poison=self._stand_for)
        self._runtime.spawn(reader.run(), "table feeds")
        self._runtime.spawn(self._housekeeping(), "table housekeeping")
        self._runtime.spawn(self.registry.watch.run(), "lobby")

    def register(self, server: grpc.aio.Server) -> None:
        """Add TableService to the server."""
        rpc.add_TableServiceServicer_to_server(TableServicer(self.registry, self.streams), server)

    async def stop(self) -> None:
        """End streams with STOPPING, finish what is queued."""
        await self.registry.stop()

    async def handle(self, entries: Sequence[FeedEntry]) -> None:
        """Record one table's facts in order; returns when they are durable."""
        for entry in entries:
            facts, again = await inbound.facts_of(self._runtime.log, entry)
            for fact in facts:
                await self._record(entry, fact, again=again)

    async def _record(self, entry: FeedEntry, fact: inbound.Inbound, *, again: bool) -> None:
        """Record one fact; one that is refused for good is poison. What is told ``again`` may be long over."""
        command = inbound.command_for(fact)
        if command is None:
            return
        try:
            await self._submit(entry, fact, command)
        except Refused as refused:
            if inbound.harmless(refused.reason) or again:
                return
            if refused.reason in RETRY:
                raise
            raise Poison(f"{type(fact.event).__name__} refused: {refused.reason}", refused.reason) from None

    async def _stand_for(self, table_id: str, reason: str) -> None:
        """The table's line is parked and it hears nothing more: it says so instead of merely waiting, for whatever
        reason that is. Raises EventLogError while it cannot be written.
        """
        try:
            await self.registry.pause(table_id, reason)
        except Refused as refused:
            if refused.reason in RETRY:
                raise EventLogError(refused.reason) from None

    async def _submit(self, entry: FeedEntry, fact: inbound.Inbound, command: Command) -> None:
        """Hand a fact in; one that is refused is tried again on what the log says now, since somebody else may have
        written there. Where its sender has seen more of the log than there is, the log is behind. Raises Refused.
        """
        actor = await self.registry.get(fact.table_id)
        cause = (entry.stream, entry.version)
        try:
            await actor.submit(command, cause=cause, within_s=None)
        except Refused as refused:
            if inbound.harmless(refused.reason) or refused.reason in RETRY:
                raise
            await actor.catch_up()
            seen = inbound.seen_by_sender(fact)
            if seen is not None and await self._has_lost(actor, seen):
                raise behind(actor.stream) from None  # a pause is enough: a mere copy halts nothing for good
            await actor.submit(command, cause=cause, within_s=None)

    async def _has_lost(self, actor: TableActor, seen: LogRef) -> bool:
        """Whether a table's log lacks what others have seen of it, or has something else in its place."""
        if seen.stream != actor.stream:
            return False
        if seen.to_version > actor.head.version:
            return True
        stored = await commit_at(self._runtime.log, actor.stream, seen.to_version)
        return stored is None or stored.hash != seen.head_hash

    def _log_behind(self, stream: str, acknowledged: Head, found: Head) -> None:
        self.registry.log_behind(stream)
        if self._next_on_log_behind is not None:
            self._next_on_log_behind(stream, acknowledged, found)

    async def _housekeeping(self) -> None:
        """Once a second: tables whose line is no longer parked, that nobody watches, or that others opened."""
        while True:
            await asyncio.sleep(1.0)
            if self._reader is not None:
                self.registry.go_on(self._reader.held)
                while self.registry.mended:
                    self._reader.replay(self.registry.mended.pop())
            self.registry.forget_closed()
            self.registry.let_age()
            with suppress(LogUnavailable):
                await self.registry.look_again()

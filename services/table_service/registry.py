"""Every table this process owns, and the tables it can still show although they are closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from functools import partial
from weakref import WeakValueDictionary

import structlog
from google.protobuf.message import DecodeError

from stud.table.v1 import table_service_pb2 as pb
from stud_core.commands import PauseTable, ResumeTable
from stud_core.state import Life
from stud_eventlog import keys
from stud_eventlog.errors import EventLogError, LogUnavailable, NotInitialised
from stud_service.kit import Kit
from stud_service.patience import Backoff, patiently
from stud_service.refusals import Refused
from stud_wire.codec import WireError
from table_service.actor import TableActor
from table_service.mail import behind, broken

log = structlog.get_logger()


class Registry:
    """Finds, loads and opens tables."""

    def __init__(self, kit: Kit, master: bytes) -> None:
        self.kit = kit
        self._master = master
        self._tables: dict[str, TableActor] = {}
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._broken: set[str] = set()

    def all(self) -> list[TableActor]:
        """Return every loaded table."""
        return list(self._tables.values())

    async def load_all(self) -> None:
        """Load every table of the lobby that is not closed; one that cannot be folded is left out, loudly."""
        for shard in range(keys.SHARDS):
            rows = await patiently(partial(self._rows, shard), self.kit.log, what="read the lobby")
            for table_id, row in rows.items():
                if row.life != pb.TABLE_LIFE_CLOSED:
                    await self._load_if_sound(table_id)
                    self._check_not_behind(table_id, row.version)
        log.info("tables_loaded", tables=len(self._tables))

    async def _rows(self, shard: int) -> dict[str, pb.TableSummary]:
        """Return what the lobby says of a shard's tables. What cannot be read there hides no table of another shard,
        and of a row that cannot be read its table is known all the same. Raises LogUnavailable.
        """
        try:
            rows = await self.kit.log.lobby(shard)
        except LogUnavailable as why:
            if not self.kit.log.available:
                raise
            log.critical("lobby_unreadable", shard=shard, problem=str(why))
            return {}
        read: dict[str, pb.TableSummary] = {}
        for table_id, row in rows.items():
            try:
                read[table_id] = pb.TableSummary.FromString(row)
            except DecodeError:
                log.critical("lobby_unreadable", shard=shard, table=table_id)
                read[table_id] = pb.TableSummary(table=table_id)
        return read

    async def _load_if_sound(self, table_id: str) -> None:
        """Load a table of the lobby; one whose log is broken, or gone, must not keep the others from being served."""
        backoff = Backoff()
        while True:
            try:
                async with self._being_opened(table_id):
                    if table_id not in self._tables and await self._load(table_id) is None:
                        self._note_broken(table_id, "the lobby has a row for it, but its log is empty")
            except Refused as refused:
                if refused.reason == "LOG_UNAVAILABLE":
                    await backoff.wait(self.kit.log, refused, what=f"load table {table_id}")
                    continue
            return

    def _check_not_behind(self, table_id: str, version: int) -> None:
        """The lobby was told of this version in the commit that made it: a log that ends before has lost its end."""
        actor = self._tables.get(table_id)
        if actor is not None and actor.head.version < version:
            log.critical("log_behind", table=table_id, told=version, found=actor.head.version)
            actor.halt(behind())

    async def _load(self, table_id: str) -> TableActor | None:
        """Load a table from its log, None when it has none. Raises Refused when the log cannot be used."""
        actor = TableActor(self.kit, table_id, self._master, self._may_start)
        try:
            await actor.load()
        except (LogUnavailable, NotInitialised):
            raise Refused("LOG_UNAVAILABLE", "the log cannot be read: try again") from None
        except (EventLogError, WireError) as error:
            self._note_broken(table_id, str(error))
            raise broken() from None
        if actor.head.version == 0:
            return None
        self._broken.discard(table_id)
        self._tables[table_id] = actor
        actor.start()
        return actor

    def _note_broken(self, table_id: str, problem: str) -> None:
        """Tell operators, once; callers are told at every call."""
        if table_id not in self._broken:
            log.critical("log_broken", table=table_id, problem=problem)
        self._broken.add(table_id)

    def _may_start(self) -> bool:
        return self.kit.trouble is None

    async def get(self, table_id: str) -> TableActor:
        """Return a table, from the log if need be; raises Refused(UNKNOWN_TABLE)."""
        found = self._tables.get(table_id)
        if found is not None:
            return found
        try:
            keys.check_table_id(table_id)
        except ValueError:
            raise unknown(table_id) from None
        async with self._being_opened(table_id):
            loaded = self._tables.get(table_id) or await self._load(table_id)
        if loaded is None:
            raise broken() if table_id in self._broken else unknown(table_id)
        return loaded

    def _being_opened(self, table_id: str) -> asyncio.Lock:
        """One at a time for each table; a long log that is folded keeps nobody from another table."""
        return self._opening.setdefault(table_id, asyncio.Lock())

    @asynccontextmanager
    async def opening(self, table_id: str) -> AsyncIterator[TableActor]:
        """The table of this id, empty if there was none: then it is ours if it has been opened at the end.

        Until then nobody else gets it. What its first commit brings about (a deck) may be here before our own answer;
        it would load the table from its log a second time, and each half of its viewers would see another one.
        """
        try:
            keys.check_table_id(table_id)
        except ValueError as error:
            raise Refused("INVALID_FIELD", str(error), field="table") from None
        async with self._being_opened(table_id):
            found = self._tables.get(table_id) or await self._load(table_id)
            if found is not None:
                yield found
                return
            if table_id in self._broken:
                raise broken()
            actor = TableActor(self.kit, table_id, self._master, self._may_start)
            actor.start()
            try:
                yield actor
            finally:
                if actor.table.config is not None:
                    self._tables[table_id] = actor
                else:
                    await actor.stop()

    async def lobby(self) -> list[pb.TableSummary]:
        """Return every table's line: live ones from memory, the others from the lobby rows. Whoever lists tables to
        choose one must see which of them cannot be played at: their rows were written when they could.
        """
        lines: dict[str, pb.TableSummary] = {}
        for shard in range(keys.SHARDS):
            lines.update(await self._rows(shard))
        for table_id in self._broken & lines.keys():
            lines[table_id].paused = broken().reason
        for actor in self._tables.values():
            lines[actor.table_id] = actor.summary()
        return [lines[table_id] for table_id in sorted(lines)]

    def pause(self, table_id: str, reason: str) -> None:
        """Have a table start no more hands, and show why; where it is paused already that reason stays."""
        actor = self._tables.get(table_id)
        if actor is not None:
            actor.post(PauseTable(reason, ""))

    def go_on(self, held: Container[str]) -> None:
        """End the pause of tables that stood since a message for them could not be handled, and whose line is ``held``
        no more: operators have let it be handled again, or dropped it. Whatever else they are paused for stays.
        """
        for actor in self._tables.values():
            if actor.table.parked and actor.table_id not in held:
                actor.post(ResumeTable("", actor.table.parked))

    def log_behind(self, stream: str) -> None:
        """Halt the table whose log lost what it had acknowledged."""
        for actor in self._tables.values():
            if actor.stream == stream:
                actor.halt(behind())

    def trouble_changed(self) -> None:
        """How it stands with the log has changed."""
        for actor in self._tables.values():
            actor.trouble_changed()

    def clock_set(self, by_ms: int) -> None:
        """The clock was set: every table's clocks start afresh before it decides anything else."""
        for actor in self._tables.values():
            actor.clock_set(by_ms)

    async def stop(self) -> None:
        """Stop every table."""
        await asyncio.gather(*(actor.stop() for actor in self._tables.values()))

    def forget_closed(self) -> None:
        """Drop closed tables that nobody watches."""
        for table_id, actor in list(self._tables.items()):
            if actor.table.life is Life.CLOSED and not len(actor.hub):
                del self._tables[table_id]
                self.kit.spawn(actor.stop(), f"stop {table_id}", may_end=True)


def unknown(table_id: str) -> Refused:
    """Return the refusal for a table that does not exist."""
    return Refused("UNKNOWN_TABLE", f"there is no table {table_id!r}: ListTables names them", table=table_id[:64])

"""Every table this process owns, and the tables it can still show although they are closed."""

from __future__ import annotations

import asyncio

import structlog

from stud.table.v1 import table_service_pb2 as pb
from stud_core.state import Life
from stud_eventlog import keys
from stud_eventlog.errors import EventLogError, LogUnavailable, NotInitialised
from stud_service.kit import Kit
from stud_service.patience import Backoff
from stud_service.refusals import Refused
from stud_wire.codec import WireError
from table_service import views
from table_service.actor import TableActor

MEMORY_LIMIT = 0.85
"""No hand is started above this share of the log's memory; running hands finish (architecture 3)."""

log = structlog.get_logger()


class Registry:
    """Finds, loads and opens tables."""

    def __init__(self, kit: Kit, master: bytes) -> None:
        self.kit = kit
        self.memory_ok = True
        self._master = master
        self._tables: dict[str, TableActor] = {}
        self._opening = asyncio.Lock()

    def all(self) -> list[TableActor]:
        """Return every loaded table."""
        return list(self._tables.values())

    async def load_all(self) -> None:
        """Load every table of the lobby that is not closed; one that cannot be folded is left out, loudly."""
        for shard in range(keys.SHARDS):
            for table_id, row in (await self.kit.log.lobby(shard)).items():
                if pb.TableSummary.FromString(row).life != pb.TABLE_LIFE_CLOSED:
                    await self._load_if_sound(table_id)
        log.info("tables_loaded", tables=len(self._tables))

    async def _load_if_sound(self, table_id: str) -> None:
        """Load a table; one whose log is broken must not keep the others from being served."""
        backoff = Backoff()
        while True:
            try:
                await self._load(table_id)
            except Refused as refused:
                if refused.reason == "LOG_UNAVAILABLE":
                    await backoff.wait(self.kit.log, refused, what=f"load table {table_id}")
                    continue
            return

    async def _load(self, table_id: str) -> TableActor | None:
        """Load a table from its log, None when it has none. Raises Refused when the log cannot be used."""
        actor = TableActor(self.kit, table_id, self._master, self._may_start)
        try:
            await actor.load()
        except (LogUnavailable, NotInitialised):
            raise Refused("LOG_UNAVAILABLE", "the log cannot be read: try again") from None
        except (EventLogError, WireError) as error:
            incident = self.kit.new_id().hex()
            log.exception("table_not_loaded", table=table_id, problem=type(error).__name__, incident=incident)
            raise Refused(
                "INTERNAL", "the table's log cannot be trusted: operators are needed", incident=incident
            ) from None
        if actor.head.version == 0:
            return None
        self._tables[table_id] = actor
        actor.start()
        return actor

    def _may_start(self) -> bool:
        return self.memory_ok

    async def get(self, table_id: str) -> TableActor:
        """Return a table, from the log if need be; raises Refused(UNKNOWN_TABLE)."""
        found = self._tables.get(table_id)
        if found is not None:
            return found
        try:
            keys.check_table_id(table_id)
        except ValueError:
            raise unknown(table_id) from None
        async with self._opening:
            loaded = self._tables.get(table_id) or await self._load(table_id)
        if loaded is None:
            raise unknown(table_id)
        return loaded

    async def new(self, table_id: str) -> TableActor:
        """Return the table of this id, empty if there was none: then hand it to ``keep`` afterwards."""
        try:
            keys.check_table_id(table_id)
        except ValueError as error:
            raise Refused("INVALID_FIELD", str(error), field="table") from None
        async with self._opening:
            found = self._tables.get(table_id) or await self._load(table_id)
            if found is None:
                found = TableActor(self.kit, table_id, self._master, self._may_start)
                found.start()
            return found

    async def keep(self, actor: TableActor) -> None:
        """Own a table that has been opened; stop an actor whose table was not, or that somebody else opened first."""
        opened = actor.table.config is not None
        owner = self._tables.setdefault(actor.table_id, actor) if opened else self._tables.get(actor.table_id)
        if owner is not actor:
            await actor.stop()

    async def lobby(self) -> list[pb.TableSummary]:
        """Return every table's line: live ones from memory, the others from the lobby rows."""
        lines: dict[str, pb.TableSummary] = {}
        for shard in range(keys.SHARDS):
            for table_id, row in (await self.kit.log.lobby(shard)).items():
                lines[table_id] = pb.TableSummary.FromString(row)
        for actor in self._tables.values():
            lines[actor.table_id] = views.summary(actor.table)
        return [lines[table_id] for table_id in sorted(lines)]

    async def stop(self) -> None:
        """Stop every table."""
        await asyncio.gather(*(actor.stop() for actor in self._tables.values()))

    def forget_closed(self) -> None:
        """Drop closed tables that nobody watches."""
        for table_id, actor in list(self._tables.items()):
            if actor.table.life is Life.CLOSED and not len(actor.hub):
                del self._tables[table_id]
                self.kit.spawn(actor.stop(), f"stop {table_id}")


def unknown(table_id: str) -> Refused:
    """Return the refusal for a table that does not exist."""
    return Refused("UNKNOWN_TABLE", f"there is no table {table_id!r}: ListTables names them", table=table_id[:64])

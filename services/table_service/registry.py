"""Every table this process owns, and the tables it can still show although they are closed.

Live tables are in memory from the start. Of a closed one there is only its row: see `closed` and `folding`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from weakref import WeakValueDictionary

import structlog
from google.protobuf.message import DecodeError

from stud.table.v1 import table_service_pb2 as pb
from stud_core.commands import PauseTable, ResumeTable
from stud_core.events import Event
from stud_core.state import Life
from stud_eventlog import keys
from stud_eventlog.types import EventLogError, LogUnavailable, NotInitialised
from stud_service.checks import require_table
from stud_service.limits import RATE_LIMITED, Share
from stud_service.log_writer import behind, broken
from stud_service.mailbox import stopping
from stud_service.metrics import WATCHERS
from stud_service.refusals import Refused
from stud_service.retrying import Backoff, patiently
from stud_service.runtime import Runtime
from stud_wire.codec import WireError
from table_service import views
from table_service.actor import TableActor
from table_service.closed import closed_table
from table_service.folding import Folds, Load
from table_service.lobby import EVERY, Lobby
from table_service.lobby_filter import Wanted
from table_service.lobby_watch import SEEN_IN_LOBBY, LobbyWatch
from table_service.people import People
from table_service.profiles import Profiles
from table_service.survey import survey
from table_service.updates import Outgoing

LINES_AT_ONCE = 100
"""How many lines of the lobby are made before others have their turn: about a millisecond."""

LOOKED_AT = 2_000
"""How many are looked at for a page with a filter."""

log = structlog.get_logger()


class Registry:
    """Finds, loads and opens tables."""

    def __init__(self, runtime: Runtime, master: bytes) -> None:
        self.runtime = runtime
        self.mended: set[str] = set()
        """Tables whose log could not be trusted and now can: what was to be told to them meanwhile may be parked."""
        self.master = master
        self.profiles = Profiles(master)
        self._tables: dict[str, TableActor] = {}
        self._lobby = Lobby()
        self._folds = Folds(runtime, self._load_beside)
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._broken: set[str] = set()
        self._next_shard = 0
        self.watch = LobbyWatch(runtime, self)
        self.people = People(runtime, self._tables.get)
        runtime.meters.source(lambda: survey(self._tables.values(), len(self._broken)))
        runtime.meters.source(lambda: {WATCHERS: {"lobby": len(self.watch), "me": len(self.people)}})

    def all(self) -> list[TableActor]:
        """Return every live table, and those that closed, or were asked for, a moment ago."""
        return list(self._tables.values())

    async def load_all(self) -> None:
        """Load every table of the lobby that is not closed; one that cannot be folded is left out, loudly."""
        for shard in range(keys.SHARDS):
            rows = await patiently(partial(self._rows, shard), self.runtime.log, what="read the lobby")
            for table_id, row in rows.items():
                await self._take_in(table_id, row, self._load)
        log.info("tables_loaded", tables=len(self._tables))

    async def look_again(self) -> None:
        """Take in what the next shard's rows say of tables that are not known: another process may have opened them
        while it was being replaced. Raises LogUnavailable.
        """
        shard, self._next_shard = self._next_shard, (self._next_shard + 1) % keys.SHARDS
        for table_id, row in (await self._rows(shard)).items():
            if not self._lobby.knows(table_id):
                self.runtime.spawn(self._take_in(table_id, row, self._made_beside), f"load {table_id}", may_end=True)

    async def _take_in(self, table_id: str, row: pb.TableSummary, load: Load) -> None:
        self._lobby.put(row)
        if row.life != pb.TABLE_LIFE_CLOSED:
            await self._load_if_sound(table_id, load)
            self._check_not_behind(table_id, row.version)

    async def _rows(self, shard: int) -> dict[str, pb.TableSummary]:
        """Return what the lobby says of a shard's tables. What cannot be read there hides no table of another shard,
        and where a row cannot be read its table is known all the same. Raises LogUnavailable.
        """
        try:
            rows = await self.runtime.log.lobby(shard)
        except LogUnavailable as why:
            if not self.runtime.log.available:
                raise
            log.critical("lobby_unreadable", shard=shard, problem=str(why))
            return {}
        read: dict[str, pb.TableSummary] = {}
        for table_id, row in rows.items():
            try:
                read[table_id] = pb.TableSummary.FromString(row)
                read[table_id].table = table_id
            except DecodeError:
                log.critical("lobby_unreadable", shard=shard, table=table_id)
                read[table_id] = pb.TableSummary(table=table_id)
        return read

    async def _load_if_sound(self, table_id: str, load: Load | None = None) -> None:
        """Load a table of the lobby; one whose log is broken, or gone, must not keep the others from being served."""
        backoff = Backoff()
        while True:
            try:
                async with self._being_opened(table_id):
                    if table_id not in self._tables and await (load or self._load)(table_id) is None:
                        self._note_broken(table_id, "the lobby has a row for it, but its log is empty")
            except Refused as refused:
                if refused.reason == "LOG_UNAVAILABLE":
                    await backoff.wait(self.runtime.log, refused, what=f"load table {table_id}")
                    continue
            return

    def _check_not_behind(self, table_id: str, version: int) -> None:
        """The lobby was told of this version in the commit that made it: a log that ends before it has lost its end."""
        actor = self._tables.get(table_id)
        if actor is not None and actor.head.version < version:
            log.critical("log_behind", table=table_id, told=version, found=actor.head.version)
            actor.halt(behind(actor.stream))

    async def _load(self, table_id: str) -> TableActor | None:
        """Load a table from its log, as fast as can be; None when it has none. Raises Refused when the log cannot be
        used.
        """
        return await self._made(table_id, None)

    async def _made_beside(self, table_id: str) -> TableActor | None:
        """Load a table as ``_load`` does, but in its share of the time: others play meanwhile."""
        return await self._made(table_id, self.runtime.heavy)

    async def _made(self, table_id: str, share: Share | None) -> TableActor | None:
        actor = self._new(table_id)
        try:
            await actor.load(share)
        except (LogUnavailable, NotInitialised):
            raise _unreadable() from None
        except (EventLogError, WireError) as error:
            self._note_broken(table_id, str(error))
            raise broken() from None
        if actor.head.version == 0:
            return None
        if table_id in self._broken:
            self._broken.discard(table_id)
            self.mended.add(table_id)
        self._add(actor)
        actor.start()
        return actor

    def _new(self, table_id: str) -> TableActor:
        return TableActor(self.runtime, table_id, self.master, self._may_start, self._changed)

    def _changed(self, actor: TableActor, events: Sequence[Event] | None) -> None:
        """Tell those who watch the lobby, or themselves. A table that is not among ours yet, or any more, is nobody's
        business. What is told is durable by now, so nothing may fail here.
        """
        if self._tables.get(actor.table_id) is actor:
            try:
                if events is None or not SEEN_IN_LOBBY.isdisjoint(map(type, events)):
                    self.watch.note(actor.table_id)
                self.people.note(actor, events)
            except Exception:
                log.exception("watchers_not_told", table=actor.table_id, version=actor.head.version)

    def _add(self, actor: TableActor) -> None:
        self._tables[actor.table_id] = actor
        if actor.table.life is Life.CLOSED:
            self._lobby.put(views.summary(actor.table))
        else:
            self._lobby.put_live(actor.table_id, actor.table.rules.currency)
        self._changed(actor, None)

    async def _load_beside(self, table_id: str) -> TableActor | None:
        """Load a table for callers, unless somebody else just did. Raises Refused."""
        async with self._being_opened(table_id):
            return self._at_hand(table_id) or await self._made_beside(table_id)

    def _at_hand(self, table_id: str) -> TableActor | None:
        return self._tables.get(table_id) or self._folds.at_hand(table_id)

    def _note_broken(self, table_id: str, problem: str) -> None:
        """Tell operators, once; callers are told at every call."""
        if table_id not in self._broken:
            log.critical("log_broken", table=table_id, problem=problem)
        self._broken.add(table_id)
        self.watch.note(table_id)

    def _may_start(self) -> bool:
        return self.runtime.trouble is None

    async def get(self, table_id: str, account: str = "") -> TableActor:
        """Return a table for a command, from its log if need be: at once for a message of another service, which its
        feed waits for; in its turn for an ``account``. Raises Refused: UNKNOWN_TABLE, RATE_LIMITED.
        """
        found = self._at_hand(table_id)
        if found is not None:
            return found
        await self._look_up(table_id)
        try:
            if account:
                loaded = self._at_hand(table_id) or await self._folds.fold(table_id, account)
            else:
                async with self._being_opened(table_id):
                    loaded = self._at_hand(table_id) or await self._load(table_id)
        except Refused as refused:
            if refused.reason == RATE_LIMITED and table_id in self._broken:
                raise broken() from None
            raise
        if loaded is None:
            raise broken() if table_id in self._broken else unknown(table_id)
        return loaded

    async def _look_up(self, table_id: str) -> None:
        """Make sure that there is such a table, or was. Raises Refused(UNKNOWN_TABLE)."""
        try:
            keys.check_table_id(table_id)
        except ValueError:
            raise unknown(table_id) from None
        if self._lobby.knows(table_id):
            return
        async with self._being_opened(table_id):
            if not await self._exists(table_id):
                raise unknown(table_id)

    async def _exists(self, table_id: str) -> bool:
        """Whether anything is known of a table. Raises Refused(LOG_UNAVAILABLE)."""
        if self._lobby.knows(table_id):
            return True
        try:
            return (await self.runtime.log.head(keys.table_log(keys.shard_of(table_id), table_id))).version > 0
        except (LogUnavailable, NotInitialised):
            raise _unreadable() from None
        except EventLogError:
            return True  # and the fold says what is wrong with it

    def is_over(self, table_id: str) -> bool:
        """Whether a table is closed and not at hand: only questions about money are worth a fold."""
        return self._lobby.is_closed(table_id) and self._at_hand(table_id) is None

    async def closed(self, table_id: str) -> Outgoing | None:
        """Return a closed table as it is shown to everybody; None where it is live, does not exist, or is at hand:
        whoever was cut off when it closed is sent what they missed, and how the last hand ended. Raises
        Refused(LOG_BROKEN).
        """
        row = self._lobby.row(table_id) if self.is_over(table_id) else None
        if row is None:
            return None
        try:
            shown = await closed_table(self.runtime.log, row)
        except (LogUnavailable, NotInitialised):
            raise _unreadable() from None
        except (EventLogError, WireError) as error:
            self._note_broken(table_id, str(error))
            raise broken() from None
        self._broken.discard(table_id)
        return Outgoing(shown.shared)

    def _being_opened(self, table_id: str) -> asyncio.Lock:
        """One at a time for each table; a long log that is folded keeps nobody from another table."""
        return self._opening.setdefault(table_id, asyncio.Lock())

    @asynccontextmanager
    async def opening(self, table_id: str) -> AsyncIterator[TableActor]:
        """The table of this id, empty if there was none: it is then ours if it has been opened by the end.

        Until then nobody else gets it. What its first commit brings about (a deck) may be here before our own answer;
        it would load the table from its log a second time, and each half of its viewers would see another one.
        """
        require_table(table_id)
        async with self._being_opened(table_id):
            found = self._at_hand(table_id)
            if found is None and await self._exists(table_id):
                found = await self._made_beside(table_id)
            if found is not None:
                yield found
                return
            if table_id in self._broken:
                raise broken()
            actor = self._new(table_id)
            actor.begin()
            actor.start()
            try:
                yield actor
            finally:
                if actor.table.config is not None:
                    self._add(actor)
                else:
                    await actor.stop()

    async def lobby(
        self, after: str = "", currency: str = EVERY, *, include_closed: bool = True, limit: int | None = None
    ) -> list[pb.TableSummary]:
        """Return every table's line behind an id, at most this many, from memory. Whoever lists tables to choose one
        must see which of them cannot be played at: their rows were written when they could.
        """
        lines: list[pb.TableSummary] = []
        while limit is None or len(lines) < limit:
            names = list(islice(self._lobby.after(after, currency, include_closed=include_closed), LINES_AT_ONCE))
            if not names:
                break
            some = [line for name in names if (line := self.line(name)) is not None]
            lines += [line for line in some if include_closed or line.life != pb.TABLE_LIFE_CLOSED]
            after = names[-1]
            await asyncio.sleep(0)
        return lines[:limit]

    def line(self, table_id: str) -> pb.TableSummary | None:
        """Return a table's line in the lobby as it is now."""
        actor = self._tables.get(table_id)
        if actor is not None:
            return actor.summary()
        row = self._lobby.row(table_id)
        if row is not None and table_id in self._broken:
            row.paused = broken().reason
        return row

    def live_names(self, currency: str) -> list[str]:
        """Return the ids of all tables that are not closed, of a currency or of EVERY, in order."""
        return list(self._lobby.after("", currency, include_closed=False))

    async def matching(self, after: str, wanted: Wanted, most: int) -> tuple[list[pb.TableSummary], str]:
        """Return the lines behind an id that are wanted, at most so many, and the id to go on behind; empty at the end.
        Not more than LOOKED_AT tables are looked at, so that a filter that fits nothing costs no more than a page.
        """
        lines: list[pb.TableSummary] = []
        for _ in range(LOOKED_AT // LINES_AT_ONCE):
            names = list(islice(self._lobby.after(after, wanted.currency, include_closed=wanted.closed), LINES_AT_ONCE))
            for name in names:
                if len(lines) == most:
                    return lines, after
                after, line = name, self.line(name)
                if line is not None and wanted.fits(line):
                    lines.append(line)
            if len(names) < LINES_AT_ONCE:
                return lines, ""
            await asyncio.sleep(0)
        return lines, after

    async def pause(self, table_id: str, reason: str) -> None:
        """Have a table start no more hands, and show why; returns when that is durable. Raises Refused: where it is
        paused already that reason stays.
        """
        actor = self._tables.get(table_id)
        if actor is not None:
            await actor.submit(PauseTable(reason, ""), within_s=None)

    def go_on(self, held: Container[str]) -> None:
        """End the pause of tables that stood still because a message for them could not be handled, and whose line is
        no longer ``held``: operators have let it be handled again, or dropped it. Whatever else they are paused for
        stays.
        """
        for actor in self._tables.values():
            if actor.table.parked and actor.table_id not in held:
                actor.post(ResumeTable("", actor.table.parked))

    def _everyone(self) -> list[TableActor]:
        return [*self._tables.values(), *self._folds.kept()]

    def log_behind(self, stream: str) -> None:
        """Halt the table whose log lost what it had acknowledged."""
        for actor in self._everyone():
            if actor.stream == stream:
                actor.halt(behind(actor.stream))

    def trouble_changed(self) -> None:
        """The state of the log has changed."""
        for actor in self._everyone():
            actor.trouble_changed()

    def clock_set(self, by_ms: int) -> None:
        """The clock was set: every table's clocks start afresh before it decides anything else."""
        for actor in self._everyone():
            actor.clock_set(by_ms)

    async def stop(self) -> None:
        """Stop every table."""
        self.watch.finish(stopping())
        self.people.finish(stopping())
        await asyncio.gather(*(actor.stop() for actor in self._everyone()))

    def forget_closed(self) -> None:
        """Of closed tables that nobody watches keep the row; the table itself for a while, for those who ask again."""
        for table_id, actor in list(self._tables.items()):
            if actor.table.life is Life.CLOSED and not len(actor.hub):
                self._lobby.put(views.summary(actor.table))
                del self._tables[table_id]
                self._folds.keep(actor)
        self._folds.drop_old()

    def let_age(self) -> None:
        """Forget what counts no more: figures of tables where nobody plays, old messages."""
        now_ms = self.runtime.clock()
        for actor in list(self._tables.values()):
            actor.let_figures_age(now_ms)
        self.people.messages.drop_old(now_ms)


def _unreadable() -> Refused:
    return Refused("LOG_UNAVAILABLE", "the log cannot be read: try again")


def unknown(table_id: str) -> Refused:
    """Return the refusal for a table that does not exist."""
    return Refused("UNKNOWN_TABLE", f"there is no table {table_id!r}: ListTables names them", table=table_id[:64])

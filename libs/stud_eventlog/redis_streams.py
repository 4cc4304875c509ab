"""The event log on Valkey or Redis (7.2 or newer)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeGuard

from stud_eventlog import keys
from stud_eventlog.availability import Availability
from stud_eventlog.entries import Row
from stud_eventlog.group_commit import MAX_IN_FLIGHT, MAX_REPEATING
from stud_eventlog.log import OnCursorAhead, OnLogBehind, StreamKind
from stud_eventlog.lua import PROBE
from stud_eventlog.permissions import needed
from stud_eventlog.reading import verified
from stud_eventlog.redis_appends import PASSING, RedisBackend
from stud_eventlog.redis_dead import RedisDeadLetters, scan
from stud_eventlog.redis_feeds import RedisFeeds
from stud_eventlog.redis_wire import RedisWire, Refusal, answered, call, text_map
from stud_eventlog.trouble import (
    MEMORY_LIMIT,
    MIN_VERSION,
    SETTING_NAMES,
    Trouble,
    full,
    parse_version,
    refused,
    server_problems,
    setting_problems,
    unseen,
    volatile,
)
from stud_eventlog.types import (
    START,
    Append,
    DeadLetter,
    FeedEntry,
    Head,
    LogUnavailable,
    StoredCommit,
    UnsafeServer,
    VersionConflict,
)
from stud_eventlog.writing import Writer, new_mark

CONNECT_TIMEOUT_S = 2.0
WRITE_TIMEOUT_S = 3.0
"""For a whole pipeline. An append that takes longer is repeated, which is harmless, so this need not be generous."""

READ_TIMEOUT_S = 5.0
"""For a read of feeds; a blocking read waits at most READ_TIMEOUT_S - READ_MARGIN_S inside the server."""

READ_MARGIN_S = 2.0
WRITER_CONNECTIONS = MAX_REPEATING + 8
"""Batches without an answer keep theirs until they time out; what a writer must look up finds one all the same."""

QUESTION_CONNECTIONS = 8
"""For reading what callers ask for. However many ask, no append waits for them."""

CLOSE_GRACE_S = 2.0


class RedisEventLog:
    """See `log.EventLog`. Make one with `RedisEventLog.connect(url)`; close it in the loop that made it."""

    def __init__(
        self,
        writer_wire: RedisWire,
        reader_wire: RedisWire,
        question_wire: RedisWire,
        *,
        read_timeout_s: float,
        max_in_flight: int,
        allow_volatile: bool = False,
    ) -> None:
        self._allow_volatile = allow_volatile
        self.on_cursor_ahead: OnCursorAhead | None = None
        self.commits_moved = 0
        """Commits that were read or written so far: while it grows something is being done."""
        self._wires = (writer_wire, reader_wire, question_wire)
        self._wire = writer_wire
        self._question_wire = question_wire
        self._questions = RedisBackend(question_wire)
        self._backend = RedisBackend(writer_wire)
        self._writer = Writer(self._backend, max_in_flight=max_in_flight)
        block_ms_max = max(1, int((read_timeout_s - READ_MARGIN_S) * 1000))
        self._feeds = RedisFeeds(writer_wire, reader_wire, block_ms_max, self._cursor_ahead)
        self._dead = RedisDeadLetters(writer_wire)
        self._availability = Availability(self._answer_and_verify)
        for wire in self._wires:
            wire.on_lost = self._availability.lost

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        allow_volatile: bool = False,
        client_name: str = "stud",
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        write_timeout_s: float = WRITE_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
        max_in_flight: int = MAX_IN_FLIGHT,
        on_log_behind: OnLogBehind | None = None,
        on_cursor_ahead: OnCursorAhead | None = None,
    ) -> RedisEventLog:
        """Connects and checks the server: LogUnavailable when it does not answer, UnsafeServer when it may lose
        commits, UnusableUrl when `url` is none.

        `url` is redis://[user:password@]host:port[/db], rediss:// or unix://.
        """
        writer_wire = RedisWire(
            url,
            connections=WRITER_CONNECTIONS,
            timeout_s=write_timeout_s,
            connect_timeout_s=connect_timeout_s,
            client_name=client_name,
        )
        reader_wire = RedisWire(
            url,
            connections=1,
            timeout_s=read_timeout_s,
            connect_timeout_s=connect_timeout_s,
            client_name=client_name + "-reader",
        )
        question_wire = RedisWire(
            url,
            connections=QUESTION_CONNECTIONS,
            timeout_s=read_timeout_s,
            connect_timeout_s=connect_timeout_s,
            client_name=client_name + "-questions",
        )
        log = cls(
            *(writer_wire, reader_wire, question_wire),
            read_timeout_s=read_timeout_s,
            max_in_flight=max_in_flight,
            allow_volatile=allow_volatile,
        )
        log.on_log_behind, log.on_cursor_ahead = on_log_behind, on_cursor_ahead
        try:
            await log.ping()
            if not allow_volatile:
                await log._check_server()
        except BaseException:
            await log.close()
            raise
        return log

    async def _check_server(self) -> None:
        info = _info(await call(self._wire, "INFO", "server"))
        version = info.get("redis_version", "")
        settings: dict[str, str] = {}
        if parse_version(version) >= MIN_VERSION:
            try:
                reply = await call(self._wire, "CONFIG", "GET", *SETTING_NAMES)
                settings = {name: value.decode() for name, value in text_map(reply).items()}
            except LogUnavailable as why:
                raise UnsafeServer([f"the settings cannot be read, +config|get is needed ({why})"]) from None
        if problems := server_problems(settings, version):
            raise UnsafeServer(problems)

    # Availability

    @property
    def available(self) -> bool:
        return self._availability.up

    async def wait_available(self) -> None:
        await self._availability.wait()

    async def _answer_and_verify(self) -> None:
        for wire in self._wires:  # what was lost was lost to all of them, and is told once
            wire.renew_idle()
        await call(self._wire, "PING")
        await self._writer.verify()

    async def ping(self) -> None:
        await call(self._wire, "PING")
        await self._writer.check_mark()

    # Writing

    @property
    def on_log_behind(self) -> OnLogBehind | None:
        return self._writer.on_log_behind

    @on_log_behind.setter
    def on_log_behind(self, callback: OnLogBehind | None) -> None:
        self._writer.on_log_behind = callback

    async def append(self, append: Append) -> Head:
        head = await self._writer.append(append)
        self.commits_moved += 1
        return head

    async def append_many(self, appends: Sequence[Append]) -> list[Head | VersionConflict]:
        heads = await self._writer.append_many(appends)
        self.commits_moved += len(heads)
        return heads

    def forget(self, stream: str) -> None:
        self._writer.acknowledged.forget(stream)

    # Reading

    async def head(self, stream: str) -> Head:
        return await self._questions.head(stream)

    async def read(self, stream: str, after: int = 0, limit: int = 500) -> list[StoredCommit]:
        return [commit for commit, _ in await self._rows(stream, after, limit)]

    def read_all(self, stream: str, after: int = 0) -> AsyncIterator[StoredCommit]:
        return verified(stream, after, self._rows, self._questions.head)

    async def _rows(self, stream: str, after: int, limit: int) -> list[Row]:
        rows = await self._questions.rows(stream, after, limit)
        self.commits_moved += len(rows)
        return rows

    # Feeds

    def _cursor_ahead(self, feed: str, cursor: str, last: str) -> None:
        if self.on_cursor_ahead is not None:
            self.on_cursor_ahead(feed, cursor, last)

    async def read_feeds(self, positions: Mapping[str, str], limit: int = 256, block_ms: int = 1000) -> list[FeedEntry]:
        return await self._feeds.read(positions, limit, block_ms)

    async def last_id(self, feed: str) -> str:
        return await self._feeds.last_id(feed)

    async def load_cursors(self, service: str, feeds: Sequence[str]) -> dict[str, str]:
        return await self._feeds.load_cursors(service, feeds)

    async def store_cursors(self, service: str, cursors: Mapping[str, str]) -> None:
        await self._feeds.store_cursors(service, cursors)

    async def trim_feed(self, feed: str, readers: Sequence[str]) -> int:
        return await self._feeds.trim(feed, readers)

    # Dead letters

    async def park(self, service: str, shard: int, table_id: str, entry: FeedEntry, reason: str) -> bool:
        return await self._dead.park(service, shard, table_id, entry, reason)

    async def parked_tables(self, service: str, shard: int) -> set[str]:
        return await self._dead.parked_tables(service, shard)

    async def dead_list(self, service: str | None = None) -> list[DeadLetter]:
        return await self._dead.list_all(service)

    async def dead_take(self, service: str, shard: int, table_id: str) -> list[DeadLetter]:
        return await self._dead.take(service, shard, table_id)

    async def dead_discard(self, service: str, shard: int, table_id: str, up_to: int | None = None) -> int:
        return await self._dead.discard(service, shard, table_id, up_to)

    async def request_retry(self, service: str, shard: int, table_id: str) -> None:
        await self._dead.request_retry(service, shard, table_id)

    async def retry_requests(self, service: str, shard: int) -> set[str]:
        return await self._dead.retry_requests(service, shard)

    async def clear_retry(self, service: str, shard: int, table_id: str) -> None:
        await self._dead.clear_retry(service, shard, table_id)

    # The rest

    async def lobby(self, shard: int) -> dict[str, bytes]:
        return text_map(await call(self._question_wire, "HGETALL", keys.lobby(shard)))

    async def scan_streams(self, kind: StreamKind) -> list[str]:
        found = await scan(self._question_wire, keys.SCAN_PATTERNS[kind], "stream")
        return keys.names_of(kind, found)

    async def trouble(self, service: str) -> Trouble | None:
        probe = PROBE.command([keys.probe(service)], [START, *needed(service)])
        (wrote,) = await PROBE.run_all(self._wire, [probe])
        if _is_no(wrote):
            return refused(wrote.code, wrote.text)
        answered(wrote)
        settings, memory = await self._wire.pipeline([("CONFIG", "GET", *SETTING_NAMES), ("INFO", "memory")])
        for reply in (memory,) if self._allow_volatile else (settings, memory):
            if _is_no(reply):
                return unseen(reply.code, reply.text)
        if not self._allow_volatile:
            found = {name: value.decode() for name, value in text_map(answered(settings)).items()}
            if problems := setting_problems(found):
                return volatile(problems)
        ratio = _ratio(_info(answered(memory)))
        return full(ratio) if ratio >= MEMORY_LIMIT else None

    async def initialise(self) -> bool:
        return await call(self._wire, "SET", keys.INITIALISED, new_mark(), "NX") is not None

    async def require_initialised(self) -> None:
        await self._writer.require_mark()

    async def close(self) -> None:
        await self._writer.close(CLOSE_GRACE_S)
        await self._availability.close()
        for wire in self._wires:
            await wire.close()


def _is_no(reply: Any) -> TypeGuard[Refusal]:
    """Whether the server refused, and will go on refusing."""
    return isinstance(reply, Refusal) and reply.code not in PASSING


def _info(reply: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in reply.decode().splitlines())
    return {name: value for name, colon, value in lines if colon}


def _ratio(info: Mapping[str, str]) -> float:
    allowed = int(info["maxmemory"])
    return int(info["used_memory"]) / allowed if allowed else 0.0

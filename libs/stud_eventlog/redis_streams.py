"""The event log on Valkey or Redis (7.2 or newer): appends and reads of logs as commands of the server, and what makes
one log of them, its feeds and its dead letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from stud_eventlog import keys
from stud_eventlog.commits import Commits
from stud_eventlog.entries import Row, checked_hash, log_id, log_row
from stud_eventlog.group_commit import MAX_IN_FLIGHT, MAX_REPEATING, Again
from stud_eventlog.keys import ScanKind
from stud_eventlog.log import OnCursorAhead, OnLogBehind
from stud_eventlog.lua import APPEND, PROBE, TRY_APPEND
from stud_eventlog.permissions import needed
from stud_eventlog.redis_feeds import RedisDeadLetters, RedisFeeds
from stud_eventlog.redis_wire import (
    Arg,
    Command,
    Lost,
    RedisWire,
    Refusal,
    Wire,
    answered,
    call,
    is_missing_key,
    scan,
    text_map,
)
from stud_eventlog.shared_reads import SharedReads
from stud_eventlog.trouble import (
    MEMORY_LIMIT,
    MIN_VERSION,
    SETTING_NAMES,
    Memory,
    Trouble,
    full,
    of_a_key,
    parse_version,
    refused,
    server_problems,
    setting_problems,
    unseen,
    volatile,
)
from stud_eventlog.types import START, Append, ChainBroken, Head, LogUnavailable, UnsafeServer, UnusableUrl
from stud_eventlog.writing import Elsewhere, WriteAnswer, new_mark

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

SMALL = 16
"""Commits of a read that may share a pipeline; a page goes alone, so that nobody waits behind it."""

CLOSE_GRACE_S = 2.0

NO_DATABASE = "DB index is out of range"
"""What a server says of a database that it does not have."""

# Refusals that pass by themselves and say nothing about the append: it is repeated. Any other error reply is a "no"
# for now.
PASSING = frozenset({"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "NOSCRIPT"})


class RedisEventLog(Commits, RedisFeeds, RedisDeadLetters):
    """See `log.EventLog`. Make one with `RedisEventLog.connect(url)`; close it in the loop that made it."""

    def __init__(
        self, writer: RedisWire, reader: RedisWire, questions: RedisWire, *, longest_block_ms: int, max_in_flight: int
    ) -> None:
        Commits.__init__(self, RedisBackend(writer), RedisBackend(questions), max_in_flight=max_in_flight)
        RedisFeeds.__init__(self, writer, reader, longest_block_ms)
        RedisDeadLetters.__init__(self, writer)
        self.memory: Memory | None = None
        self._allow_volatile = False
        self._questions = questions
        self._wires = (writer, reader, questions)
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
        commits, UnusableUrl when `url` cannot be used.

        `url` is redis://[user:password@]host:port[/db], rediss:// or unix://.
        """

        def wire(name: str, connections: int, timeout_s: float) -> RedisWire:
            return RedisWire(
                url,
                connections=connections,
                timeout_s=timeout_s,
                connect_timeout_s=connect_timeout_s,
                client_name=client_name + name,
            )

        log = cls(
            wire("", WRITER_CONNECTIONS, write_timeout_s),
            wire("-reader", 1, read_timeout_s),
            wire("-questions", QUESTION_CONNECTIONS, read_timeout_s),
            longest_block_ms=max(1, int((read_timeout_s - READ_MARGIN_S) * 1000)),
            max_in_flight=max_in_flight,
        )
        log._allow_volatile = allow_volatile
        log.on_log_behind, log.on_cursor_ahead = on_log_behind, on_cursor_ahead
        try:
            await log.ping()
        except LogUnavailable as why:
            await log.close()
            if NO_DATABASE in str(why):  # which no waiting changes
                raise UnusableUrl("want a database that the server has") from None
            raise
        except BaseException:
            await log.close()
            raise
        try:
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

    async def _verify(self) -> None:
        for wire in self._wires:  # what was lost was lost to all of them, and is reported once
            wire.renew_idle()
        await super()._verify()

    async def lobby(self, shard: int) -> dict[str, bytes]:
        return text_map(await call(self._questions, "HGETALL", keys.lobby(shard)))

    async def scan_streams(self, kind: ScanKind) -> list[str]:
        found = await scan(self._questions, keys.SCAN_PATTERNS[kind], "stream")
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
        info = _info(answered(memory))
        self.memory = Memory(int(info["used_memory"]), int(info["maxmemory"]) or int(info["total_system_memory"]))
        ratio = _ratio(info)
        return full(ratio) if ratio >= MEMORY_LIMIT else None

    async def initialise(self) -> bool:
        return await call(self._wire, "SET", keys.INITIALISED, new_mark(), "NX") is not None

    async def close(self) -> None:
        await self._close(CLOSE_GRACE_S)
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


class RedisBackend:
    """`writing.Backend` and `commits.Reads` over a server: one script call per append."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._shared = SharedReads(wire)

    async def write(self, appends: Sequence[Append]) -> list[WriteAnswer]:
        heads = [append.head for append in appends]
        commands = [append_command(append, head) for append, head in zip(appends, heads, strict=True)]
        replies = await APPEND.run_all(self._wire, commands)
        return [append_answer(head, reply) for head, reply in zip(heads, replies, strict=True)]

    async def try_append(self, append: Append) -> None:
        names = [append.stream, *dict.fromkeys(item.feed for item in append.outbox)]
        kinds = ["stream"] * len(names)
        if append.lobby is not None:
            names, kinds = [*names, append.lobby.key], [*kinds, "hash"]
        await TRY_APPEND.run(self._wire, names, kinds)

    async def where(self, stream: str) -> Elsewhere:
        reply = (await self._wire.pipeline([("XINFO", "STREAM", stream)]))[0]
        return stream_end(reply)

    async def hashes_at(self, places: Sequence[tuple[str, int]]) -> list[bytes | None]:
        replies = await self._wire.pipeline(
            [("XRANGE", stream, log_id(version), log_id(version)) for stream, version in places]
        )
        return [
            None if isinstance(reply, Refusal) and of_a_key(reply.code) else _hash_at(answered(reply))
            for reply in replies
        ]

    async def mark(self) -> bytes | None:
        found: bytes | None = await call(self._wire, "GET", keys.INITIALISED)
        return found

    async def ping(self) -> None:
        await call(self._wire, "PING")

    async def head(self, stream: str) -> Head:
        end = await self.where(stream)
        if end.hash is None:
            raise ChainBroken(stream, end.version, "the last commit of a log must stay in it, for its hash")
        return Head(end.version, end.hash)

    async def rows(self, stream: str, after: int, limit: int) -> list[Row]:
        command = ("XRANGE", stream, log_id(after + 1), "+", "COUNT", limit)
        reply = await (self._shared.ask(command) if limit <= SMALL else call(self._wire, *command))
        return [log_row(stream, entry_id, fields) for entry_id, fields in reply]


def append_command(append: Append, head: Head) -> Command:
    feeds: dict[str, int] = {}
    outbox: list[Arg] = []
    for item in append.outbox:
        outbox += (feeds.setdefault(item.feed, len(feeds) + 2), item.event)  # KEYS[1] is the log
    hashes = append.prev_hash + append.commit_id + head.hash
    row = append.lobby
    if row is None:
        return APPEND.command((append.stream, *feeds), (append.expected_version, hashes, append.body, "", *outbox))
    args = (append.expected_version, hashes, append.body, row.field, *outbox, row.value)
    return APPEND.command((append.stream, *feeds, row.key), args)


def append_answer(head: Head, reply: Any) -> WriteAnswer:
    if isinstance(reply, Lost):
        return Again(reply.why, doubtful=reply.sent)
    if isinstance(reply, Refusal):
        if reply.code in PASSING:
            return Again(f"{reply.code} {reply.text}", doubtful=False)
        return Again(reply.text, doubtful=False, refused=reply.code)
    if isinstance(reply, int):
        return head
    if reply[0] == 1:
        return Head(head.version, reply[1])
    return Elsewhere(reply[1], checked_hash(reply[2]))


def stream_end(reply: Any) -> Elsewhere:
    """Returns where a stream ends from the reply to XINFO STREAM; the id survives trimming, the hash is in the last
    entry.
    """
    if is_missing_key(reply):
        return Elsewhere(0, Head().hash)
    info = text_map(answered(reply))
    end: Any = info["last-generated-id"]
    last: Any = info["last-entry"]
    # An entry that was deleted leaves its id as the last one generated, and the one before it as the last entry.
    return Elsewhere(int(end.split(b"-")[0]), _hash_of(last[1]) if last and last[0] == end else None)


def _hash_at(entries: Sequence[tuple[bytes, Sequence[bytes]]]) -> bytes | None:
    return _hash_of(entries[0][1]) if entries else None


def _hash_of(fields: Sequence[bytes]) -> bytes | None:
    return checked_hash(dict(zip(fields[::2], fields[1::2], strict=False)).get(b"h"))

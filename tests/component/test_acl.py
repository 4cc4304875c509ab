"""The access list of deploy/redis on a real server: every write that is not one's own is tried and refused, from a
script too, and what the event log needs is allowed. Rules: users.acl. Expectations: acl_cases.py.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import NO_HASH, Append, ChainBroken, FeedItem, LobbyRow
from stud_topology.services import SERVICES as ALL
from stud_topology.services import Service, followed_by, service_called, streams_of
from tests.component.acl_cases import (
    CURRENCY,
    FEEDS,
    KEYS,
    LOGS_AND_FEEDS,
    REDIS_FILES,
    SERVICES,
    SHARD,
    USERS,
    Key,
    password,
    read_command,
    rendered_acl,
    url_of,
    write_commands,
)

# The event log's own work is tried in another shard and currency, where no test has written nonsense.
WORK_SHARD, WORK_CURRENCY = 8, "XTS"
LOG_OF = {
    "table": keys.table_log(WORK_SHARD, "t-1"),
    "deck": keys.deck_log(WORK_SHARD, "t-1"),
    "verdicts": keys.verdicts(WORK_SHARD),
    "ledger": keys.ledger_log(WORK_CURRENCY),
}

pytestmark = pytest.mark.xdist_group("acl")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    folder = tmp_path_factory.mktemp("acl")
    aclfile = folder / "users.acl"
    aclfile.write_text(rendered_acl())
    server = EmbeddedServer(folder / "data", aclfile=aclfile, environ={"PATH": os.environ["PATH"]})
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


class Client:
    """A user's connection: `reply` gives the server's answer or the first word of its refusal."""

    def __init__(self, port: int, user: str | None, secret: str | None) -> None:
        # Untyped in the library. It would try a wrong password ten times, at growing intervals.
        self.redis: Any = redis.Redis(
            port=port,
            username=user,
            password=secret,
            decode_responses=True,
            socket_timeout=5,
            retry=Retry(NoBackoff(), 0),
        )

    def reply(self, *command: Any) -> Any:
        try:
            return self.redis.execute_command(*command)
        except redis.exceptions.AuthenticationError:
            return "NOAUTH"
        except redis.exceptions.NoPermissionError:
            return "NOPERM"
        except redis.exceptions.ResponseError as refused:
            # A refusal inside of a script comes wrapped in the script's own error.
            inside = "can't run this command or subcommand" in str(refused) or "permission" in str(refused).lower()
            return "NOPERM" if inside else str(refused)


@pytest.fixture(scope="module")
def clients(server: EmbeddedServer) -> Iterator[dict[str, Client]]:
    made = {user: Client(server.port, user, password(user)) for user in USERS}
    yield made
    for client in made.values():
        client.redis.close()


def in_script(client: Client, command: tuple[str, ...], *, declared: bool) -> Any:
    """Runs one command inside of a script, with its key declared in KEYS or smuggled in as an argument."""
    if declared:
        words = ["ARGV[1]", "KEYS[1]", *(f"ARGV[{n}]" for n in range(2, len(command)))]
        arguments = ("1", command[1], command[0], *command[2:])
    else:
        words = [f"ARGV[{n}]" for n in range(1, len(command) + 1)]
        arguments = ("0", *command)
    sha = client.redis.execute_command("SCRIPT", "LOAD", f"return redis.call({','.join(words)})")
    return client.reply("EVALSHA", sha, *arguments)


def allowed_to_write(user: str, key: Key, command: tuple[str, ...]) -> bool:
    if command[0] == "SADD":
        # The referee asks for its own replays: what it cannot judge now it tries again by itself.
        return key.kind == "set" and (user == "operator" or user == key.writer == "rules")
    if user != key.writer:
        return False
    if command[0] == "XADD":
        return True
    if command[0] == "XTRIM":
        return key.name in FEEDS
    if command[0] == "SET":
        return key.removable or key.name == keys.INITIALISED
    return (command[0] == "DEL" and key.removable) or (command[0] == "HSET" and key.kind == "hash")


@pytest.mark.parametrize("user", USERS)
def test_what_is_not_ones_own_cannot_be_written(clients: dict[str, Client], user: str):
    client = clients[user]
    tried, passed = 0, []
    for key in KEYS:
        for command in write_commands(key):
            if allowed_to_write(user, key, command):
                continue
            tried += 1
            ways = {"directly": client.reply(*command)}
            if user in SERVICES:
                ways["in a script, declared"] = in_script(client, command, declared=True)
                ways["in a script, smuggled in"] = in_script(client, command, declared=False)
            passed += [(command, way, reply) for way, reply in ways.items() if reply != "NOPERM"]
    assert passed == []
    assert tried > 200


@pytest.mark.parametrize("user", USERS)
def test_what_is_not_told_to_one_cannot_be_read(clients: dict[str, Client], user: str):
    client = clients[user]
    wrong = []
    for key in KEYS:
        ways = [client.reply(*read_command(key))]
        if user in SERVICES:
            ways.append(in_script(client, read_command(key), declared=False))
        expected = user not in key.readers
        wrong += [(key.name, reply) for reply in ways if (reply == "NOPERM") != expected]
    assert wrong == []


@pytest.mark.parametrize("key", LOGS_AND_FEEDS, ids=lambda key: key.name)
def test_not_even_the_owner_overwrites_or_deletes(clients: dict[str, Client], key: Key):
    owner = clients[key.writer]
    assert owner.reply("XADD", key.name, "*", "f", "v") != "NOPERM"
    for command in write_commands(key)[1:]:
        if not (command[0] == "XTRIM" and key.name in FEEDS):
            assert owner.reply(*command) == "NOPERM", command


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("service", [service.name for service in ALL if service.log is not None])
async def test_an_owner_who_drops_the_beginning_of_their_log_cannot_hide_it(
    server: EmbeddedServer, service: str, left: int
):
    """No access list forbids an argument of XADD, so this is possible; whoever reads next finds the chain broken."""
    shard = 9 + left
    stream = {
        "table": keys.table_log(shard, "t-1"),
        "dealer": keys.deck_log(shard, "t-1"),
        "rules": keys.verdicts(shard),
        "wallet": keys.ledger_log("AA" + "ABC"[left]),
    }[service]
    log = await RedisEventLog.connect(url_of(service, server.port))
    raw: Any = redis.Redis.from_url(url_of(service, server.port))
    try:
        first = await log.append(Append(stream, 0, NO_HASH, os.urandom(16), b"one"))
        await log.append(Append(stream, 1, first.hash, os.urandom(16), b"two"))
        ((_, fields),) = raw.xrange(stream, "2-0", "2-0")
        words = [word for pair in fields.items() for word in pair]
        assert raw.execute_command("XADD", stream, "MAXLEN", left, "3-0", *words) == b"3-0"
        assert raw.xlen(stream) == left
        with pytest.raises(ChainBroken):
            _ = [commit async for commit in log.read_all(stream)]
    finally:
        raw.close()
        await log.close()


@pytest.mark.parametrize("user", USERS)
def test_no_setting_that_everybody_may_read_is_a_secret(clients: dict[str, Client], user: str):
    settings: Any = clients[user].reply("CONFIG", "GET", "*")
    assert settings != "NOPERM"
    found = {str(name): str(value) for name, value in dict(settings).items()}
    secret = {name: value for name, value in found.items() if name.endswith(("pass", "auth")) and value}
    assert secret == {}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    "command",
    [
        ("FLUSHALL",),
        ("FLUSHDB",),
        ("CONFIG", "SET", "appendfsync", "no"),
        ("CONFIG", "REWRITE"),
        ("ACL", "SETUSER", "default", "on"),
        ("ACL", "LIST"),
        ("ACL", "LOAD"),
        ("SHUTDOWN", "NOSAVE"),
        ("REPLICAOF", "127.0.0.1", "1"),
        ("MONITOR",),
        ("KEYS", "*"),
        ("CLIENT", "KILL", "TYPE", "normal"),
        ("EVAL", "return 1", "0"),
        ("FUNCTION", "LIST"),
        ("SCRIPT", "FLUSH"),
        ("MULTI",),
        ("SWAPDB", "0", "1"),
        ("PUBLISH", "c", "m"),
        ("XGROUP", "CREATE", keys.table_feed(SHARD), "g", "0"),
    ],
    ids=" ".join,
)
def test_nobody_administers(clients: dict[str, Client], user: str, command: tuple[str, ...]):
    assert clients[user].reply(*command) == "NOPERM"


def test_nothing_is_open_without_a_password(server: EmbeddedServer):
    stranger = Client(server.port, None, None)
    assert stranger.reply("GET", keys.INITIALISED) == "NOAUTH"
    stranger.redis.close()
    for user, secret in [("table", "wrong"), ("table", ""), ("default", ""), ("nobody", "x")]:
        client = Client(server.port, user, secret)
        with pytest.raises(redis.exceptions.AuthenticationError):
            client.redis.ping()
        client.redis.close()


def test_the_health_user_can_only_ping(server: EmbeddedServer):
    client = Client(server.port, "health", "anything")
    assert client.reply("PING") is True
    for command in [("GET", keys.INITIALISED), ("INFO",), ("SCAN", "0"), ("SET", "a", "b"), ("EVALSHA", "0" * 40, "0")]:
        assert client.reply(*command) == "NOPERM", command
    client.redis.close()


async def append_as(about: Service, kind: keys.Kind, log: RedisEventLog) -> None:
    """What a service that decides something does at each decision."""
    stream = LOG_OF[kind]
    (feed,) = streams_of(about.feed, [WORK_CURRENCY], [WORK_SHARD]) if about.feed else [None]
    head = await log.head(stream)
    append = Append(
        stream,
        head.version,
        head.hash if head.version else NO_HASH,
        os.urandom(16),
        b"body",
        outbox=(FeedItem(feed, b"event"),) if feed else (),
        lobby=LobbyRow(keys.lobby(WORK_SHARD), "t-1", b"row") if about.name == "table" else None,
    )
    assert (await log.append(append)).version == head.version + 1
    if feed:
        assert await log.trim_feed(feed, list(SERVICES)) == 0


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_can_do_its_work(server: EmbeddedServer, service: str):
    operator = await RedisEventLog.connect(url_of("operator", server.port))
    log = await RedisEventLog.connect(url_of(service, server.port))
    try:
        await operator.initialise()
        await log.require_initialised()
        about = service_called(service)
        if about.log is not None:
            await append_as(about, about.log, log)

        for read in followed_by(about, [WORK_CURRENCY], [WORK_SHARD]):
            entries = await log.read_feeds({read: "0-0"}, block_ms=0)
            last = entries[-1].entry_id if entries else "0-0"
            await log.store_cursors(service, {read: last})
            assert (await log.load_cursors(service, [read]))[read] == last
            for entry in entries[:1]:
                await log.park(service, WORK_SHARD, "t-1", entry, "for a test")
                assert await log.parked_tables(service, WORK_SHARD) == {"t-1"}

        await operator.request_retry(service, WORK_SHARD, "t-1")
        assert await log.retry_requests(service, WORK_SHARD) == {"t-1"}
        await log.clear_retry(service, WORK_SHARD, "t-1")
        await log.dead_discard(service, WORK_SHARD, "t-1")
        assert await log.trouble(service) is None
    finally:
        await log.close()
        await operator.close()


async def test_the_operator_reads_everything_and_tends_the_dead(server: EmbeddedServer, clients: dict[str, Client]):
    clients["dealer"].redis.execute_command("HSET", keys.dead("dealer", SHARD), "#", "0")
    log = await RedisEventLog.connect(url_of("operator", server.port))
    try:
        for key in LOGS_AND_FEEDS:
            clients[key.writer].reply("XADD", key.name, "*", "f", "v")
        assert "t-1" in await log.scan_streams("table")
        assert CURRENCY in await log.scan_streams("ledger")
        assert await log.dead_list() == []
        assert (await log.lobby(SHARD)).keys() <= {"t-1"}
        assert clients["operator"].reply("HDEL", keys.dead("dealer", SHARD), "#") in {0, 1}
        assert clients["operator"].reply("ACL", "LOG") != "NOPERM"
    finally:
        await log.close()


def test_a_missing_password_stops_the_start():
    done = subprocess.run(
        [shutil.which("sh") or "sh", REDIS_FILES / "render-acl.sh", REDIS_FILES / "users.acl"],
        env={"PATH": os.environ["PATH"], "STUD_REDIS_PASSWORD_TABLE": "x"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "STUD_REDIS_PASSWORD_DEALER is not set" in done.stderr
    assert done.stdout == ""

"""Commands that read a log, on a real server: fine, found something, could not run."""

import asyncio
import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.pid_file import RunningSystem, write_running
from stud_cli.main import app
from stud_core import events as ev
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import START, Append, FeedEntry, FeedItem, Head
from stud_service.keyring import ensure_dev_keys
from tests.support.history import DECK, LEDGER, TABLE, VERDICTS, History, T, closed_table, copy, open_table
from tests.support.valkey import command, running_server

HISTORY = closed_table()


async def write(url: str, history: History) -> None:
    log = await RedisEventLog.connect(url)
    try:
        await log.initialise()
        for commits in history.streams.values():
            await copy(commits, log)
    finally:
        await log.close()


def on_log(url: str, work: Callable[[RedisEventLog], Awaitable[Any]]) -> Any:
    async def opened() -> Any:
        log = await RedisEventLog.connect(url)
        try:
            return await work(log)
        finally:
            await log.close()

    return asyncio.run(opened())


@pytest.fixture
def url(valkey_server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log with a closed table, named by STUD_REDIS_URL; no keys at hand."""
    asyncio.run(write(valkey_server.url, HISTORY))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUD_REDIS_URL", valkey_server.url)
    return valkey_server.url


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a stopped system, with its referee's key."""
    folder = tmp_path_factory.mktemp("data")
    with running_server(folder / "redis") as server:
        asyncio.run(write(server.url, HISTORY))
    ensure_dev_keys(folder / "keys")
    (folder / "keys" / "referee.key").write_bytes(HISTORY.referee_key)
    return folder


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def asked(*words: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the object on the last line."""
    ended = run(*words, "--json")
    assert ended.stdout, (words, ended.output, ended.exception)
    value: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return ended.exit_code, value


def flip_a_byte(url: str, stream: str, version: int) -> None:
    """Writes a log anew, with the same numbers, and one byte of one commit different."""

    async def work() -> None:
        entries: Any = await command(url, "XRANGE", stream, "-", "+")
        await command(url, "DEL", stream)
        for number, (entry_id, fields) in enumerate(entries, 1):
            if number == version:
                body = fields[b"b"]
                fields[b"b"] = body[:-1] + bytes((body[-1] ^ 1,))
            await command(url, "XADD", stream, entry_id, *(word for pair in fields.items() for word in pair))

    asyncio.run(work())


# ------------------------------------------------------------------- no log, or not one that can be read

READING = [
    *(["audit"], ["verify"], ["verify", T], ["replay", T], ["dead", "list"]),
    *(["dead", "retry", "wallet", T], ["dead", "discard", "wallet", T]),
]


def refused(*words: str) -> str:
    """What a command says that could not run: one line, the same with --json and without, and no object."""
    ended = run(*words, "--json")
    assert (ended.exit_code, ended.stdout) == (2, ""), words
    (line,) = ended.stderr.splitlines()
    for_people = run(*words)
    assert (for_people.exit_code, for_people.stderr) == (2, ended.stderr)
    return line


def everything(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


@pytest.mark.parametrize("words", READING)
@pytest.mark.parametrize(
    "there", ["", "redis", "redis/appendonlydir", "redis/appendonlydir/appendonly.aof.1.incr.aof/"]
)
def test_where_there_is_no_log_none_is_begun(words: list[str], there: str, tmp_path: Path):
    (tmp_path / there).mkdir(parents=True, exist_ok=True)
    before = everything(tmp_path)
    assert f"there is no log in {tmp_path}" in refused(*words, "--data", str(tmp_path))
    assert everything(tmp_path) == before


@pytest.mark.parametrize("words", READING)
def test_a_log_that_lost_everything_is_not_read_as_an_empty_one(words: list[str], url: str):
    asyncio.run(command(url, "FLUSHALL"))
    assert "has no mark of initialisation" in refused(*words)


def test_a_log_that_lost_its_mark_alone_is_not_read_either(url: str):
    asyncio.run(command(url, "DEL", keys.INITIALISED))
    assert all("has no mark of initialisation" in refused(*words) for words in READING)


@pytest.fixture
def copied(data: Path, tmp_path: Path) -> Path:
    return shutil.copytree(data, tmp_path / "copied")


@pytest.mark.parametrize("words", READING)
def test_a_stopped_system_that_lost_everything_is_not_read(words: list[str], copied: Path):
    with running_server(copied / "redis") as server:
        asyncio.run(command(server.url, "FLUSHALL"))
    assert "has no mark of initialisation" in refused(*words, "--data", str(copied))


@pytest.mark.parametrize("words", READING)
def test_a_log_that_the_server_refuses_is_told_with_the_way_out(words: list[str], copied: Path):
    (file,) = (copied / "redis" / "appendonlydir").glob("*.incr.aof")
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    assert f"`stud up --data {copied} --cut-torn-tail`" in refused(*words, "--data", str(copied))
    file.write_bytes(b"no log" + whole)
    assert f"{file} is damaged: put it back from a copy" in refused(*words, "--data", str(copied))
    file.unlink()
    assert run(*words, "--data", str(copied), "--json").exit_code == 2


@pytest.mark.parametrize("words", READING)
def test_a_log_whose_server_still_runs_is_told_with_its_process(words: list[str], copied: Path):
    with running_server(copied / "redis") as server:
        assert f"end it with `kill {server.pid}`" in refused(*words, "--data", str(copied))


# ------------------------------------------------------------------- verify


def test_a_sound_log_is_verified(url: str):
    assert asked("verify") == (0, {"tables": 1, "hands": 3, "ok": True, "problems": []})
    ended = run("verify", T)
    assert (ended.exit_code, ended.stdout.strip()) == (0, "1 tables, 3 hands: ok")
    assert "no referee key at hand: decks are compared, not opened" in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("stream", "version", "where"),
    [(TABLE, 40, T), (DECK, 4, T), (VERDICTS, 2, f"verdicts of shard {keys.shard_of(T)}"), (LEDGER, 11, "ledger EUR")],
)
def test_an_edited_byte_is_found(url: str, stream: str, version: int, where: str):
    flip_a_byte(url, stream, version)
    code, told = asked("verify")
    assert (code, told["ok"]) == (1, False)
    assert (where, version) in [(problem["table"], problem["version"]) for problem in told["problems"]]
    shown = run("verify")
    assert shown.exit_code == 1
    assert "Problems" in shown.stdout
    assert shown.stdout.strip().endswith("not ok")


def test_a_table_that_is_not_there_cannot_be_verified(url: str):
    ended = run("verify", "t-99", "--json")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "there is no table 't-99'" in ended.stderr
    assert run("verify", "No Table").exit_code == 2


def test_a_stopped_system_is_verified_with_its_keys(data: Path):
    ended = run("verify", "--data", str(data))
    assert (ended.exit_code, ended.stdout.strip()) == (0, "1 tables, 3 hands: ok")
    assert "no referee key" not in ended.stderr
    assert "3 of 3 decks opened" in ended.stderr


@pytest.mark.parametrize("words", [["verify"], ["verify", T]])
def test_a_key_of_another_log_is_no_finding(words: list[str], copied: Path):
    (copied / "keys" / "referee.key").write_bytes(bytes(range(32)))
    told = refused(*words, "--data", str(copied))
    assert told.endswith(f"the referee's key in {copied}/keys is not this log's: none of 3 decks opens")


def test_a_key_of_another_log_hides_no_finding(copied: Path):
    (copied / "keys" / "referee.key").write_bytes(bytes(range(32)))
    with running_server(copied / "redis") as server:
        flip_a_byte(server.url, LEDGER, 11)
    ended = run("verify", "--data", str(copied), "--json")
    problems = json.loads(ended.stdout)["problems"]
    assert (ended.exit_code, [problem["table"] for problem in problems]) == (1, ["ledger EUR"])
    assert "is not this log's: none of 3 decks opens" in ended.stderr


@pytest.mark.parametrize("material", [b"", b"short", bytes(33)])
def test_a_broken_key_is_named_and_not_taken_for_none(material: bytes, copied: Path):
    (copied / "keys" / "referee.key").write_bytes(material)
    told = refused("verify", "--data", str(copied))
    assert f"{copied}/keys/referee.key: the key 'referee' has {len(material)} bytes, must have 32" in told


# ------------------------------------------------------------------- audit


def test_every_chip_is_accounted_for(url: str):
    code, told = asked("audit")
    owed = told.pop("liabilities")
    assert (code, told) == (
        0,
        {"accounts": 3, "ledger_sum": 0, "open_hands": 0, "unsettled": 0, "disputed": 0, "ok": True},
    )
    assert 0 < owed <= 3_000_000
    shown = run("audit")
    assert shown.exit_code == 0
    assert "Ledger EUR" in shown.stdout
    assert shown.stdout.strip().endswith("ok")


def test_a_lost_entry_of_the_ledger_is_found_and_said(url: str):
    asyncio.run(command(url, "XDEL", LEDGER, "5-0"))
    ended = run("audit", "--json")
    assert (ended.exit_code, json.loads(ended.stdout)["ok"]) == (1, False)
    assert "problem ledger EUR cannot be read: " in ended.stderr


def test_verdicts_that_were_never_given_are_found(url: str):
    asyncio.run(command(url, "DEL", VERDICTS))
    code, told = asked("audit")
    assert (code, told["ok"]) == (1, False)
    assert "settled without a verdict" in run("audit").stdout


# ------------------------------------------------------------------- replay


def test_a_table_is_shown_as_it_was(url: str):
    at = HISTORY.version_of(TABLE, ev.CardsDealt, 7)  # the second street of the second hand
    code, told = asked("replay", T, "--at", str(at))
    assert code == 0
    assert (told["table"], told["version"], told["view"]["hand_no"]) == (T, at, "2")
    assert told["head_hash"] == HISTORY.streams[TABLE][at - 1].hash.hex()
    shown = run("replay", T, "--at", str(at))
    assert shown.exit_code == 0
    assert "?? ??" in shown.stdout
    assert f"hand 2 · version {at}" in shown.stdout


def test_without_a_version_it_is_shown_as_it_is(url: str):
    code, told = asked("replay", T)
    assert (code, told["version"]) == (0, len(HISTORY.streams[TABLE]))
    assert "closed" in run("replay", T).stdout


def test_events_are_said_and_boxes_stay_closed(url: str):
    at = HISTORY.version_of(TABLE, ev.CardsDealt)
    shown = run("replay", T, "--events", "--at", str(at), "--log")
    said = " ".join(shown.stdout.split())
    assert shown.exit_code == 0
    assert "third street: 2 face down to each of 3, " in said
    assert "the table t-1 is opened: william_hill, 5/10 EUR" in said
    assert "cause {s" in said
    assert HISTORY.streams[TABLE][at - 1].prev_hash.hex()[:40] in said
    assert "sealed" not in said
    assert len(run("replay", T, "--events", "--json").stdout.splitlines()) == 1


def test_a_range_is_a_line_of_json_for_each_step(url: str):
    lines = [json.loads(line) for line in run("replay", T, "--hand", "2", "--json").stdout.splitlines()]
    first, last = HISTORY.version_of(TABLE, ev.AntesOpened, 2), HISTORY.version_of(TABLE, ev.HandEnded, 2)
    assert [line["version"] for line in lines] == list(range(first, last + 1))
    assert {line["hand_no"] for line in lines} == {2}
    assert [
        line["version"] for line in map(json.loads, run("replay", T, "--range", "3", "5", "--json").stdout.splitlines())
    ] == [3, 4, 5]
    shown = run("replay", T, "--hand", "2").stdout
    assert "hand 2 is over: " in shown
    assert "hand 1 is over" not in shown


def test_a_time_a_difference_and_the_hands_there_are(url: str):
    code, told = asked("replay", T, "--time", "2100-01-01")
    assert (code, told["version"]) == (0, len(HISTORY.streams[TABLE]))
    at = HISTORY.version_of(TABLE, ev.CardsDealt)
    code, at_ms = asked("replay", T, "--at", str(at))[0], asked("replay", T, "--at", str(at))[1]["at_ms"]
    assert asked("replay", T, "--time", str(at_ms))[1]["at_ms"] == at_ms
    code, told = asked("replay", T, "--diff", str(at - 1), str(at))
    assert (code, told["from_version"], told["to_version"]) == (0, at - 1, at)
    assert {change["field"] for change in told["changes"]} >= {"up", "street", "turn.seat", "pot_total"} - {"pot_total"}
    assert "street" in run("replay", T, "--diff", str(at - 1), str(at)).stdout
    code, told = asked("replay", T, "--index")
    assert (code, told["versions"], len(told["hands"])) == (0, len(HISTORY.streams[TABLE]), 3)
    assert "a refused call leaves nothing in the log" in " ".join(run("replay", T, "--index").stdout.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--hand", "9"], "there is no hand 9 at table t-1: there are hands 1 to 3"),
        (["--time", "1971-01-01"], "was opened later"),
        (["--time", "soon"], "want a moment such as 2026-03-31"),
        (["--range", "5", "3"], "--range 5 3 goes backwards"),
        (["--range", "5", "9999"], "want 1 to"),
        (["--range", "-3", "3"], "--range -3 3: there is no version -3, the first one is 1"),
        (["--range", "0", "3"], "--range 0 3: there is no version 0, the first one is 1"),
        (["--diff", "5", "3"], "--diff 5 3 goes backwards: want the lower version first"),
        (["--diff", "3", "3"], "--diff 3 3: between a version and itself nothing differs"),
        (["--html", ""], "want the name of the page, such as hand-7.html"),
        (["--html", "/"], "'/' is no file"),
        (["--as", "\udcff"], "--as '\\udcff': account: want 1 to 64 letters"),
        (["--diff", "1", "9999"], "want 1 to"),
        (["--at", "3", "--hand", "1"], "--at and --hand say different places"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_nonsense_is_told_with_what_would_be_right(url: str, words: list[str], told: str):
    for more in ([], ["--json"]):
        ended = run("replay", T, *words, *more)
        assert (ended.exit_code, ended.stdout) == (2, "")
        assert told in " ".join(ended.stderr.split())


def test_at_a_terminal_it_is_a_screen_to_walk_about_in(url: str):
    """In a pseudo-terminal of 80 by 24: it opens the other screen, shows the hand, and leaves at q with 0."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command_line = [sys.executable, "-c", "from stud_cli.main import main; main()", "replay", T, "--hand", "2"]
    environ = {**os.environ, "TERM": "xterm-256color", "STUD_REDIS_URL": url}
    process = subprocess.Popen(command_line, stdin=side, stdout=side, stderr=side, env=environ, close_fds=True)
    os.close(side)
    shown = b""
    try:
        while b"hand 2 of 3" not in shown:
            shown += os.read(main, 65536)
        os.write(main, b"q")
        while True:
            shown += os.read(main, 65536)
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(main)
    assert process.wait(30) == 0
    assert b"\x1b[?1049h" in shown
    assert b"\x1b[?1049l" in shown


def test_a_version_or_table_that_is_not_there_cannot_be_shown(url: str):
    ended = run("replay", T, "--at", "9999")
    assert ended.exit_code == 2
    assert f"has only {len(HISTORY.streams[TABLE])} versions" in " ".join(ended.stderr.split())
    assert run("replay", "t-99").exit_code == 2
    for no_id in ("No Table", "\udcff"):
        ended = run("replay", no_id)
        assert ended.exit_code == 2
        assert f"table id {no_id!r}: expected 1 to 64 of the characters a-z" in " ".join(ended.stderr.split())


def test_an_edited_table_is_shown_up_to_the_edit_only(url: str):
    flip_a_byte(url, TABLE, 40)
    assert run("replay", T, "--at", "39").exit_code == 0
    ended = run("replay", T)
    assert ended.exit_code == 2
    assert "version 40" in " ".join(ended.stderr.split())


def test_a_stopped_and_a_running_system_are_found(
    data: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("STUD_REDIS_URL")
    assert asked("replay", T, "--data", str(data))[0] == 0
    running = RunningSystem(url, {}, str(tmp_path), str(tmp_path / "keys"), os.getpid(), {})
    write_running(tmp_path / "var" / "stud.json", running)
    assert asked("replay", T)[0] == 0
    (tmp_path / "other" / "redis").mkdir(parents=True)
    write_running(tmp_path / "other" / "stud.json", running)
    assert asked("replay", T, "--data", str(tmp_path / "other"))[0] == 0


# ------------------------------------------------------------------- dead letters and the mark


@pytest.mark.parametrize("stream", [TABLE, DECK, VERDICTS, LEDGER])
def test_a_last_commit_that_was_deleted_is_found(url: str, stream: str):
    """The server still knows that there was one."""
    last = len(HISTORY.streams[stream])
    assert asyncio.run(command(url, "XDEL", stream, f"{last}-0")) == 1
    for name in ("verify", "audit"):
        ended = run(name, "--json")
        assert ended.exit_code == 1, name
        told = ended.stdout if name == "verify" else ended.stderr
        assert told.count("the last commit of a log must stay in it") == 1


async def park(log: RedisEventLog) -> None:
    """The wallet could not read the table's first message."""
    shard = keys.shard_of("t-9")
    feed = keys.table_feed(shard)
    await log.append(
        Append(keys.table_log(shard, "t-9"), 0, Head().hash, bytes(16), b"body", (FeedItem(feed, b"message"),))
    )
    (entry,) = await log.read_feeds({feed: START}, 10, 1)
    await log.park("wallet", shard, "t-9", entry, "Poison: currency JPY is not served")


def test_parked_messages_are_listed_and_discarded(url: str):
    assert asked("dead", "list") == (0, {"dead": []})
    on_log(url, park)
    letter = {
        "service": "wallet",
        "table": "t-9",
        "stream": keys.table_log(keys.shard_of("t-9"), "t-9"),
        "version": 1,
        "reason": "Poison: currency JPY is not served",
    }
    assert asked("dead", "list") == (1, {"dead": [letter]})
    shown = run("dead", "list")
    assert shown.exit_code == 1
    assert "Parked messages" in shown.stdout
    assert run("dead", "discard", "wallet", "t-9").stdout.strip() == "1 messages discarded"
    for words in (("discard", "wallet"), ("retry", "wallet"), ("retry", "dealer")):
        ended = run("dead", *words, "t-9", "--json")
        assert (ended.exit_code, ended.stdout) == (2, "")
        assert f"nothing of t-9 is parked at {words[1]}: `stud dead list` shows what is" in ended.stderr
    assert asked("dead", "list")[0] == 0


def test_only_the_message_that_holds_up_the_others_is_discarded(url: str):
    assert run("dead", "discard", "wallet", "t-9", "--first").exit_code == 2

    async def park_two(log: RedisEventLog) -> None:
        await park(log)
        shard = keys.shard_of("t-9")
        stream, feed = keys.table_log(shard, "t-9"), keys.table_feed(shard)
        head = await log.head(stream)
        await log.append(Append(stream, 1, head.hash, b"another-commit--", b"body", (FeedItem(feed, b"message"),)))
        _, entry = await log.read_feeds({feed: START}, 10, 1)
        await log.park("wallet", shard, "t-9", entry, "behind a parked message")

    on_log(url, park_two)
    assert asked("dead", "discard", "wallet", "t-9", "--first")[1]["discarded"] == 1
    left = asked("dead", "list")[1]["dead"]
    assert [(letter["version"], letter["reason"]) for letter in left] == [(2, "behind a parked message")]


@pytest.mark.parametrize("feed", [keys.ledger_feed("USD", keys.shard_of("t-9")), keys.verdicts(keys.shard_of("t-9"))])
def test_an_answer_to_a_table_is_thrown_away_only_by_who_says_so(url: str, feed: str):
    shard = keys.shard_of("t-9")

    async def park_three(log: RedisEventLog) -> None:
        deal = FeedEntry(keys.dealer_feed(shard), "1-0", keys.deck_log(shard, "t-9"), 1, 0, bytes(32), b"cards")
        answer = FeedEntry(feed, "1-0", keys.ledger_log("USD"), 7, 0, bytes(32), b"TopUpFunded 50")
        for entry in [deal, answer, replace(deal, entry_id="2-0")]:
            await log.park("table", shard, "t-9", entry, "bug")

    on_log(url, park_three)
    for words in ((), ("--first",)):
        ended = run("dead", "discard", "table", "t-9", *words)
        if words:
            assert ended.exit_code == 0
        else:
            assert (ended.exit_code, ended.stdout) == (2, "")
            assert "version 7 of {ledger:USD}:transfers answers t-9 and is sent once" in " ".join(ended.stderr.split())
    assert run("dead", "discard", "table", "t-9", "--first").exit_code == 2
    assert asked("dead", "discard", "table", "t-9", "--first", "--answers")[1]["discarded"] == 1
    assert asked("dead", "discard", "table", "t-9")[1]["discarded"] == 1
    assert asked("dead", "list")[0] == 0


def test_a_retry_is_left_for_the_service(url: str):
    on_log(url, park)
    assert asked("dead", "retry", "wallet", "t-9") == (0, {"service": "wallet", "table": "t-9", "retry": True})
    assert run("dead", "retry", "wallet", "t-9").stdout.strip() == "wallet will retry t-9"
    assert on_log(url, lambda log: log.retry_requests("wallet", keys.shard_of("t-9"))) == {"t-9"}


def test_a_service_that_no_key_can_have(url: str):
    ended = run("dead", "retry", "nosuch", "t-9")
    assert ended.exit_code == 2
    assert all(name in ended.stderr for name in ("table", "dealer", "rules", "wallet"))


def test_a_log_is_marked_once(valkey_server: EmbeddedServer):
    words = ("init", "--redis-url", valkey_server.url)
    assert asked(*words) == (0, {"initialised": True, "fresh": True})
    assert asked(*words) == (0, {"initialised": True, "fresh": False})
    assert run(*words).stdout.strip() == "the log was initialised before"


def test_a_table_in_the_middle_of_its_life_is_fine(valkey_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch):
    asyncio.run(write(valkey_server.url, open_table()))
    monkeypatch.setenv("STUD_REDIS_URL", valkey_server.url)
    assert asked("verify")[0] == 0
    assert asked("audit")[0] == 0

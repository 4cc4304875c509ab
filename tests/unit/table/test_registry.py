"""Which tables a process has: opening, finding, loading, forgetting, and those whose log cannot be trusted."""

import asyncio
import random

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from stud.table.v1 import table_service_pb2 as pb
from stud_core.commands import OpenTable
from stud_core.state import Life
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import LogUnavailable
from stud_service.refusals import Refused
from table_service.lobby import Lobby
from table_service.opening import config_of
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated


async def refusal(awaitable) -> Refused:
    with pytest.raises(Refused) as refused:
        await awaitable
    return refused.value


def create(table: str, **fields) -> pb.CreateTableRequest:
    fields = {"currency": "EUR", "small_bet": 500, "preset": "playnow", "request_id": "open", **fields}
    return pb.CreateTableRequest(table=table, **fields)


@simulated
async def test_a_table_is_opened_once(tmp_path):
    async with MemorySystem(tmp_path, "table") as system:
        first = await system.call("CreateTable", create("t-1"), "olga", "operator")
        assert (first.version, first.config.table_id) == (1, "t-1")
        assert await system.call("CreateTable", create("t-1"), "olga", "operator") == first
        again = create("t-1", request_id="another")
        assert (await refusal(system.call("CreateTable", again, "otto", "operator"))).reason == "TABLE_EXISTS"
        assert (await system.actor("t-1")).head.version == 1


@simulated
async def test_two_operators_open_the_same_table_at_once(tmp_path):
    """One of them does; nothing of the other's attempt goes on living beside the table."""
    async with MemorySystem(tmp_path, "table") as system:
        tasks = [
            asyncio.create_task(system.call("CreateTable", create("t-1", request_id=name), name, "operator"))
            for name in ("olga", "otto")
        ]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [result for result in results if isinstance(result, Refused)]
        assert [r.reason for r in refused] == ["TABLE_EXISTS"]
        workers = [task for task in system.runtimes["table"].tasks.running if task.get_name() == "table t-1"]
        assert len(workers) == 1


@pytest.mark.parametrize("seed", range(20))
def test_what_a_new_table_brings_about_may_come_before_its_operators_answer(tmp_path, monkeypatch, seed):
    """The deck is there while the answer to the first commit is still under way: no second actor comes of it, and
    whoever watches from the first moment sees the hand.
    """
    rng = random.Random(seed)
    append, head = MemoryEventLog.append, MemoryEventLog.head

    async def append_late(log, what):
        written = await append(log, what)
        await asyncio.sleep(rng.choice((0, 0.01, 0.3)))
        return written

    async def head_late(log, stream):
        await asyncio.sleep(rng.choice((0, 0.01, 0.3)))
        return await head(log, stream)

    monkeypatch.setattr(MemoryEventLog, "append", append_late)
    monkeypatch.setattr(MemoryEventLog, "head", head_late)

    @simulated
    async def run():
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.open()
            first = game.actor
            await asyncio.sleep(1)
            await game.begin_seats(3)
            await game.until_turn()
            assert game.actor is first
            workers = [task for task in system.runtimes["table"].tasks.running if task.get_name() == "table t-1"]
            assert len(workers) == 1

    run()


@simulated
async def test_a_table_is_nobodys_until_it_has_been_opened(tmp_path):
    async with MemorySystem(tmp_path, "table") as system:
        registry = system.tables.registry
        async with registry.opening("t-1") as actor:
            await actor.submit(OpenTable(config_of(create("t-1"), ["EUR"]), "olga"))
            getting = [asyncio.create_task(registry.get("t-1")) for _ in range(3)]
            await asyncio.sleep(1)
            assert registry.all() == []
        assert await asyncio.gather(*getting) == [actor] * 3

        async def opened_in_vain() -> None:
            async with registry.opening("t-2"):
                await asyncio.sleep(1)
                raise ZeroDivisionError

        opening = asyncio.create_task(opened_in_vain())
        await asyncio.sleep(0.5)
        assert (await refusal(registry.get("t-2"))).reason == "UNKNOWN_TABLE"
        with pytest.raises(ZeroDivisionError):
            await opening
        assert not registry._opening


@simulated
async def test_a_table_that_was_refused_leaves_nothing_behind(tmp_path):
    async with MemorySystem(tmp_path, "table") as system:
        for request in (create("t-1", small_bet=-1), create("t-1", preset="whist"), create("t-1", currency="JPY")):
            await refusal(system.call("CreateTable", request, "olga", "operator"))
        assert not any(task.get_name() == "table t-1" for task in system.runtimes["table"].tasks.running)
        assert (await refusal(system.actor("t-1"))).reason == "UNKNOWN_TABLE"
        assert (await system.call("CreateTable", create("t-1"), "olga", "operator")).version == 1


@pytest.mark.parametrize("name", ["", "T-1", "a b", "x" * 65, "t/1"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    @simulated
    async def run():
        async with MemorySystem(tmp_path, "table") as system:
            refused = await refusal(system.call("CreateTable", create(name), "olga", "operator"))
            assert (refused.reason, refused.metadata["field"]) == ("INVALID_FIELD", "table")
            assert (await refusal(system.actor(name))).reason == "UNKNOWN_TABLE"

    run()


@simulated
async def test_the_lobby_lists_tables_and_follows_them(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.until_turn()
        await system.call("CreateTable", create("xts", currency="XTS"), "olga", "operator")

        async def rows(**fields) -> list[pb.TableSummary]:
            return list((await system.call("ListTables", pb.ListTablesRequest(**fields), "ada")).tables)

        assert [row.table for row in await rows()] == ["t-1", "xts"]
        (row,) = await rows(currency="EUR")
        assert (row.seated, row.seats, row.hand_no, row.life) == (2, 8, 1, pb.TABLE_LIFE_OPEN)
        assert (row.small_bet, row.big_bet, row.ante, row.min_buy_in) == (500, 1000, 50, 5000)
        assert row.version == game.actor.head.version
        assert not row.HasField("max_buy_in")
        assert (await rows(currency="XTS"))[0].max_buy_in == 20_000

        await game.operate(pb.PauseTableRequest(reason="lunch"))
        assert (await rows(currency="EUR"))[0].paused == "lunch"
        await game.close()
        assert [row.table for row in await rows()] == ["xts"]
        closed = [row for row in await rows(include_closed=True) if row.table == "t-1"]
        assert (closed[0].life, closed[0].seated) == (pb.TABLE_LIFE_CLOSED, 0)


@simulated
async def test_a_lobby_that_cannot_be_read_hides_no_other_tables(tmp_path, monkeypatch):
    """One shard's key is none, a row of another is garbage: their tables are there when they are asked for, the second
    also in the list, and everybody else's as ever.
    """
    async with MemorySystem(tmp_path) as system:
        games = [Game(system, f"t-{number}") for number in range(3)]
        for game in games:
            await game.open()
        shards = [keys.shard_of(game.id) for game in games]
        assert len(set(shards)) == 3
        honest = MemoryEventLog.lobby

        async def lobby(log, shard):
            if shard == shards[0]:
                raise LogUnavailable("the log refuses: WRONGTYPE")
            rows = await honest(log, shard)
            return {"t-1": b"\xff"} if shard == shards[1] else rows

        monkeypatch.setattr(MemoryEventLog, "lobby", lobby)

        async def listed() -> list[str]:
            tables = (await system.call("ListTables", pb.ListTablesRequest(), "ada")).tables
            return [line.table for line in tables]

        assert await listed() == ["t-0", "t-1", "t-2"]
        await system.crash("table")
        with capture_logs() as lines:
            await system.start("table")
        told = [(line["shard"], line["log_level"]) for line in lines if line["event"] == "lobby_unreadable"]
        assert sorted(told) == sorted((shard, "critical") for shard in shards[:2])
        assert await listed() == ["t-1", "t-2"]
        assert (await system.actor("t-0")).head.version > 0
        assert await listed() == ["t-0", "t-1", "t-2"]

        monkeypatch.undo()  # operators put it right
        game = Game(system, "t-9")  # of another process, while it is being replaced
        await game.open()
        await system.tables.registry._tables.pop("t-9").stop()
        system.tables.registry._lobby = Lobby()
        await asyncio.sleep(keys.SHARDS + 2)
        assert await listed() == ["t-0", "t-1", "t-2", "t-9"]


@simulated
async def test_rows_of_the_log_are_right_for_whoever_has_not_the_table_itself(tmp_path):
    """Written with the commits that change them: another process lists the table from these."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        log = system.runtimes["table"].log

        async def row() -> pb.TableSummary:
            return pb.TableSummary.FromString((await log.lobby(keys.shard_of("t-1")))["t-1"])

        await game.open()
        assert (await row()).seated == 0
        await game.operate(pb.PauseTableRequest(reason="lunch"))
        assert (await row()).paused == "lunch"
        await game.seat("ada")
        await game.seat("bea")
        assert (await row()).seated == 2
        await game.operate(pb.ResumeTableRequest())
        await game.until_turn()
        assert ((await row()).hand_no, (await row()).paused) == (1, "")
        await game.operate(pb.DrainTableRequest())
        assert (await row()).life == pb.TABLE_LIFE_DRAINING
        await game.play(1)
        await game.send("ada", pb.LeaveSeatRequest())
        await game.until(lambda t: t.of("ada") is None)
        assert (await row()).seated == 1
        await game.close()
        assert ((await row()).life, (await row()).seated) == (pb.TABLE_LIFE_CLOSED, 0)


@simulated
async def test_a_closed_table_is_forgotten_when_nobody_watches_and_found_again(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(1)
        await game.close()
        registry = system.tables.registry
        await asyncio.sleep(2)
        assert registry.all() == []
        assert (await system.actor("t-1")).table.life is Life.CLOSED
        await asyncio.sleep(2)
        assert registry.all() == []
        await system.crash("table")
        await system.start("table")
        assert system.tables.registry.all() == []


@simulated
async def test_every_open_table_is_loaded_at_start(tmp_path):
    async with MemorySystem(tmp_path) as system:
        games = [Game(system, f"t-{number}") for number in range(5)]
        for game in games:
            await game.open()
        await games[0].operate(pb.CloseTableRequest())
        await system.crash("table")
        await system.start("table")
        assert sorted(actor.table_id for actor in system.tables.registry.all()) == ["t-1", "t-2", "t-3", "t-4"]


@simulated
async def test_who_asks_for_a_table_that_is_being_loaded_at_the_start_gets_the_same_one(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        await Game(system).open()
        registry = system.tables.registry
        await registry._tables.pop("t-1").stop()
        head = MemoryEventLog.head

        async def late(log, stream):
            await asyncio.sleep(0.3)
            return await head(log, stream)

        monkeypatch.setattr(MemoryEventLog, "head", late)
        starting = asyncio.create_task(registry.load_all())
        await asyncio.sleep(0.1)
        asked = await registry.get("t-1")
        await starting
        assert registry.all() == [asked]
        assert [task.get_name() for task in system.runtimes["table"].tasks.running].count("table t-1") == 1


@simulated
async def test_a_table_whose_log_was_edited_is_not_served_and_the_others_are(tmp_path):
    async with MemorySystem(tmp_path) as system:
        broken, sound = Game(system, "t-1"), Game(system, "t-2")
        await broken.open()
        await sound.open()
        stream = broken.actor.stream
        await system.crash("table")
        commit, stored = system.store.data.logs[stream][0]
        edited = commit.body[:-1] + bytes([commit.body[-1] ^ 1])
        system.store.data.logs[stream][0] = replace(commit, body=edited), stored
        with capture_logs() as lines:
            await system.start("table")
            for method, request, role in (
                ("GetTable", pb.GetTableRequest(), "player"),
                ("LeaveSeat", pb.LeaveSeatRequest(request_id="1"), "player"),
                ("CloseTable", pb.CloseTableRequest(request_id="1"), "operator"),
                ("CreateTable", create("t-1", request_id="2"), "operator"),
            ):
                request.table = "t-1"
                refused = await refusal(system.call(method, request, "olga", role))
                assert (method, refused.reason, refused.code.name) == (method, "LOG_BROKEN", "DATA_LOSS")
        told = [line for line in lines if line["event"] == "log_broken"]
        assert [(line["log_level"], line["table"]) for line in told] == [("critical", "t-1")]  # once, not at each call
        listed = (await system.call("ListTables", pb.ListTablesRequest(), "ada")).tables
        assert [(line.table, line.paused) for line in listed] == [("t-1", "LOG_BROKEN"), ("t-2", "")]
        system.store.data.logs[stream][0] = commit, stored  # operators put it back
        await system.call("GetTable", pb.GetTableRequest(table="t-1"), "ada")
        assert {line.paused for line in await system.tables.registry.lobby()} == {""}
        await sound.begin_seats(3)
        await sound.play(1)


@simulated
async def test_a_table_whose_log_is_gone_is_not_taken_for_one_that_never_was(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        stream = game.actor.stream
        await system.crash("table")
        del system.store.data.logs[stream]
        with capture_logs() as lines:
            await system.start("table")
        assert [line["table"] for line in lines if line["event"] == "log_broken"] == ["t-1"]
        assert (await refusal(system.actor("t-1"))).reason == "LOG_BROKEN"
        again = await refusal(system.call("CreateTable", create("t-1"), "olga", "operator"))
        assert again.reason == "LOG_BROKEN"
        assert [line.paused for line in await system.tables.registry.lobby()] == ["LOG_BROKEN"]
        assert (await refusal(system.actor("t-2"))).reason == "UNKNOWN_TABLE"


@simulated
async def test_a_log_that_is_away_is_waited_for(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        registry = system.tables.registry
        registry._tables.pop("t-1")
        system.store.stop()
        assert (await refusal(registry.get("t-1"))).reason == "LOG_UNAVAILABLE"
        loading = asyncio.create_task(registry._load_if_sound("t-1"))
        await asyncio.sleep(5)
        assert not loading.done()
        system.store.start()
        await loading
        assert [actor.table_id for actor in registry.all()] == ["t-1"]


@simulated
async def test_a_long_log_that_is_folded_keeps_nobody_from_another_table(tmp_path, monkeypatch):
    """Anybody may look at a closed table, and its log is folded for that."""
    async with MemorySystem(tmp_path, "table") as system:
        for name in ("t-1", "t-2"):
            await system.call("CreateTable", create(name), "olga", "operator")
        registry = system.tables.registry
        load, go_on = registry._load, asyncio.Event()

        async def slow(table_id: str):
            if table_id == "t-1":
                await go_on.wait()
            return await load(table_id)

        monkeypatch.setattr(registry, "_load", slow)
        registry._tables.clear()
        first = [asyncio.create_task(registry.get("t-1")) for _ in range(2)]
        assert (await registry.get("t-2")).table_id == "t-2"
        assert not first[0].done()
        go_on.set()
        one, again = await asyncio.gather(*first)
        assert one is again
        assert not registry._opening


@simulated
async def test_the_lobby_comes_in_pages(tmp_path):
    """Of any size, every table once and in order; who asks for none gets a bounded one that says there is more."""
    async with MemorySystem(tmp_path, "table") as system:
        names = [f"t-{number:03}" for number in range(105)]
        for number, name in enumerate(names):
            currency = ("EUR", "XTS")[number % 2]
            await system.call("CreateTable", create(name, currency=currency), "olga", "operator")

        async def ask(**fields) -> pb.ListTablesResponse:
            answer: pb.ListTablesResponse = await system.call("ListTables", pb.ListTablesRequest(**fields), "ada")
            return answer

        first = await ask()
        assert [line.table for line in first.tables] == names[:100]
        rest = await ask(page_token=first.next_page_token)
        assert ([line.table for line in rest.tables], rest.next_page_token) == (names[100:], "")
        for size, currency in ((1, "EUR"), (7, ""), (35, ""), (104, ""), (105, ""), (1000, "XTS")):
            listed, token = [], ""
            for _ in range(200):
                page = await ask(page_size=size, page_token=token, currency=currency)
                assert len(page.tables) <= size
                listed += [line.table for line in page.tables]
                token = page.next_page_token
                if not token:
                    break
                assert page.tables
            start, step = {"EUR": (0, 2), "XTS": (1, 2), "": (0, 1)}[currency]
            assert listed == names[start::step]

        for other in ({"currency": "EUR"}, {"include_closed": True}):
            refused = await refusal(ask(page_token=first.next_page_token, **other))
            assert (refused.reason, refused.metadata["field"]) == ("INVALID_FIELD", "page_token")
        for size in (-1, 1001):
            refused = await refusal(ask(page_size=size))
            assert refused.metadata == {"field": "page_size", "min": "0", "max": "1000"}


@simulated
async def test_a_table_that_is_opened_or_closed_between_two_pages_moves_no_other(tmp_path):
    async with MemorySystem(tmp_path, "table") as system:
        for name in ("b", "d", "f"):
            await system.call("CreateTable", create(name), "olga", "operator")

        async def ask(token: str) -> pb.ListTablesResponse:
            request = pb.ListTablesRequest(page_size=2, page_token=token)
            answer: pb.ListTablesResponse = await system.call("ListTables", request, "ada")
            return answer

        first = await ask("")
        for name in ("a", "c", "e"):
            await system.call("CreateTable", create(name), "olga", "operator")
        close = pb.CloseTableRequest(table="d", request_id="close")
        await system.call("CloseTable", close, "olga", "operator")
        second = await ask(first.next_page_token)
        assert [[line.table for line in page.tables] for page in (first, second)] == [["b", "d"], ["e", "f"]]
        assert second.next_page_token == ""

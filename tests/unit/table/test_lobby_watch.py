"""The lobby as a list with filters, and as a stream: all that fits, then what changes, gathered, and bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_eventlog.trouble import Trouble
from stud_service.metrics import WATCHERS
from stud_service.refusals import Refused
from table_service import registry
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from tests.support.watchers import LobbyWatcher

TABLES: dict[str, dict[str, Any]] = {
    "eur-5": {"small_bet": 500},
    "eur-20": {"small_bet": 2_000},
    "eur-p": {"small_bet": 500, "preset": "playnow"},
    "xts-5": {"small_bet": 500, "currency": "XTS"},
}


async def opened(system: MemorySystem) -> dict[str, Game]:
    games = {table: Game(system, table) for table in TABLES}
    for table, game in games.items():
        await game.open(**TABLES[table])
    return games


async def listed(system: MemorySystem, account: str = "eve", **asked: Any) -> list[str]:
    """The tables of all pages."""
    request, found = pb.ListTablesRequest(**asked), []
    while True:
        answer = await system.call("ListTables", request, account)
        found += [line.table for line in answer.tables]
        if not answer.next_page_token:
            return found
        request.page_token = answer.next_page_token


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set(TABLES)),
    ({"currency": "XTS"}, {"xts-5"}),
    ({"currency": "USD"}, set()),
    ({"ruleset": "playnow"}, {"eur-p"}),
    ({"min_small_bet": 501}, {"eur-20"}),
    ({"max_small_bet": 500, "currency": "EUR"}, {"eur-5", "eur-p"}),
    ({"min_small_bet": 500, "max_small_bet": 2_000}, set(TABLES)),
    ({"hide_paused": True}, set(TABLES) - {"eur-p"}),
    ({"min_free_seats": 8}, set(TABLES) - {"eur-5"}),
    ({"min_free_seats": 7}, set(TABLES)),
    ({"lives": [pb.TABLE_LIFE_DRAINING]}, {"xts-5"}),
    ({"lives": [pb.TABLE_LIFE_OPEN]}, set(TABLES) - {"xts-5"}),
]


@simulated
async def test_a_filter_asks_the_same_of_the_list_and_of_the_stream(tmp_path: Path):
    async with MemorySystem(tmp_path, lobby_streams_per_account=len(FILTERS)) as system:
        games = await opened(system)
        await games["eur-5"].seat("ada")
        await games["eur-p"].operate(pb.PauseTableRequest(reason="a test"))
        await games["xts-5"].operate(pb.DrainTableRequest())
        for wanted, tables in FILTERS:
            for page_size in (1, 2, 100):
                found = await listed(system, filter=pb.TableFilter(**wanted), page_size=page_size)
                assert found == sorted(tables), wanted
            watcher = LobbyWatcher(system, **wanted)
            await watcher.until(lambda said: said and said[-1].current)
            assert set(watcher.tables) == tables, wanted
            await watcher.close()


@simulated
async def test_what_stands_beside_the_filter_narrows_it(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        games = await opened(system)
        await games["eur-5"].close()
        fives = pb.TableFilter(max_small_bet=500)
        assert await listed(system, filter=fives) == ["eur-p", "xts-5"]
        assert await listed(system, filter=fives, include_closed=True) == ["eur-5", "eur-p", "xts-5"]
        assert await listed(system, filter=fives, include_closed=True, currency="XTS") == ["xts-5"]
        assert await listed(system, filter=pb.TableFilter(currency="EUR"), currency="XTS") == []
        closed = pb.TableFilter(lives=[pb.TABLE_LIFE_CLOSED])
        assert await listed(system, filter=closed) == ["eur-5"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("currency", "E" * 65),
        ("ruleset", "r" * 65),
        ("min_small_bet", -1),
        ("max_small_bet", 10**15 + 1),
        ("min_free_seats", 9),
        ("min_free_seats", -1),
        ("lives", [7]),
    ],
)
@simulated
async def test_a_filter_that_makes_no_sense_is_refused(tmp_path: Path, field: str, value: Any):
    async with MemorySystem(tmp_path, "table") as system:
        wanted = pb.TableFilter(**{field: value})
        for ask in (
            system.call("ListTables", pb.ListTablesRequest(filter=wanted), "eve"),
            LobbyWatcher(system, **{field: value}).task,
        ):
            with pytest.raises(Refused) as refused:
                await ask
            assert (refused.value.reason, refused.value.metadata["field"]) == ("INVALID_FIELD", f"filter.{field}")


@simulated
async def test_closed_tables_are_not_watched(tmp_path: Path):
    async with MemorySystem(tmp_path, "table") as system:
        refused = await LobbyWatcher(system, lives=[pb.TABLE_LIFE_CLOSED]).end()
        assert refused.reason == "INVALID_FIELD"
        assert "ListTables" in refused.text


@simulated
async def test_a_page_token_is_of_its_filter_alone(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        await opened(system)
        first = pb.ListTablesRequest(page_size=1, filter=pb.TableFilter(currency="EUR"))
        token = (await system.call("ListTables", first, "eve")).next_page_token
        other = pb.ListTablesRequest(page_size=1, filter=pb.TableFilter(currency="XTS"), page_token=token)
        for request in (other, pb.ListTablesRequest(page_size=1, page_token=token)):
            with pytest.raises(Refused, match="page_token"):
                await system.call("ListTables", request, "eve")


@simulated
async def test_a_filter_that_fits_nothing_looks_at_no_more_than_a_page_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(registry, "LOOKED_AT", 2)
    monkeypatch.setattr(registry, "LINES_AT_ONCE", 1)
    async with MemorySystem(tmp_path) as system:
        await opened(system)
        request = pb.ListTablesRequest(filter=pb.TableFilter(currency="", ruleset="none"))
        answer = await system.call("ListTables", request, "eve")
        assert not answer.tables
        assert answer.next_page_token
        assert await listed(system, filter=pb.TableFilter(ruleset="none")) == []
        assert await listed(system, filter=pb.TableFilter(max_small_bet=500)) == ["eur-5", "eur-p", "xts-5"]


@simulated
async def test_a_watcher_sees_a_table_open_fill_play_and_close(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        watcher = LobbyWatcher(system)
        assert (await watcher.until(len))[0].current
        assert not watcher.tables
        game = Game(system)
        await game.begin(2)
        await watcher.until(lambda _: "t-1" in watcher.tables and watcher.tables["t-1"].playing == 2)
        line = watcher.tables["t-1"]
        assert (line.seated, line.suggested_buy_in, line.waiting) == (2, 10_000, 0)
        await game.play(2, STAY)
        await watcher.until(lambda _: watcher.tables["t-1"].figures.hands >= 2)
        await game.send("ada", pb.SitOutRequest())
        await watcher.until(lambda _: watcher.tables["t-1"].playing == 1)
        await game.close()
        await watcher.until(lambda _: not watcher.tables)
        assert all(message.current for message in watcher.said)
        await watcher.close()


@simulated
async def test_who_watches_with_a_filter_is_told_when_a_table_fits_no_more_and_when_it_does_again(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        games = await opened(system)
        watcher = LobbyWatcher(system, hide_paused=True, currency="EUR")
        await watcher.until(len)
        assert set(watcher.tables) == {"eur-5", "eur-20", "eur-p"}
        await games["eur-5"].operate(pb.PauseTableRequest(reason="a test"))
        await games["xts-5"].operate(pb.PauseTableRequest(reason="a test"))
        await watcher.until(lambda _: set(watcher.tables) == {"eur-20", "eur-p"})
        await games["eur-5"].operate(pb.ResumeTableRequest())
        await watcher.until(lambda _: set(watcher.tables) == {"eur-5", "eur-20", "eur-p"})
        assert [list(message.removed) for message in watcher.said[1:]] == [["eur-5"], []]
        await watcher.close()


@simulated
async def test_what_changes_often_is_told_now_and_then_as_it_is_by_then(tmp_path: Path):
    async with MemorySystem(tmp_path, lobby_interval_ms=500) as system:
        game = Game(system)
        await game.begin(3)
        watcher = LobbyWatcher(system)
        await watcher.until(len)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for _ in range(50):
            await game.operate(pb.PauseTableRequest(reason="a test"))
            await game.operate(pb.ResumeTableRequest())
            await asyncio.sleep(0.1)
        assert loop.time() - begun == pytest.approx(5, abs=0.5)
        assert 10 <= len(watcher.said) <= 13
        await watcher.until(lambda _: watcher.tables["t-1"] == game.actor.summary())
        await watcher.close()


@simulated
async def test_an_action_at_a_table_is_no_news_in_the_lobby(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        await asyncio.sleep(2)
        watcher = LobbyWatcher(system)
        await watcher.until(len)
        version = game.actor.head.version
        await game.act()
        await game.until(lambda table: table.running.turn_seat)
        await asyncio.sleep(2)
        assert game.actor.head.version > version
        assert len(watcher.said) == 1
        await watcher.close()


@simulated
async def test_who_reads_nothing_waits_for_one_line_a_table_and_is_then_told_how_it_is(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        watcher = LobbyWatcher(system)
        await watcher.until(len)
        watcher.reads.clear()
        await game.play(3, STAY)
        await asyncio.sleep(1)
        (kept,) = system.tables.registry.watch._watchers
        assert len(kept.waiting) == 1
        watcher.reads.set()
        await watcher.until(lambda _: watcher.tables["t-1"].figures.hands >= 3)
        assert len(watcher.said) <= 4
        await watcher.close()
        assert not len(system.tables.registry.watch)


@simulated
async def test_a_table_that_changes_while_the_list_is_sent_is_told_as_it_is_at_last(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        games = await opened(system)
        watcher = LobbyWatcher(system)
        watcher.reads.clear()
        await asyncio.sleep(1)
        await games["eur-20"].operate(pb.PauseTableRequest(reason="a test"))
        await games["eur-5"].close()
        await Game(system, "new").open()
        watcher.reads.set()
        await watcher.until(lambda _: set(watcher.tables) == {"eur-20", "eur-p", "xts-5", "new"})
        assert watcher.tables["eur-20"].paused == "a test"
        await watcher.close()


@simulated
async def test_many_tables_come_in_several_messages_and_only_the_last_is_marked(tmp_path: Path):
    async with MemorySystem(tmp_path, "table") as system:
        for number in range(205):
            await Game(system, f"t-{number:03}").open()
        watcher = LobbyWatcher(system)
        await watcher.until(lambda said: said and said[-1].current)
        assert [(len(message.tables), message.current) for message in watcher.said] == [
            (100, False),
            (100, False),
            (5, True),
        ]
        system.runtimes["table"].set_trouble(Trouble("LOG_DISK", "it is full", "make room", refuses=True))
        await watcher.until(lambda said: len(said) >= 6)
        assert all(line.paused for line in watcher.tables.values())
        assert watcher.said[-1].current
        await watcher.close()


@simulated
async def test_an_hour_after_the_last_hand_the_figures_are_gone(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.play(1, STAY)
        await game.operate(pb.PauseTableRequest(reason="a test"))
        watcher = LobbyWatcher(system)
        await watcher.until(lambda _: watcher.tables and watcher.tables["t-1"].HasField("figures"))
        await watcher.until(lambda _: not watcher.tables["t-1"].HasField("figures"), within_s=4_000)
        assert asyncio.get_running_loop().time() > 3_600
        await watcher.close()


@simulated
async def test_an_account_has_a_few_streams_of_the_lobby_and_the_process_has_its_own_limit(tmp_path: Path):
    async with MemorySystem(tmp_path, "table", lobby_streams_per_account=2, lobby_streams=3) as system:
        mine = [LobbyWatcher(system, "ada") for _ in range(2)]
        for watcher in mine:
            await watcher.until(len)
        assert dict(system.runtimes["table"].meters.read())[WATCHERS] == {"lobby": 2, "me": 0}
        refused = await LobbyWatcher(system, "ada").end()
        assert (refused.reason, refused.metadata["limit"]) == ("RATE_LIMITED", "2")
        other = LobbyWatcher(system, "bea")
        await other.until(len)
        refused = await LobbyWatcher(system, "cleo").end()
        assert (refused.reason, refused.metadata["limit"]) == ("RATE_LIMITED", "3")
        await mine.pop().close()
        again = LobbyWatcher(system, "cleo")
        await again.until(len)
        for watcher in (*mine, other, again):
            await watcher.close()


@simulated
async def test_a_service_that_stops_says_so(tmp_path: Path):
    async with MemorySystem(tmp_path, "table") as system:
        watcher = LobbyWatcher(system)
        await watcher.until(len)
        await system.stop("table")
        assert (await watcher.end()).reason == "STOPPING"


@simulated
async def test_no_table_is_told_as_it_was_after_it_was_told_as_it_is(tmp_path: Path):
    async with MemorySystem(tmp_path, "table") as system:
        games = [Game(system, f"t-{number:03}") for number in range(150)]
        for game in games:
            await game.open()
        await asyncio.sleep(1)
        watcher = LobbyWatcher(system)
        watcher.reads.clear()
        await asyncio.sleep(1)  # the first hundred wait to be read
        await games[149].operate(pb.PauseTableRequest(reason="first"))
        await asyncio.sleep(0.1)  # noted, and not again for a while
        await games[149].operate(pb.ResumeTableRequest())
        watcher.reads.set()
        await watcher.until(lambda said: said and said[-1].current)
        await asyncio.sleep(2)
        told = [line.version for message in watcher.said for line in message.tables if line.table == "t-149"]
        assert told == sorted(told)
        assert not watcher.tables["t-149"].paused
        await watcher.close()

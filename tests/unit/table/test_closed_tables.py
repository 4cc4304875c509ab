"""A table that is over costs next to nothing, whoever asks for it: no fold to look at it, and few for the rest."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.commands import CloseTable
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_service.refusals import Refused
from table_service import actor as actor_module
from table_service import folding
from table_service.actor import TableActor
from table_service.rebuild import rebuild_beside
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated

FORGOTTEN_S = folding.KEEP_S + 3


@pytest.fixture
def folds(monkeypatch) -> Counter[str]:
    """How often each log was folded beside the others."""
    counted: Counter[str] = Counter()

    async def counting(log, stream, share):
        counted[stream.rpartition(":")[2]] += 1
        return await rebuild_beside(log, stream, share)

    monkeypatch.setattr(actor_module, "rebuild_beside", counting)
    return counted


async def refusal(awaitable) -> Refused:
    with pytest.raises(Refused) as refused:
        await awaitable
    return refused.value


async def closed_game(system: MemorySystem, table: str = "t-1", hands: int = 2) -> Game:
    game = Game(system, table)
    await game.begin(3)
    await game.play(hands)
    await game.close()
    return game


async def view(system: MemorySystem, table: str = "t-1") -> pb.TableUpdate:
    answer: pb.GetTableResponse = await system.call("GetTable", pb.GetTableRequest(table=table), "eve")
    return answer.update


def bare(update: pb.TableUpdate) -> pb.TableUpdate:
    """Without what only a fold knows."""
    out = pb.TableUpdate()
    out.CopyFrom(update)
    out.ClearField("sent_at_ms")
    out.view.ClearField("button")
    out.view.ClearField("commitment")
    out.view.ClearField("last_hand")
    return out


async def voided(system: MemorySystem, game: Game) -> None:
    await game.begin(2)
    await game.until_turn()
    await game.operate(pb.VoidHandRequest(hand_no=1, reason="test"))
    await game.until(lambda table: table.verified_hand == 1)
    await game.operate(pb.PauseTableRequest(reason="lunch"))
    await game.close()


async def empty(system: MemorySystem, game: Game) -> None:
    await game.open()
    await game.operate(pb.CloseTableRequest())


async def left(system: MemorySystem, game: Game) -> None:
    await game.begin(2)
    await game.play(1)
    for name in ("ada", "bea"):
        await game.send(name, pb.LeaveSeatRequest())
    await game.close()


async def played(system: MemorySystem, game: Game) -> None:
    await game.begin(3)
    await game.play(3)
    await game.close()


@pytest.mark.parametrize("life", [voided, empty, left, played])
@pytest.mark.parametrize("restart", [False, True])
def test_a_closed_table_is_shown_as_a_fold_would_show_it_and_is_not_folded(tmp_path, folds, life, restart):
    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            await life(system, Game(system))
            folded = await view(system)
            await asyncio.sleep(FORGOTTEN_S)
            if restart:
                await system.crash("table")
                await system.start("table")
            shown = await view(system)
            assert bare(shown) == bare(folded)
            assert (shown.reset, shown.current, shown.view.life) == (True, True, pb.TABLE_LIFE_CLOSED)
            for resume in ({}, {"after_version": 3}, {"after_version": shown.version, "head_hash": shown.head_hash}):
                for watch in (True, False):
                    stream = Stream(Game(system), "eve", watch=watch, **resume)
                    assert bare(await stream.update()) == bare(shown)
                    await asyncio.wait_for(stream.task, 10)  # it ends well
            assert not folds

    run()


@simulated
async def test_looking_at_a_closed_table_costs_three_short_reads(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        await closed_game(system)
        await asyncio.sleep(FORGOTTEN_S)
        read, asked = MemoryEventLog.read, []

        async def counted(log, stream, after=0, limit=500):
            found = await read(log, stream, after, limit)
            asked.append((stream, len(found)))
            return found

        monkeypatch.setattr(MemoryEventLog, "read", counted)
        monkeypatch.setattr(MemoryEventLog, "read_all", None)
        await view(system)
        assert [length for stream, length in asked if ":table:" in stream] == [2, 1]


@simulated
async def test_the_lobby_is_listed_without_a_question_to_the_log(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path) as system:
        for number in range(3):
            await closed_game(system, f"t-{number}", hands=1)
        live = Game(system, "t-3")
        await live.open()
        await asyncio.sleep(FORGOTTEN_S)
        rows = {}
        for shard in range(keys.SHARDS):
            rows.update(await system.runtimes["table"].log.lobby(shard))
        for name in ("read", "read_all", "head", "lobby"):
            monkeypatch.setattr(MemoryEventLog, name, None)
        listed = await system.call("ListTables", pb.ListTablesRequest(include_closed=True), "eve")
        assert [line.table for line in listed.tables] == ["t-0", "t-1", "t-2", "t-3"]
        over = {line.table: line.SerializeToString() for line in listed.tables if line.life == pb.TABLE_LIFE_CLOSED}
        assert over == {table: row for table, row in rows.items() if table != "t-3"}
        listed = await system.call("ListTables", pb.ListTablesRequest(), "eve")
        assert [line.table for line in listed.tables] == ["t-3"]
        monkeypatch.undo()


@pytest.mark.parametrize("at", [0, -1])
def test_a_closed_table_whose_first_or_last_commit_was_changed_is_not_shown(tmp_path, at):
    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            await closed_game(system, hands=1)
            await asyncio.sleep(FORGOTTEN_S)
            log = system.store.data.logs[keys.table_log(keys.shard_of("t-1"), "t-1")]
            commit, stored = log[at]
            log[at] = replace(commit, body=commit.body[:-1] + bytes([commit.body[-1] ^ 1])), stored
            assert (await refusal(view(system))).reason == "LOG_BROKEN"
            listed = await system.call("ListTables", pb.ListTablesRequest(include_closed=True), "eve")
            assert [line.paused for line in listed.tables] == ["LOG_BROKEN"]
            log[at] = commit, stored
            assert (await view(system)).view.life == pb.TABLE_LIFE_CLOSED
            listed = await system.call("ListTables", pb.ListTablesRequest(include_closed=True), "eve")
            assert [line.paused for line in listed.tables] == [""]

    run()


ASKED = (
    pb.ActRequest(turn_id=1, verb=seat_pb2.VERB_FOLD),
    pb.PostAnteRequest(prompt_id=1),
    pb.ChooseShowRequest(prompt_id=1),
    pb.SitOutRequest(),
    pb.SitInRequest(),
    pb.SetPreferencesRequest(auto_post=True),
    pb.SetPreActionRequest(verb=seat_pb2.VERB_FOLD),
    pb.ClearPreActionRequest(),
)


@simulated
async def test_what_is_not_about_money_is_refused_at_a_closed_table_without_a_fold(tmp_path, folds):
    async with MemorySystem(tmp_path) as system:
        game = await closed_game(system, hands=1)
        await asyncio.sleep(FORGOTTEN_S)
        for request in ASKED:
            refused = await refusal(game.send("ada", request))
            assert (type(request).__name__, refused.reason) == (type(request).__name__, "NOT_SEATED")
        assert not folds


@simulated
async def test_who_asks_again_about_money_is_answered_from_one_fold(tmp_path, folds):
    """However many ask at once, and for a while afterwards."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", 100_000)
        seat = pb.TakeSeatRequest(amount=10_000, request_id="sit")
        first = await game.send("ada", seat)
        more = await game.send("ada", pb.AddChipsRequest(amount=500, request_id="more"))
        await game.close()
        await asyncio.sleep(FORGOTTEN_S)
        answers = await asyncio.gather(*[game.send("ada", seat) for _ in range(5)])
        assert {(answer.outcome, answer.version) for answer in answers} == {(pb.SEAT_OUTCOME_LEFT, first.version)}
        assert await game.send("ada", pb.AddChipsRequest(amount=500, request_id="more")) == more
        await asyncio.sleep(folding.KEEP_S / 2)
        assert (await game.send("ada", seat)).version == first.version
        assert (await refusal(game.send("ada", pb.TakeSeatRequest(amount=1)))).reason == "TABLE_NOT_OPEN"
        assert folds == {"t-1": 1}
        assert len(system.tables.registry._folds.kept()) == 1
        await asyncio.sleep(FORGOTTEN_S)
        assert system.tables.registry._folds.kept() == []


@simulated
async def test_who_asks_for_many_closed_tables_waits_and_the_others_do_not(tmp_path, folds):
    """One after the other, so many for each account; a message of another service is not turned away."""
    async with MemorySystem(tmp_path) as system:
        games = [Game(system, f"t-{number:02}") for number in range(2 * folding.FOLDS_BURST)]
        for game in games:
            await game.open()
            await game.operate(pb.CloseTableRequest())
        await asyncio.sleep(FORGOTTEN_S)

        async def ask(game: Game, account: str) -> Any:
            try:
                return await game.send(account, pb.LeaveSeatRequest())
            except Refused as refused:
                return refused

        refused = [await ask(game, "eve") for game in games]
        reasons = Counter(each.reason for each in refused)
        assert reasons == {"NOT_SEATED": folding.FOLDS_BURST, "RATE_LIMITED": folding.FOLDS_BURST}
        limited = next(each for each in refused if each.reason == "RATE_LIMITED")
        assert limited.code.name == "RESOURCE_EXHAUSTED"
        assert (await ask(games[-1], "ada")).reason == "NOT_SEATED"  # nobody else is held up
        await asyncio.sleep(int(limited.metadata["retry_after_ms"]) / 1000)
        assert (await ask(games[-2], "eve")).reason == "NOT_SEATED"
        await asyncio.sleep(FORGOTTEN_S)
        assert (await system.tables.registry.get("t-00")).table_id == "t-00"
        at_once = await asyncio.gather(*[ask(game, f"p-{n}") for n, game in enumerate(games[1:])])
        assert Counter(each.reason for each in at_once)["NOT_SEATED"] >= folding.IN_LINE
        assert {each.reason for each in at_once} == {"NOT_SEATED", "RATE_LIMITED"}
        assert max(folds.values()) <= 3


@simulated
async def test_a_long_fold_is_told_to_ask_again_and_goes_on(tmp_path, monkeypatch):
    async with MemorySystem(tmp_path, heavy_percent=1) as system:
        game = await closed_game(system, hands=6)
        await asyncio.sleep(FORGOTTEN_S)
        system.runtimes["table"].heavy._owed_until = asyncio.get_running_loop().time() + 30
        asked = pb.LeaveSeatRequest(request_id="x")
        refused = await refusal(game.send("ada", asked))
        assert (refused.reason, int(refused.metadata["retry_after_ms"])) == ("RATE_LIMITED", 2000)
        await asyncio.sleep(60)
        assert (await refusal(game.send("ada", asked))).reason == "NOT_SEATED"


@simulated
async def test_a_fold_takes_no_more_than_its_share_of_the_time(tmp_path):
    async with MemorySystem(tmp_path) as system:
        await closed_game(system, hands=10)
        runtime = system.runtimes["table"]
        loop, worked = asyncio.get_running_loop(), 0.0
        honest = runtime.heavy.worked

        def counted(seconds: float) -> None:
            nonlocal worked
            worked += seconds
            honest(seconds)

        runtime.heavy.worked = counted  # type: ignore[method-assign]
        began = loop.time()
        while worked < 0.2:
            await rebuild_beside(runtime.log, keys.table_log(keys.shard_of("t-1"), "t-1"), runtime.heavy)
        assert loop.time() - began >= 9 * worked - 1


@pytest.mark.parametrize("watch", [True, False])
def test_who_was_cut_off_while_a_table_closed_sees_what_one_saw_who_stayed(tmp_path, watch):
    """A moment and half a minute later: what he missed, and how the last hand ended."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.begin(3)
            await game.until_turn()
            stayed, left_at = Stream(game, "eve", watch=True), game.actor.head
            await game.close()
            await asyncio.wait_for(stayed.task, 10)
            last = [stayed.answers.get_nowait() for _ in range(stayed.answers.qsize())][-1].update
            assert last.view.last_hand.hand_no == 1
            for later_s in (0, 3, 30):
                await asyncio.sleep(later_s)
                back = Stream(game, "ada", watch=watch, after_version=left_at.version, head_hash=left_at.hash)
                await asyncio.wait_for(back.task, 10)  # it ends well
                *missed, present = [back.answers.get_nowait().update for _ in range(back.answers.qsize())]
                assert [update.version for update in missed] == list(range(left_at.version + 1, last.version + 1))
                assert (present.version, present.current, present.view) == (last.version, True, last.view)
                assert (await view(system)).view == last.view

    run()


@simulated
async def test_who_watches_a_table_that_another_process_closed_is_shown_its_end(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        eve = Stream(game, "eve", watch=True)
        await eve.update()
        other = TableActor(system.runtimes["table"], game.id, bytes(32), bool)
        await other.load()
        other.start()
        await other.submit(CloseTable("olga"))
        await game.actor.catch_up()
        async with asyncio.timeout(5):
            while (await eve.update()).view.life != pb.TABLE_LIFE_CLOSED:
                pass
            await eve.task
        await other.stop()

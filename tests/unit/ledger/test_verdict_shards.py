"""Many tables in one shard, whose lines are handled side by side, parked, or fail: no verdict is lost over it.

The feed reader hands each table's entries in by themselves, in any order between tables. Whatever happens to one line,
of every other table each verified hand is settled and each dispute known.
"""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
import structlog

from stud.table.v1 import table_service_pb2 as tpb
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.types import START, Append, FeedEntry
from stud_wire.codec import UnknownEventError
from stud_wire.commits import Meta, commit_message, decode_commit
from tests.support.deep import either
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from tests.support.waiting import until
from tests.support.wallet import Floor, Office, buy_in, disputed, resolved, verified, working
from wallet_service import app as module

ROUNDS = either(20, 200, 5)
SHARD = 7
TABLES = [name for name in (f"t-{n}" for n in range(2000)) if keys.shard_of(name) == SHARD][:6]
VERDICTS = keys.verdicts(SHARD)


pytestmark = pytest.mark.usefixtures("nobody_looks_again")


async def seated(floor: Floor, office: Office, *tables: str) -> None:
    await office.fund(ann=1_000_000, bob=1_000_000)
    for table in tables:
        await floor.say(table, buy_in(1, "ann", 5000), buy_in(2, "bob", 5000))
        await floor.hears(table, ev.BuyInFunded, ev.BuyInFunded)


def figures(hand_no: int) -> tuple[tuple[int, str, int], ...]:
    return (1, "ann", -hand_no), (2, "bob", hand_no)


async def settled(floor: Floor) -> dict[str, list[int]]:
    """The hands of each table that are settled."""
    hands: dict[str, list[int]] = {table: [] for table in TABLES}
    for event in await floor.entries():
        if isinstance(event, ev.HandSettled):
            hands[event.table].append(event.hand_no)
    return hands


async def speak(floor: Floor, rng: random.Random) -> tuple[dict[str, int], dict[str, int]]:
    """The referee judges a few hands of each table, mixed up; returns the last hand that is final, and the disputes."""
    final, disputes = dict.fromkeys(TABLES, 0), {}
    for table in rng.choices(TABLES, k=30):
        if table in disputes:
            continue
        hand_no = final[table] + 1
        chance = rng.random()
        if chance < 0.1:
            disputes[table] = hand_no
            await floor.judge(disputed(table, hand_no, *figures(hand_no)))
        else:
            if chance < 0.2:
                await floor.judge(disputed(table, hand_no, *figures(hand_no)), resolved(table, hand_no))
            else:
                await floor.judge(verified(table, hand_no, *figures(hand_no)))
            final[table] = hand_no
    return final, disputes


def batches(entries: list[FeedEntry], rng: random.Random) -> list[list[FeedEntry]]:
    """The reader's batches: in order, of any size, some of them a second time."""
    found: list[list[FeedEntry]] = []
    while entries:
        size = rng.randrange(1, 12)
        found.append(entries[:size])
        if rng.random() < 0.2:
            found.append(entries[:size])
        entries = entries[size:]
    return found


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_whatever_becomes_of_the_lines_every_verdict_is_settled(seed: int):
    rng = random.Random(seed)
    store = MemoryStore()
    log = MemoryEventLog(store)
    floor, office = Floor(log), Office(log)
    async with working(log) as first:
        await seated(floor, first, *TABLES)
    for book in office.app.books.values():
        await book.start()
    final, disputes = await speak(floor, rng)
    parked = {table for table in TABLES if rng.random() < 0.3}
    letters: list[FeedEntry] = []
    for batch in batches(await log.read_feeds({VERDICTS: START}, 10_000), rng):
        lines: dict[str, list[FeedEntry]] = {}
        for entry in batch:
            lines.setdefault(module.table_of(entry) or "", []).append(entry)
        for table in parked & lines.keys():
            letters += lines.pop(table)
        shuffled = list(lines.values())
        rng.shuffle(shuffled)
        await asyncio.gather(*(_late(office, line, rng) for line in shuffled))
        # What the cursor passes is settled, but for the lines that are parked.
        hands = await settled(floor)
        for table, line in lines.items():
            for entry in line:
                (verdict,) = decode_commit(entry.event).events
                known = verdict.hand_no in hands[table] or disputes.get(table) == verdict.hand_no
                assert known or verdict.hand_no in office.app.verdicts._disputes.get(table, {})
    for entry in letters:  # an operator has the parked lines replayed
        await office.app.handle([entry])
    assert await settled(floor) == {table: list(range(1, last + 1)) for table, last in final.items()}
    for table in TABLES:
        assert office.app.verdicts.in_dispute(table, 1) == (table in disputes)
        assert office.app.verdicts.waiting(table) == []
    await office.close()
    await log.close()


async def _late(office: Office, line: list[FeedEntry], rng: random.Random) -> None:
    for _ in range(rng.randrange(4)):
        await asyncio.sleep(0)
    await office.app.handle(line)


async def test_a_line_that_is_discarded_takes_no_verdict_with_it():
    """The whole way: poison, parked verdicts, `stud dead discard`. The next verdict settles what was dropped."""
    log = MemoryEventLog()
    floor = Floor(log)
    stuck, other = TABLES[:2]
    async with working(log) as office:
        await seated(floor, office, stuck, other)
        await floor.say(stuck, buy_in(3, "ann", currency="JPY"))
        await until(lambda: log.dead_list("wallet"), "the line is parked")
        for hand_no in (1, 2, 3):
            await floor.judge(verified(stuck, hand_no, *figures(hand_no)), disputed(other, hand_no, *figures(hand_no)))
            await floor.judge(resolved(other, hand_no))
            await floor.wrote(ev.HandSettled, hand_no)
        assert await settled(floor) == {**{table: [] for table in TABLES}, other: [1, 2, 3]}
        assert [verdict.event.hand_no for verdict in office.app.verdicts.waiting(stuck)] == [1, 2, 3]

        async def all_parked() -> bool:
            return len(await log.dead_list("wallet")) == 4

        await until(all_parked, "the verdicts wait in the line")
        await log.dead_discard("wallet", SHARD, stuck)
        await floor.judge(verified(stuck, 4, *figures(4)))
        await floor.wrote(ev.HandSettled, 7)
        assert (await settled(floor))[stuck] == [1, 2, 3, 4]
    await log.close()


async def test_a_verdict_that_waits_is_settled_or_told_of(monkeypatch: pytest.MonkeyPatch):
    """Nothing is left to the message alone: what waits is looked at, settled if it can be, and else named with why."""
    monkeypatch.setattr(module, "LAG_S", 0.02)
    log = MemoryEventLog()
    floor = Floor(log)
    stuck, other = TABLES[:2]
    async with working(log) as office:
        await seated(floor, office, stuck, other)
        await floor.say(stuck, buy_in(3, "ann", currency="JPY"))
        await until(lambda: log.dead_list("wallet"), "the line is parked")
        with structlog.testing.capture_logs() as lines:
            await floor.judge(verified(stuck, 1, *figures(1)), verified(other, 1, (1, "ann", -9000), (2, "bob", 9000)))
            await floor.wrote(ev.HandSettled)  # although its message is parked

            async def told() -> Any:
                return [line for line in lines if line["event"] == "not_settled"]

            await until(told, "a warning")
            await asyncio.sleep(0.1)
        (line,) = await told()
        assert (line["table"], line["hand_no"], line["why"]) == (other, 1, "ESCROW_OVERDRAWN")
        assert line["log_level"] == "warning"
        assert (await settled(floor))[stuck] == [1]
    await log.close()


async def test_a_fault_of_ours_in_one_settlement_is_told_and_holds_up_no_other(monkeypatch: pytest.MonkeyPatch):
    from wallet_service import book

    def broken(state: Any, command: Any, now_ms: int) -> Any:
        if isinstance(command, cmd.SettleHand) and command.table == TABLES[0]:
            raise KeyError("a bug")
        return real(state, command, now_ms)

    real = vars(book)["decide"]
    monkeypatch.setattr(book, "decide", broken)
    monkeypatch.setattr(module, "LAG_S", 0.02)
    log = MemoryEventLog()
    floor = Floor(log)
    async with working(log) as office:
        await seated(floor, office, *TABLES[:2])
        with structlog.testing.capture_logs() as lines:
            for hand_no in (1, 2):
                await floor.judge(verified(TABLES[0], hand_no), verified(TABLES[1], hand_no))
            await floor.wrote(ev.HandSettled, 2)

            async def told() -> Any:
                return [line for line in lines if line["event"] == "not_settled"]

            (line,) = await until(told, "a warning")
        assert (line["table"], line["why"]) == (TABLES[0], "'a bug'")
        assert (await settled(floor))[TABLES[1]] == [1, 2]
    await log.close()


async def test_what_is_known_is_settled_before_the_shard_stalls_at_a_newer_build():
    log = MemoryEventLog()
    floor = Floor(log)
    async with working(log) as office:
        await seated(floor, office, TABLES[0])
    await floor.judge(verified(TABLES[0], 1))
    newer = commit_message([verified(TABLES[0], 2)], Meta(at_ms=1))
    newer.events[0].Clear()
    head = await log.head(VERDICTS)
    await log.append(Append(VERDICTS, head.version, head.hash, b"n" * 16, newer.SerializeToString(), ()))
    office = Office(log)
    for book in office.app.books.values():
        await book.start()
    entry = (await log.read_feeds({VERDICTS: START}))[0]
    await office.app.handle([entry])
    assert (await settled(floor))[TABLES[0]] == [1]
    with pytest.raises(UnknownEventError):
        await office.app.verdicts.advance(SHARD)
    await office.close()
    await log.close()


@simulated
async def test_a_wallet_that_stood_still_while_two_tables_of_a_shard_played_settles_every_hand(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        games = [Game(system, table) for table in TABLES[:2]]
        for game in games:
            await game.begin(2)
        log: Any = system.runtimes["wallet"].log
        may_read, read_feeds = asyncio.Event(), log.read_feeds

        async def read(*request: Any) -> list[FeedEntry]:
            entries: list[FeedEntry] = await read_feeds(*request)
            await may_read.wait()
            return entries

        log.read_feeds = read
        for number in (1, 2, 3, 4):  # by turns, so that their verdicts are mixed
            for game in games:
                await game.play(number)
        for game in games:
            await game.operate(tpb.PauseTableRequest(reason="enough"))
            while game.table.verified_hand < game.table.hand_no:
                await game.step()
        may_read.set()
        await asyncio.sleep(5)  # virtual
        for game in games:
            hands = [
                e.hand_no for e in await Floor(log).entries() if isinstance(e, ev.HandSettled) and e.table == game.id
            ]
            assert hands == list(range(1, game.table.verified_hand + 1))
            assert system.service("wallet").verdicts.waiting(game.id) == []
        for game in games:
            await game.operate(tpb.ResumeTableRequest())
            await game.close()

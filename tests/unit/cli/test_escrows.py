"""`stud audit` holds escrows against tables at any moment: no false alarm on an honest log, and no blind spot."""

import random
from dataclasses import replace as with_changes
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import structlog

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.inspect import audit as module
from stud_cli.inspect.audit import audit_log
from stud_cli.inspect.table_history import steps
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_core.events import Verb
from stud_core.ledger import events as le
from stud_core.state import Table
from stud_eventlog.memory import MemoryEventLog
from stud_service.keyring import KeyRing
from stud_wire.commits import decode_commit
from tests.support.history import (
    LEDGER,
    TABLE,
    VERDICTS,
    Change,
    History,
    T,
    closed_table,
    in_virtual_time,
    open_table,
    say,
    taken,
)
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem

BOLD = {Verb.FOLD: 5, Verb.CALL: 1, Verb.BRING_IN: 4, Verb.COMPLETE: 5, Verb.BET: 8}
ABOUT_CHIPS = ("at the table", "has left", "settled with", "settled without")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is on its way in a log in memory."""
    monkeypatch.setattr(module, "ON_ITS_WAY_S", 0)


@cache
def busy_table() -> History:
    """Hands in which players bet, add chips, leave, come back, and one that is voided."""
    return in_virtual_time(_busy())


async def _busy() -> History:
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    try:
        with TemporaryDirectory() as folder:
            async with MemorySystem(Path(folder)) as system:
                game = Game(system, T, seed=3)
                await game.begin(5)
                await game.play(1)
                await game.until_turn(4, hand_no=2)
                for name in ("ada", "bea"):
                    await game.send(name, pb.AddChipsRequest(amount=700))
                await game.send("cleo", pb.LeaveSeatRequest())
                await game.play(2)
                await game.until_turn(3, hand_no=3)
                await game.seat("cleo", 5_000, deposit=0)
                await game.operate(pb.VoidHandRequest(hand_no=3, reason="a test"))
                await game.play(8, BOLD)
                await game.close()
                return taken(system.store, KeyRing.load(system.keys_dir, "referee").key("referee"))
    finally:
        structlog.configure(**before)


def orders(history: History, seed: int) -> list[dict[str, int]]:
    """How far each log was at every moment of one course of things: whatever was caused comes after its cause."""
    rng = random.Random(seed)
    causes = {
        stream: [decode_commit(c.body).meta.cause for c in commits] for stream, commits in history.streams.items()
    }
    reached = dict.fromkeys(history.streams, 0)
    moments = [dict(reached)]
    while True:
        ready = [
            stream
            for stream, named in causes.items()
            if reached[stream] < len(named)
            and ((cause := named[reached[stream]]) is None or reached.get(cause[0], cause[1]) >= cause[1])
        ]
        if not ready:
            assert reached == {stream: len(commits) for stream, commits in history.streams.items()}
            return moments
        reached[rng.choice(ready)] += 1
        moments.append(dict(reached))


async def log_at(history: History, moment: dict[str, int]) -> MemoryEventLog:
    return await with_changes(
        history, streams={stream: commits[: moment[stream]] for stream, commits in history.streams.items()}
    ).log()


async def chips_amiss(log: MemoryEventLog) -> list[str]:
    found, _ = await audit_log(log)
    return [problem for problem in found.problems if any(words in problem for words in ABOUT_CHIPS)]


@pytest.mark.parametrize("seed", range(3))
async def test_an_honest_log_raises_no_alarm_at_any_moment(seed: int):
    history = busy_table()
    kinds = {type(event) for event in history.events(TABLE)}
    assert {ev.ChipsAdded, ev.HandVoided, ev.PlayerLeft, ev.UncalledReturned, ev.ShowPrompted} <= kinds
    for moment in orders(history, seed)[seed::5]:
        assert await chips_amiss(await log_at(history, moment)) == [], moment


@pytest.mark.parametrize("seed", range(3))
async def test_a_ledger_that_was_read_before_the_table_raises_no_alarm(seed: int):
    """Hands that were settled in between; what was funded in between a second reading finds."""
    history = busy_table()
    moments = orders(history, seed)
    funded = [len(history.streams[LEDGER])] + [
        history.version_of(LEDGER, kind, number)
        for kind in (le.BuyInFunded, le.TopUpFunded)
        for number in range(1, sum(isinstance(event, kind) for event in history.events(LEDGER)) + 1)
    ]
    for early, late in zip(moments[::7], moments[20::7], strict=False):
        if not any(early[LEDGER] < version <= late[LEDGER] for version in funded):
            moment = late | {LEDGER: early[LEDGER]}
            assert [p for p in await chips_amiss(await log_at(history, moment)) if "has left" not in p] == [], moment


def taken_from(first: str, second: str, hand_no: int) -> Change:
    """Moves 100 between two players in what is booked for a hand."""

    def change(event: Any) -> Any:
        if not isinstance(event, le.HandSettled | ve.HandVerified) or event.hand_no != hand_no:
            return event
        by = {first: 100, second: -100}
        postings = [msgspec.structs.replace(p, delta=p.delta + by.get(p.account, 0)) for p in event.postings]
        return msgspec.structs.replace(event, postings=tuple(postings))

    return change


@pytest.mark.parametrize("hand_no", [1, 2])
async def test_figures_that_ledger_and_verdict_agree_on_are_held_against_the_table(hand_no: int):
    forged = taken_from("ada", "bea", hand_no)
    for history in (open_table(), closed_table()):
        log = await history.log({LEDGER: forged, VERDICTS: forged})
        assert f"table {T} hand {hand_no}: settled with other figures than the table's" in await chips_amiss(log)


@pytest.mark.parametrize("kind", [ev.AntesOpened, ev.CardsDealt, ev.ActionTaken, ev.HandEnded])
async def test_escrows_are_held_against_the_table_also_while_a_hand_is_under_way(kind: type):
    """From its first ante to the moment in which it waits for its verdict."""
    history = open_table()
    last = max(n for n in range(1, 400) if n <= sum(isinstance(event, kind) for event in history.events(TABLE)))
    end = history.version_of(TABLE, kind, last)
    log = await log_at(
        history,
        {stream: len(commits) for stream, commits in history.streams.items()}
        | {TABLE: end, VERDICTS: 1, LEDGER: history.version_of(LEDGER, le.HandSettled, 2) - 1},
    )
    assert await chips_amiss(log) == []
    moved = (le.Posting(f"escrow:{T}:1", 100), le.Posting(f"escrow:{T}:2", -100))
    await say(log, LEDGER, le.Adjusted("p", moved, ("op-1", "op-2"), "ticket"))
    assert [problem.split(":")[0] for problem in await chips_amiss(log)] == [
        f"table {T} sitting 1",
        f"table {T} sitting 2",
    ]


@pytest.mark.parametrize("heard", [False, True], ids=["not heard of", "heard of"])
@pytest.mark.parametrize("settled", [False, True], ids=["unsettled", "settled"])
async def test_a_decision_reaches_ledger_and_table_one_after_the_other(heard: bool, settled: bool):
    history = open_table()
    log = await history.log()
    table = await at_the_end_of_hand(log, history, 2)
    before = tuple(ev.SeatStack(table.sittings[n].seat, n, stack) for n, stack in table.hand_start_stacks)
    choice = ev.ResolutionChoice.VOID
    head = await say(log, VERDICTS, ve.HandResolved(T, 2, "EUR", choice, (), 0, (), ("op-1", "op-2"), "why"))
    if settled:
        await say(log, LEDGER, le.HandSettled(T, 2, head.version, (), 0))
    if heard:
        await say(log, TABLE, ev.TableHandResolved(2, head.version, choice, before))
    assert await chips_amiss(log) == []


async def at_the_end_of_hand(log: MemoryEventLog, history: History, hand_no: int) -> Table:
    """Drops all that came after a hand, its verdict included, and returns the table."""
    logs = log.store.data.logs
    del logs[TABLE][history.version_of(TABLE, ev.HandEnded, hand_no) :], logs[VERDICTS][hand_no - 1 :]
    del logs[LEDGER][history.version_of(LEDGER, le.HandSettled, hand_no) - 1 :]
    table = Table()
    async for step in steps(log, T):
        table = step.table
    return table

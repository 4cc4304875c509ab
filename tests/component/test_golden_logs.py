"""What an earlier build has left: it verifies, it is judged as it was decided, and its running hands are played on."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rules_service.find_hand import Streams
from rules_service.referee import Referee
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.inspect.audit import audit_log
from stud_cli.inspect.verify import verify_log
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.main import app
from stud_core import events as ev
from stud_core.deck_events import DeckClosed
from stud_core.evolve import evolve, fold
from stud_core.state import Life, Phase, Table
from stud_core.verdict_events import HandDisputed, HandVerified
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from stud_wire.commits import decode_commit
from tests.support import golden_logs
from tests.support.golden_logs import PLAYED, RUNNING
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, VirtualLoop, simulated

BOTH = pytest.mark.parametrize("path", [PLAYED, RUNNING], ids=["played", "running"])


def memory(path: Path) -> MemoryStore:
    store = MemoryStore()
    golden_logs.into_memory(path, store)
    return store


def events(store: MemoryStore, kind: str) -> Iterator[tuple[str, int, Any]]:
    """(table, version, event) of all logs of one kind."""
    for stream, rows in store.data.logs.items():
        name = keys.parse_stream(stream)
        if name is not None and name.kind == kind:
            for commit, _ in rows:
                for event in decode_commit(commit.body).events:
                    yield name.table_id or "", commit.version, event


# ------------------------------------------------------------------- what is in them


def test_the_log_of_hands_that_are_over_holds_what_it_was_made_for():
    store = memory(PLAYED)
    found = Counter(type(event).__name__ for _, _, event in events(store, "table"))
    wanted = {
        *("AntesReturned", "AnteMissed", "PreferencesSet", "SatOut", "SatIn", "LeaveRequested", "PlayerLeft"),
        *("TopUpPending", "TopUpRefused", "ChipsAdded", "SeatReleased", "HandShown", "HandMucked", "ShowPrompted"),
        *("UncalledReturned", "TableClosed"),
    }
    assert {name for name in wanted if not found[name]} == set()
    by = Counter(event.by for _, _, event in events(store, "table") if isinstance(event, ev.ActionTaken))
    assert all(by[who] for who in ev.By), by


def test_it_holds_what_later_builds_decide_otherwise():
    store = memory(PLAYED)
    voided, ticked = set(), set()
    for name in keys.names_of("table", store.data.logs):
        for before, event in folded(store, name):
            hand = before.hand
            if isinstance(event, ev.HandVoided) and hand is not None:
                voided.add((before.rules.ruleset.name, bool(hand.street)))
            if isinstance(event, ev.PreferencesSet) and hand is not None:
                ticked |= {(hand.phase, p.kind) for p in hand.prompts if p.seat == event.seat and event.muck_losing}
                ticked |= {(hand.phase, None) for p in hand.prompts if p.seat == event.seat and event.auto_post}
    assert {("william_hill", False), ("william_hill", True)} <= voided
    assert {(Phase.ANTES, None), (Phase.SHOW_PROMPTS, ev.PromptKind.LOSER)} <= ticked


def test_the_log_of_running_hands_holds_every_phase():
    tables = [last(memory(RUNNING), name) for name in keys.names_of("table", memory(RUNNING).data.logs)]
    phases = {(table.rules.ruleset.name, table.hand.phase) for table in tables if table.hand is not None}
    wanted = {Phase.ANTES, Phase.DEALING, Phase.BETTING, Phase.SHOW_PROMPTS}
    assert phases == {(name, phase) for name in ("playnow", "william_hill") for phase in wanted}
    assert any(table.hand is None for table in tables)


def folded(store: MemoryStore, name: str) -> Iterator[tuple[Table, Any]]:
    """Every event of a table, with the table before its commit."""
    table = Table()
    for commit, _ in store.data.logs[keys.table_log(keys.shard_of(name), name)]:
        recorded = decode_commit(commit.body).events
        yield from ((table, event) for event in recorded)
        table = evolve(table, recorded, commit.version)


def last(store: MemoryStore, name: str) -> Table:
    commits = store.data.logs[keys.table_log(keys.shard_of(name), name)]
    return fold([(commit.version, decode_commit(commit.body).events) for commit, _ in commits])


# ------------------------------------------------------------------- it verifies


def asked(*words: str) -> tuple[int, dict[str, Any]]:
    ended = CliRunner().invoke(app, [*words, "--json"])
    assert ended.stdout, (words, ended.output, ended.exception)
    value: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return ended.exit_code, value


@BOTH
def test_it_verifies_on_a_server(
    path: Path, valkey_server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asyncio.run(golden_logs.into_server(path, valkey_server.url))
    golden_logs.write_keys(tmp_path / "keys")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUD_REDIS_URL", valkey_server.url)
    monkeypatch.setenv("STUD_KEYS_DIR", str(tmp_path / "keys"))
    code, told = asked("verify")
    assert (code, told["ok"], told["problems"]) == (0, True, [])
    code, told = asked("audit")
    assert (code, told["ok"], told["ledger_sum"], told["disputed"]) == (0, True, 0, 0), told


# ------------------------------------------------------------------- it is judged as it was decided


@BOTH
async def test_each_hand_is_judged_again_as_it_was(path: Path):
    """By the engine and by the second opinion: verified, with the figures of then."""
    store = memory(path)
    log = MemoryEventLog(store)
    referee = Referee(Runtime("rules", ServiceSettings(), log), golden_logs.referee_key())
    said = {(e.table, e.hand_no): e for _, _, e in events(store, "verdicts") if isinstance(e, HandVerified)}
    judged = 0
    for table_id, _, closed in events(store, "deck"):
        if isinstance(closed, DeckClosed):
            judgement = await referee.judge(Streams.of(table_id), closed, None)
            assert judgement.findings == (), (table_id, closed.hand_no)
            figures = judgement.figures
            verdict = said.get((table_id, closed.hand_no))
            if verdict is not None and figures is not None:
                assert (figures.deltas, figures.rake) == (verdict.postings, verdict.rake)
            judged += 1
    assert judged >= len(said) > 0


# ------------------------------------------------------------------- it is played on


@simulated
async def test_running_hands_are_played_to_their_end(tmp_path: Path):
    """This build takes every table over, plays two hands more at each, and closes it."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.skip(86_400)
    golden_logs.write_keys(tmp_path / "keys")
    system = MemorySystem(tmp_path)
    golden_logs.into_memory(RUNNING, system.store)
    before = {name: last(system.store, name) for name in keys.names_of("table", system.store.data.logs)}
    async with system:
        for name, table in before.items():
            await system.actor(name)
            game = Game(system, name, seed=1)
            game._ids = (f"{name}-later-{number}" for number in itertools.count(1))  # those of then are taken
            if game.table.paused:
                await game.operate(pb.ResumeTableRequest())
            await game.play(table.hand_no + 2)
            await game.close()
            assert game.table.life is Life.CLOSED
        log = MemoryEventLog(system.store)
        found = await verify_log(log, None, golden_logs.referee_key())
        assert found.problems == []
        assert (found.tables, found.decks_opened) == (len(before), found.decks_closed)
        audit, _ = await audit_log(log)
        assert (audit.problems, audit.ledger_sum, audit.unsettled) == ([], 0, 0)
        assert not [event for _, _, event in events(system.store, "verdicts") if isinstance(event, HandDisputed)]
        _check_buttons(system.store)


def _check_buttons(store: MemoryStore) -> None:
    """Seats 2, 5, 7; the second hand is void and had no card. What begun the next one says whether it counts."""
    buttons: dict[str, list[int]] = {}
    for name, _, event in events(store, "table"):
        if isinstance(event, ev.HandStarted):
            buttons.setdefault(name, []).append(event.button)
    assert buttons["running-after-void"][:4] == [7, 2, 2, 5]
    assert buttons["running-antes-after-void"][:4] == [7, 2, 5, 7]
    assert buttons["running-bets-after-void"][:4] == [7, 2, 5, 7]
    assert buttons["running-undealt-w"][:4] == [7, 2, 5, 7]

"""`stud hands` on the directory of a stopped system and on a running server: what it finds, and what it keeps."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from benches import made_table, make_log
from stud_cli.index.command import NAME
from stud_cli.index.store import open_store
from stud_cli.main import app
from stud_core.ledger import events as le
from tests.support.hand_index import CARD, FIELDS, leaks, leaks_in_json
from tests.support.valkey import running_server

TABLES, HANDS = 4, 15


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_table, "VOIDED_EVERY", 6)
        patch.setattr(made_table, "DISPUTED_EVERY", 6)
        asyncio.run(make_log.make(folder, TABLES, HANDS, seed=1))
    return folder


@pytest.fixture
def data(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may do anything to, without an index."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STUD_REDIS_URL", raising=False)
    shutil.copytree(made, tmp_path / "data")
    return tmp_path / "data"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["hands", *words])


def asked(*words: str) -> dict[str, Any]:
    ended = run(*words, "--json")
    assert ended.exit_code == 0, ended.output
    value: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return value


def test_everything_there_is_to_ask(data: Path):
    with running_server(data / "redis") as server:
        os.environ["STUD_REDIS_URL"] = server.url
        try:
            found = asked()
            everything = found["hands"]
            assert (found["total"], found["more"], found["tables"], found["unread"]) == (60, 10, TABLES, [])
            assert all(set(hand) == FIELDS for hand in everything)
            everything += asked("--skip", "50")["hands"]
            assert len({(hand["table"], hand["hand_no"]) for hand in everything}) == 60
            for words, fits in questions(everything):
                wanted = [hand for hand in everything if fits(hand)]
                assert asked(*words, "--limit", "100")["hands"] == wanted, words
                assert 0 < len(wanted) < 60, words
            newest = asked("--limit", "1")
            assert (newest["hands"], newest["more"]) == ([everything[0]], 59)
            assert newest["index"] == {
                "path": str(Path("var") / NAME),
                "commits_read": 0,
                "hands_read": 0,
                "tables_anew": 0,
            }
        finally:
            del os.environ["STUD_REDIS_URL"]


def questions(hands: list[dict[str, Any]]) -> Any:
    """Words of the command line, and what fits them."""
    import datetime as dt

    player = hands[20]["players"][0]["account"]
    pot = sorted(hand["pot"] for hand in hands)[40]
    moment = hands[30]["ended_at_ms"]
    iso = dt.datetime.fromtimestamp(moment / 1000, dt.UTC).isoformat()
    here = dt.datetime.fromtimestamp(moment / 1000, dt.timezone(dt.timedelta(hours=9))).isoformat()
    yield ("--table", "table-0002"), lambda hand: hand["table"] == "table-0002"
    yield ("--player", player), lambda hand: any(who["account"] == player for who in hand["players"])
    yield ("--min-pot", str(pot)), lambda hand: hand["pot"] >= pot
    yield ("--min-pot", f"{pot // 100}.{pot % 100:02}"), lambda hand: hand["pot"] >= pot
    yield ("--since", iso), lambda hand: hand["ended_at_ms"] >= moment
    yield ("--until", here), lambda hand: hand["ended_at_ms"] < moment
    yield ("--showdown",), lambda hand: hand["showdown"]
    yield ("--disputed",), lambda hand: hand["disputed"]
    yield ("--voided",), lambda hand: hand["voided"]
    yield (
        ("--table", "table-0001", "--showdown", "--min-pot", "1.00"),
        lambda hand: hand["table"] == "table-0001" and hand["showdown"] and hand["pot"] >= 100,
    )


def test_people_see_a_table_and_how_to_go_on(data: Path):
    hands = asked("--data", str(data), "--limit", "100")["hands"]
    played = Counter(who["account"] for hand in hands for who in hand["players"])
    said = run("--data", str(data), "--limit", "5", "--player", played.most_common(1)[0][0])
    assert said.exit_code == 0, said.output
    lines = said.stdout.splitlines()
    assert {"ended", "table", "hand", "pot", "net"} <= set(said.stdout.split())
    assert lines[-2].startswith("5 of ")
    assert "more: --skip 5" in lines[-2]
    assert "replay table-" in lines[-1]
    assert "--hand " in lines[-1]


def test_figures_are_those_of_the_ledger(data: Path):
    """What each account won and lost, over all hands, is what the ledgers booked."""
    from stud_eventlog import keys
    from stud_eventlog.redis_streams import RedisEventLog
    from stud_wire.commits import decode_commit

    async def booked(url: str) -> dict[tuple[str, int], dict[str, int]]:
        log = await RedisEventLog.connect(url, allow_volatile=True)
        out = {}
        for currency in await log.scan_streams("ledger"):
            async for stored in log.read_all(keys.ledger_log(currency)):
                for event in decode_commit(stored.body).events:
                    if isinstance(event, le.HandSettled):
                        out[event.table, event.hand_no] = {p.account: p.delta for p in event.postings if p.delta}
        await log.close()
        return out

    found = asked("--data", str(data), "--limit", "1000")["hands"]
    with running_server(data / "redis") as server:
        settled = asyncio.run(booked(server.url))
    assert len(settled) == len(found) == TABLES * HANDS
    for hand in found:
        moved = {who["account"]: who["delta"] for who in hand["players"] if who["delta"]}
        assert moved == settled[hand["table"], hand["hand_no"]], hand


def test_the_index_lies_in_the_data_directory_and_may_be_deleted(data: Path):
    first = asked("--data", str(data))
    path = data / NAME
    assert first["index"]["path"] == str(path)
    assert (first["index"]["hands_read"], path.stat().st_mode & 0o777) == (60, 0o600)
    assert asked("--data", str(data))["index"]["commits_read"] == 0
    path.unlink()
    assert asked("--data", str(data)) == first
    path.write_bytes(path.read_bytes()[:20_000])
    again = asked("--data", str(data))
    assert (again["hands"], again["index"]["hands_read"]) == (first["hands"], 60)


def test_damage_that_only_shows_when_it_is_read(data: Path):
    first = asked("--data", str(data))
    path = data / NAME
    whole = bytearray(path.read_bytes())
    for page in range(2, len(whole) // 4096):
        whole[page * 4096 : page * 4096 + 200] = bytes(200)
    path.write_bytes(whole)
    assert asked("--data", str(data))["hands"] == first["hands"]


def test_where_no_index_can_be_kept_the_answer_comes_all_the_same(data: Path):
    (data / "index").write_text("in the way")
    said = run("--data", str(data), "--json")
    assert said.exit_code == 0
    assert "it is made in memory, for this once" in " ".join(said.stderr.split())
    found = json.loads(said.stdout.splitlines()[-1])
    assert (found["total"], found["index"]["path"]) == (60, None)


def test_two_processes_at_once(data: Path):
    with running_server(data / "redis") as server:
        words = [sys.executable, "-c", "from stud_cli.main import main; main()", "hands", "--json", "--limit", "100"]
        environ = {**os.environ, "STUD_REDIS_URL": server.url}
        both = [
            subprocess.Popen(words, env=environ, cwd=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    first, second = [json.loads(out.splitlines()[-1]) for out, _ in said]
    assert first["hands"] == second["hands"]
    assert first["total"] == 60


def test_nothing_hidden_is_in_what_it_prints_and_keeps(data: Path):
    keys = [path.read_bytes() for path in (data / "keys").glob("*.key")]
    assert len(keys) == 3
    said = run("--data", str(data), "--json", "--limit", "1000")
    assert leaks_in_json(json.loads(said.stdout.splitlines()[-1])) == []
    assert CARD.search(run("--data", str(data)).stdout) is None
    with open_store(data / NAME) as store:
        assert leaks(store, keys, data / NAME) == []


@pytest.mark.parametrize("plant", [{"down": [3]}, {"name": "alice has Ah Kd"}, {"players": [{"seat": 1, "hole": 5}]}])
def test_a_planted_card_is_found_in_what_it_prints(plant: dict[str, Any], data: Path):
    answer = asked("--data", str(data), "--limit", "2")
    assert leaks_in_json(answer) == []
    answer["hands"][0] |= plant
    assert leaks_in_json(answer)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--table", "table-9999"], "there is no table 'table-9999' in this log"),
        (["--player", "nobody"], "nobody called 'nobody' was ever dealt a hand"),
        (["--since", "yesterday"], "--since 'yesterday': want a moment such as 2026-03-31"),
        (["--until", "2026-13-01"], "--until '2026-13-01': want a moment"),
        (["--min-pot", "1.5"], "--min-pot '1.5': want an amount in minor units such as 1250"),
        (["--min-pot", "-3"], "--min-pot '-3': want an amount"),
        (["--min-pot", "12,5"], "--min-pot '12,5': want an amount"),
        (["--min-pot", "1,250.00"], "without commas"),
        (["--table", "\udcff"], "--table table id '\\udcff': expected 1 to 64 of the characters a-z, 0-9 and '-'"),
        (["--player", "\udcff"], "--player '\\udcff': account: want 1 to 64 letters, digits and _ . @ -"),
        (["--since", "2026-03-02", "--until", "2026-03-01"], "want --since earlier than --until"),
    ],
)
def test_what_cannot_be_asked_is_told_with_what_can(words: list[str], told: str, data: Path):
    said = run("--data", str(data), *words, "--json")
    assert (said.exit_code, said.stdout) == (2, "")
    assert told in " ".join(said.stderr.split())

"""The benches measure what they say: each compares what both sides came to, and its figures can be asked for."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benches import bench_core, bench_eventlog, bench_rebuild, bench_start
from stud_cli.bench.parts import BENCHES


def test_the_engine_beside_pokerkit():
    figures = bench_core.compare(hands=2, players=3, runs=1)
    assert figures["times_pokerkit"] > 1


def test_a_rebuild_beside_the_library_and_from_a_server():
    figures = asyncio.run(bench_rebuild.measure(hands=2, runs=1))
    assert figures["times_library"] > 0
    assert figures["us_per_commit_from_server"] > 0


def test_what_a_start_costs():
    figures = bench_start.measure(runs=1)
    assert figures["up_ready_s"] > 0
    assert figures["help_cpu_of_floor"] > 0


def test_appends_beside_xadd():
    figures = asyncio.run(bench_eventlog.medians([4], [2], seconds=0.2, runs=1, commits=100))
    assert 0 < figures["in_flight_2.streams_4.of_xadd"] < 2


def last_line_of(script: str, *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, BENCHES / script, *words, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_system_beside_a_bare_server():
    figures = last_line_of("bench_system.py", "--tables", "2", "--players", "2", "--seconds", "1", "--runs", "1")
    assert figures["bare_deliveries_per_action"] == pytest.approx(2, abs=0.2)
    assert figures["bare_bytes_per_update"] == pytest.approx(figures["system_bytes_per_update"], abs=4)
    assert figures["actions_of_bare"] > 0
    assert figures["table_cpu_of_bare"] > 0
    assert "table_us_per_update" in figures


def test_what_the_edge_costs_for_each_update():
    figures = last_line_of("bench_edge.py", "--tables", "2", "--seconds", "1")
    ways = {f"edge.{protocol}_{http}" for protocol in ("grpc_web", "connect") for http in ("http1", "http2")}
    assert figures.keys() == ways
    assert all(cost["updates_per_s"] > 0 and cost["kb_per_stream"] > 0 for cost in figures.values())


def test_tables_at_the_pace_of_people():
    words = "--tables 2 3 --players 2 --seconds 2 --ramp 0 --warm 0 --runs 1"
    figures = last_line_of("bench_human.py", *words.split())
    assert figures["tables_3.table_mib"] > 0
    assert {"empty.all_share", "seated.table_kib_per_table", "table_kib_per_played_table"} <= set(figures)


def test_stud_bench_in_one_brief_run(tmp_path: Path):
    words = [str(Path(sys.executable).with_name("stud")), "bench", "--brief", "--only", "engine,rebuild", "--json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert set(told["ratios"]) == {
        "engine.times_pokerkit",
        "rebuild.times_library",
        "rebuild.times_library_from_server",
    }


def test_a_part_that_fails_says_its_last_words(tmp_path: Path):
    words = [str(Path(sys.executable).with_name("stud")), "bench", "--brief", "--only", "append"]
    environ = {"PATH": "", "STUD_REDIS_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "append: bench_eventlog.py ended with 1" in done.stderr


def test_a_log_is_made_once_and_read_by_every_command(tmp_path: Path):
    words = (str(tmp_path / "made"), "--tables", "2", "--hands", "2")
    figures = last_line_of("make_log.py", *words)
    assert (figures["tables"], figures["hands"]) == (2, 4)
    for command in ("verify", "audit"):
        said = [sys.executable, "-c", "from stud_cli.main import main; main()", command, "--data", words[0]]
        assert subprocess.run(said, capture_output=True, check=False).returncode == 0
    again = subprocess.run(
        [sys.executable, BENCHES / "make_log.py", *words], capture_output=True, text=True, check=False
    )
    assert again.returncode == 2
    assert "want a directory that has none" in again.stderr

"""The benches measure what they say: each compares what both sides came to, and its figures can be asked for."""

import asyncio

from benches import bench_core, bench_rebuild, bench_start


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

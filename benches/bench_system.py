"""The system beside a bare server of the same transport and log: actions a second, and CPU for each action.

    .venv/bin/python benches/bench_system.py [--tables N] [--players N] [--seconds S] [--runs N] [--json]

In turns: a system of its own, filled by `stud load` as fast as it answers, what it played checked to the last chip;
then `bare_server.py` with as many tables and viewers and as many bytes an update, on a log server that syncs each write
too. Connections, decoding and recorder are the same, and so are the event loop and gRPC's settings. The bare server
sends each viewer of a table an update for an action, and the actor a result besides. All of it runs on this machine, so
the driver takes from both. Then the system again with as many spectators as players, which says what one update to one
viewer costs. Medians of several runs; ratios are taken in each run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import stud_service  # noqa: F401  (settles how gRPC runs)

# isort: split

from benches.bare_driver import drive
from benches.priority import hand_on
from stud_cli.load.places import opened
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.parent_death import bound_to_us
from stud_cli.local.stopping import run_with_one_stop
from stud_load import LoadPlan, run
from stud_load.recorder import Count, Measure
from stud_load.report import figures_of, summary
from stud_load.usage import Meter
from stud_service.event_loop import new_event_loop
from stud_topology.services import NAMES

LOG: Final = "log server"
BESIDE: Final = (LOG, *(name for name in NAMES if name != "table"))
"""What else an action costs."""


async def system(plan: LoadPlan) -> dict[str, float]:
    """Fill a system once."""
    async with opened(None, "", None, None) as place:
        hand_on(place.pids.values())
        report = await run(plan, place.target())
    if not report.ok:
        raise SystemExit(f"what was played is not right, so its figures mean nothing: {report.violations}")
    figures = summary(report)
    return {
        "actions_per_s": figures["actions_s"],
        "deliveries_per_action": figures["deliveries_s"] / max(1e-9, figures["actions_s"]),
        "bytes_per_update": figures["bytes_per_delivery"],
        "actions_per_hand": figures["actions_s"] / max(1e-9, figures["hands_s"]),
        "p50_ms": figures["ms"][Measure.ACT]["p50"],
        "p99_ms": figures["ms"][Measure.ACT]["p99"],
        **{f"{name}_us_per_action": report.cpu_us_per_action(name) for name in (*BESIDE, "table", "driver")},
    }


@contextlib.asynccontextmanager
async def bare_server(url: str, size: int) -> AsyncIterator[tuple[str, int]]:
    """Run `bare_server.py`; yield its address and its process id."""
    script = str(Path(__file__).with_name("bare_server.py"))
    process = await asyncio.create_subprocess_exec(
        *bound_to_us([sys.executable, script, "--redis", url, "--bytes", str(size)]), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        address = (await process.stdout.readline()).decode().strip()
        if not address:
            raise SystemExit("the bare server did not start")
        yield address, process.pid
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def bare(plan: LoadPlan, size: int) -> dict[str, float]:
    """Fill a bare server once."""
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedServer(Path(directory)) as server, bare_server(server.url, size) as (address, pid):
            assert server.pid is not None, "measured against a log server of its own: unset STUD_REDIS_URL"
            hand_on([pid, server.pid])
            meter = Meter({"server": pid, LOG: server.pid, "driver": os.getpid()})
            recorder = await drive(address, plan.tables, plan.players, plan.channels, plan.warm_s, plan.seconds, meter)
    actions, latency = recorder.counts[Count.ACTIONS], figures_of(recorder.measures[Measure.ACT])
    assert actions, "the bare server answered nothing"
    return {
        "actions_per_s": actions / recorder.timeline[0].seconds,
        "deliveries_per_action": recorder.counts[Count.DELIVERIES] / actions,
        "bytes_per_update": recorder.counts[Count.BYTES] / recorder.counts[Count.DELIVERIES],
        "p50_ms": latency.p50,
        "p99_ms": latency.p99,
        **{f"{name}_us_per_action": used.cpu_s / actions * 1e6 for name, used in meter.usage.items()},
    }


def ratios(of_system: Mapping[str, float], of_bare: Mapping[str, float]) -> dict[str, float]:
    """Return the one beside the other."""
    server_us = of_bare["server_us_per_action"]
    return {
        "actions_of_bare": of_system["actions_per_s"] / of_bare["actions_per_s"],
        "table_cpu_of_bare": of_system["table_us_per_action"] / server_us,
        "beside_cpu_of_bare": sum(of_system[f"{name}_us_per_action"] for name in BESIDE) / server_us,
    }


def per_update(narrow: Mapping[str, float], wide: Mapping[str, float]) -> dict[str, float]:
    """Return what one more update costs, told to one more viewer: what is dearer, by how many updates it is more."""
    more = wide["deliveries_per_action"] - narrow["deliveries_per_action"]
    return {
        f"{name}_us_per_update": (wide[f"{name}_us_per_action"] - narrow[f"{name}_us_per_action"]) / more
        for name in ("table", "driver")
    }


async def measure(plan: LoadPlan, runs: int, *, viewers: bool) -> dict[str, float]:
    """Return medians: of the system (``system_…``), of the bare server (``bare_…``), and of their ratios.
    ``viewers``: also with as many spectators as players, for what one update costs.
    """
    taken: dict[str, list[float]] = {}
    for _ in range(runs):
        of_system = await system(plan)
        of_bare = await bare(plan, round(of_system["bytes_per_update"]))
        once = ratios(of_system, of_bare)
        once |= {f"system_{name}": value for name, value in of_system.items()}
        once |= {f"bare_{name}": value for name, value in of_bare.items()}
        if viewers:
            wide = await system(msgspec.structs.replace(plan, spectators=plan.players))
            once |= per_update(of_system, wide)
        for name, value in once.items():
            taken.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=64)
    parser.add_argument("--players", type=int, default=8, help="at each table, 2..8 (default 8)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement (default 20)")
    parser.add_argument("--warm", type=float, default=5.0, help="seconds before it (default 5)")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--viewers", action=argparse.BooleanOptionalAction, default=True, help="with spectators, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    plan = LoadPlan(
        tables=arguments.tables,
        players=arguments.players,
        ramp_s=1.0,
        warm_s=arguments.warm,
        seconds=arguments.seconds,
        channels=16,
        run_id=f"{time.time_ns() & 0xFFFFFF:06x}",
    ).check()
    figures = run_with_one_stop(measure(plan, arguments.runs, viewers=arguments.viewers), new_event_loop)
    report = {name: round(value, 3) for name, value in figures.items()}
    for name, value in report.items():
        print(f"{name:>36} {value:>12,.3f}")
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

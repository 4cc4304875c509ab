"""What tables cost at the pace of people, and what a system costs at which nobody plays.

    .venv/bin/python benches/bench_human.py [--tables N N] [--players N] [--seconds S] [--runs N] [--json]

For each number of tables a system of its own is filled by `stud load --rate human`: think times are exponential with
a mean of 3 s, 3 s between hands, a fixed seed for both (decks are random). Told are shares of one core and microseconds
an action. Before that: a system without a table (``empty``), and one with as many as the greatest number, up to a
hundred, everybody seated and watching, nobody playing (``seated``). Tables begin over longer than a hand lasts, or all
hands of the window would be in the same street. The memory of the table process for a table that is played, with its
streams, is the difference between the greatest and the smallest number of tables. Medians of several runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import stud_service  # noqa: F401  (settles how gRPC runs)

# isort: split

from benches.priority import hand_on
from stud_cli.load.places import Place, opened
from stud_cli.local.stopping import run_with_one_stop
from stud_load import LoadPlan, Target, parse_rate, run
from stud_load.crew import Crew
from stud_load.report import summary
from stud_load.usage import Meter
from stud_service.event_loop import new_event_loop
from stud_topology.services import NAMES

LOG: Final = "log server"
PROCESSES: Final = (LOG, *NAMES)
SETTLED_S: Final = 5.0
"""From the end of a start, or of seating, until nothing of it is under way."""

MOST_SEATED: Final = 100
"""Tables at which everybody sits and nobody plays."""


async def _shares(place: Place, seconds: float) -> dict[str, float]:
    """Shares of a core, and the memory of the table process in MiB."""
    await asyncio.sleep(SETTLED_S)
    meter = Meter({name: place.pids[name] for name in PROCESSES})
    meter.start(time.perf_counter())
    await asyncio.sleep(seconds)
    samples = meter.tick(time.perf_counter(), time.time_ns() // 1_000_000)
    shares = {f"{name}_share": sample.cpu_share for name, sample in samples.items()}
    return shares | {"all_share": sum(shares.values()), "table_mib": samples["table"].rss_mib}


async def idle(plan: LoadPlan, seconds: float) -> dict[str, float]:
    """A system without a table; then one with tables at which everybody sits and watches, and nobody plays."""
    async with opened(None, "", None, None) as place:
        hand_on(place.pids.values())
        empty = await _shares(place, seconds)
        crew = Crew(plan, place.target(), time.perf_counter)
        try:
            await crew.prepare(lambda _: None)
            seated = await _shares(place, seconds)
        finally:
            await crew.close()
    kib = (seated["table_mib"] - empty["table_mib"]) * 1024 / plan.tables
    return {
        **{f"empty.{name}": value for name, value in empty.items()},
        **{f"seated.{name}": value for name, value in seated.items()},
        "seated.tables": plan.tables,
        "seated.table_kib_per_table": kib,
    }


async def played(plan: LoadPlan) -> dict[str, float]:
    """A system at which people play."""
    async with opened(None, "", None, None) as place:
        hand_on(place.pids.values())
        target: Target = place.target()
        report = await run(plan, target)
    if not report.ok:
        raise SystemExit(f"what was played is not right, so its figures mean nothing: {report.violations}")
    figures = summary(report)
    return {
        "actions": round(figures["actions_s"] * plan.seconds),
        "actions_per_s": figures["actions_s"],
        "hands_per_s": figures["hands_s"],
        "deliveries_per_action": figures["deliveries_s"] / max(1e-9, figures["actions_s"]),
        "p50_ms": figures["ms"]["act"]["p50"],
        "p99_ms": figures["ms"]["act"]["p99"],
        "table_mib": report.usage["table"].peak_mib,
        **{f"{name}_share": figures["cpu_share"][name] for name in (*PROCESSES, "driver")},
        **{f"{name}_us_per_action": report.cpu_us_per_action(name) for name in PROCESSES},
    }


async def measure(plan: LoadPlan, tables: Sequence[int], runs: int) -> dict[str, float]:
    """Return medians; what is of so many tables begins with ``tables_N.``."""
    taken: dict[str, list[float]] = {}
    for number in range(runs):
        seated = min(MOST_SEATED, max(tables))
        once = await idle(msgspec.structs.replace(plan, tables=seated, run_id=f"{number}i"), plan.seconds)
        for count in tables:
            of = await played(msgspec.structs.replace(plan, tables=count, run_id=f"{number}"))
            once |= {f"tables_{count}.{name}": value for name, value in of.items()}
        least, most = min(tables), max(tables)
        if most > least:
            more_mib = once[f"tables_{most}.table_mib"] - once[f"tables_{least}.table_mib"]
            once["table_kib_per_played_table"] = more_mib * 1024 / (most - least)
        for name, value in once.items():
            taken.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, nargs="+", default=[10, 100], help="numbers of tables (default 10 100)")
    parser.add_argument("--players", type=int, default=8, help="at each table, 2..8 (default 8)")
    parser.add_argument("--spectators", type=int, default=0, help="of each table (default none)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each measurement (default 60)")
    parser.add_argument("--ramp", type=float, default=130.0, help="seconds over which tables begin (default 130)")
    parser.add_argument("--warm", type=float, default=10.0, help="seconds from then until it is measured (default 10)")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    plan = LoadPlan(
        players=arguments.players,
        spectators=arguments.spectators,
        rate=parse_rate("human"),
        ramp_s=arguments.ramp,
        warm_s=arguments.warm,
        seconds=arguments.seconds,
        channels=16,
    ).check()
    figures = run_with_one_stop(measure(plan, arguments.tables, arguments.runs), new_event_loop)
    report = {name: round(value, 4) for name, value in figures.items()}
    for name, value in report.items():
        print(f"{name:>44} {value:>12,.4f}")
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

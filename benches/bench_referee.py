"""Measure the referee: one finished hand read, judged by both opinions, without the network.

    .venv/bin/python benches/bench_referee.py [--hands N] [--players N] [--rounds N] [--seed N] [--json]

Hands are played at random by the rig of the tests and every one is judged; a hand that is not verified ends the run,
so that a large N is also a search for disagreements between the rules engine and the second opinion. The figure is the
best of several rounds, because other work on the machine only ever adds time.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rules_service.before_hand import nothing
from rules_service.judge import Case, judge
from rules_service.ranges import read_range
from stud_core.presets import RULESETS
from stud_core.ruleset import Ruleset
from stud_eventlog.memory import MemoryEventLog
from tests.support.referee_hands import REFEREE_KEY, Rig, config_of


async def play(ruleset: Ruleset, players: int, hands: int, seed: int) -> list[Case]:
    """Play hands and judge each once; return what is needed to judge them again."""
    log = MemoryEventLog()
    await log.initialise()
    rig = Rig(log, config_of(ruleset), seed)
    await rig.open([30_000] * players)
    cases: list[Case] = []
    base, heard = nothing(), "0-0"
    for _ in range(hands):
        await rig.between_hands()
        await rig.play_hand(mischief=0.0)
        _, closed = await rig.notice(rig.state.hand_no, heard)
        heard = await log.last_id(rig.feed)
        table, deck = await read_range(log, closed.table), await read_range(log, closed.deck)
        case = Case(closed, table, deck, base, None)
        judgement = judge(case, REFEREE_KEY)
        if judgement.after is None:
            raise SystemExit(f"seed {seed}, hand {closed.hand_no}: {judgement.findings}")
        cases.append(case)
        base = judgement.after
        await rig.verdict(1)
    return cases


def measure(cases: list[Case], rounds: int) -> float:
    """Milliseconds of this process a hand, best of so many rounds."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        for case in cases:
            judge(case, REFEREE_KEY)
        best = min(best, time.process_time() - began)
    return 1000 * best / len(cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hands", type=int, default=40)
    parser.add_argument("--players", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    figures: dict[str, float] = {}
    for name, ruleset in RULESETS.items():
        cases = asyncio.run(play(ruleset, args.players, args.hands, args.seed))
        commits = sum(len(case.table) for case in cases) / len(cases)
        figures[name] = round(measure(cases, args.rounds), 2)
        if not args.json:
            print(f"{name}: {figures[name]} ms a hand of {commits:.0f} commits")
    if args.json:
        print(json.dumps({"ms_per_hand": figures}))


if __name__ == "__main__":
    main()

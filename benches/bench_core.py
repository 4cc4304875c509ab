"""Measure the functional core: decide + evolve per action, fold per event, and PokerKit for comparison.

    .venv/bin/python benches/bench_core.py [--hands N] [--players N] [--runs N] [--json]

Whole random hands are played with random legal actions and their commands recorded; then the commands are replayed
under the clock. "Per action" is all time spent in ``step`` (decide and evolve) over whole hands (antes, deals,
showdowns and verdicts included) divided by the number of players' actions; "act alone" counts the Act commands only.
Both sides take turns; every command counts with the best of its tries and every side with its best turn, because other
work on the machine only ever adds time. All of it is done three times, and the median told.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "libs"))

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import decide, step
from stud_core.evolve import evolve, fold
from stud_core.presets import PLAYNOW, RULESETS, table_config
from stud_core.ruleset import Ruleset
from stud_core.state import Phase, Table

Step = tuple[Table, cmd.Command, cmd.Context]
Script = list[Step]
Log = list[tuple[int, list[ev.Event]]]
STACK = 20_000
TURNS = 8
"""Of both sides, one after the other."""

TRIES = 3
"""Of each command in a turn."""


class Player:
    """Plays one table and records every command with the state it met."""

    def __init__(self, ruleset: Ruleset, players: int, rng: random.Random, stack: int = STACK) -> None:
        self.rng = rng
        self.state = Table()
        self.log: Log = []
        self.script: Script = []
        self.now_ms = 1
        self.deck: list[int] = []
        self.down: dict[int, tuple[int, ...]] = {}
        self.send(cmd.OpenTable(table_config(ruleset, table_id="bench")))
        for number in range(1, players + 1):
            self.send(cmd.TakeSeat(f"a{number}", None, stack, auto_post=True))
            self.send(cmd.RecordFunding(number, stack))
        self.script.clear()

    def send(self, command: cmd.Command) -> None:
        context = cmd.Context(self.now_ms, self.state.version + 1)
        events = self.step(command, context)
        hand = self.state.hand
        if self.state.wants_showdown and hand is not None:
            events += self.step(cmd.Showdown({s: self.down[s] for s in hand.order if hand.live[s]}), context)
        self.log.append((context.version, events))

    def step(self, command: cmd.Command, context: cmd.Context) -> list[ev.Event]:
        events = decide(self.state, command, context)
        if not isinstance(events, list):
            raise TypeError(f"{command}: {events}")
        self.script.append((self.state, command, context))
        self.state = evolve(self.state, events, context.version)
        return events

    def deal(self, request: ev.DealRequested) -> cmd.RecordCards:
        up: tuple[ev.UpCard, ...] = ()
        down: list[ev.DownCard] = []
        for _ in range({3: 2, 7: 1}.get(request.street, 0)):
            for seat in request.targets:
                card = self.deck.pop()
                self.down[seat] = (*self.down.get(seat, ()), card)
                down.append(ev.DownCard(seat, card, bytes(29)))
        if request.street < 7:
            up = tuple(ev.UpCard(seat, self.deck.pop()) for seat in request.targets)
        community = self.deck.pop() if request.mode is ev.DealMode.COMMUNITY else None
        root = bytes(32) if request.deal_no == 1 else None
        return cmd.RecordCards(request.hand_no, request.deal_no, up, tuple(down), community, root)

    def hand(self) -> None:
        """Play one hand to its end."""
        number = self.state.hand_no + 1
        self.send(cmd.RecordDeck(number, bytes(32)))
        self.deck = list(range(52))
        self.rng.shuffle(self.deck)
        self.down = {}
        self.send(cmd.StartHand())
        while (hand := self.state.hand) is not None:
            if hand.deal is not None:
                self.send(self.deal(hand.deal))
            elif hand.phase is Phase.SHOW_PROMPTS:
                self.now_ms += 11_000
                self.send(cmd.Tick())
            else:
                options = hand.options
                weights = [1 if o.verb is ev.Verb.FOLD else 6 if o.verb < ev.Verb.OPEN else 3 for o in options]
                option = self.rng.choices(options, weights)[0]
                account = self.state.at(hand.turn_seat).account
                self.send(cmd.Act(account, hand.turn_id, option.verb, option.to, option.size))
        self.send(cmd.RecordVerdict(number, number))


def play(ruleset: Ruleset, players: int, hands: int, seed: int) -> list[Player]:
    """Play ``hands`` random hands, at a fresh table whenever somebody is nearly broke."""
    rng = random.Random(seed)
    tables: list[Player] = []
    while hands > 0:
        player = Player(ruleset, players, rng)
        for _ in range(min(hands, 10)):
            player.hand()
            hands -= 1
            if min(s.stack for s in player.state.sittings.values()) < 1000:
                break
        tables.append(player)
    return tables


def best(decide_one: Callable[[Step], object], script: Script, runs: int) -> list[int]:
    """Nanoseconds of every command, the best of several runs each."""
    least = [2**62] * len(script)
    for _ in range(runs):
        for number, item in enumerate(script):
            start = time.perf_counter_ns()
            decide_one(item)
            spent = time.perf_counter_ns() - start
            least[number] = min(least[number], spent)
    return least


def in_one(item: Step) -> object:
    """Decide and evolve as one call."""
    return step(*item)


def in_two(item: Step) -> object:
    """Decide, then evolve: the events are folded twice."""
    state, command, context = item
    return evolve(state, decide(state, command, context), context.version)  # type: ignore[arg-type]


def measure(tables: list[Player], runs: int) -> dict[str, float]:
    script = [item for table in tables for item in table.script]
    acts = [isinstance(command, cmd.Act) for _, command, _ in script]
    events = sum(len(events) for table in tables for _, events in table.log)
    gc.collect()
    gc.freeze()  # the recorded states are the bench's, not the core's
    spent = best(in_one, script, runs)
    whole = sum(spent)
    alone = sum(time for time, is_act in zip(spent, acts, strict=True) if is_act)
    twice = sum(best(in_two, script, runs))
    folded = sum(min(rebuild(table.log) for _ in range(runs)) for table in tables)
    return {
        "us_per_action": whole / sum(acts) / 1000,
        "us_per_act_alone": alone / sum(acts) / 1000,
        "us_per_action_decide_then_evolve": twice / sum(acts) / 1000,
        "actions_per_s": sum(acts) / whole * 1e9,
        "us_per_rebuilt_event": folded / events / 1000,
    }


def rebuild(log: Log) -> int:
    """Nanoseconds of ``fold``."""
    start = time.perf_counter_ns()
    fold(log)
    return time.perf_counter_ns() - start


def pokerkit(players: int, hands: int, runs: int) -> float | None:
    """PokerKit's actions per second on the same kind of hands; None when it is not installed."""
    try:
        from pokerkit import Automation, FixedLimitSevenCardStud  # noqa: PLC0415 - optional
    except ImportError:
        return None
    warnings.simplefilter("ignore")
    automations = tuple(Automation)

    def play_hand(seed: int) -> list[int]:
        rng = random.Random(seed)
        random.seed(seed)  # PokerKit shuffles by the global generator
        times: list[int] = []
        last = time.perf_counter_ns()
        game: Any = FixedLimitSevenCardStud.create_state(
            automations, True, 50, 200, 500, 1000, [STACK] * players, players
        )
        while game.status:
            if game.can_post_bring_in():
                verbs = [game.post_bring_in] * 6
            else:
                verbs = [game.check_or_call] * 6
                if game.can_fold():
                    verbs.append(game.fold)
            if game.can_complete_bet_or_raise_to():
                verbs += [game.complete_bet_or_raise_to] * 3
            rng.choice(verbs)()
            now = time.perf_counter_ns()
            times.append(now - last)
            last = now
        return times

    hands_played = [[play_hand(seed) for _ in range(runs)] for seed in range(hands)]
    least = [min(times) for of_hand in hands_played for times in zip(*of_hand, strict=True)]
    return 1e9 * len(least) / float(sum(least))


def compare(hands: int = 300, players: int = 6, runs: int = 3) -> dict[str, float]:
    """Medians of several runs, each over both rulesets and over PokerKit where that is installed."""
    taken: dict[str, list[float]] = {}
    tables = {name: play(ruleset, players, hands, seed=0) for name, ruleset in RULESETS.items()}
    for _ in range(runs):
        for name, value in in_turns(tables, hands, players).items():
            taken.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in taken.items()}


def in_turns(tables: dict[str, list[Player]], hands: int, players: int) -> dict[str, float]:
    """One run. Both sides take turns, and the best turn of each counts: a machine that is slow for a while is slow for
    both. (One after the other, the same code was told to be 9 and 25 times as fast as PokerKit.)
    """
    once: dict[str, float] = {}
    for _ in range(TURNS):
        for name, of_ruleset in tables.items():
            for key, value in measure(of_ruleset, TRIES).items():
                _keep_best(once, f"{name}_{key}", value)
        other = pokerkit(players, max(hands // 20, 5), TRIES)
        if other is not None:
            _keep_best(once, "pokerkit_actions_per_s", other)
    if "pokerkit_actions_per_s" in once:
        once["times_pokerkit"] = once[f"{PLAYNOW.name}_actions_per_s"] / once["pokerkit_actions_per_s"]
    return once


def _keep_best(figures: dict[str, float], name: str, value: float) -> None:
    best_of = max if name.endswith("_per_s") else min
    figures[name] = best_of(figures.get(name, value), value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hands", type=int, default=300, help="hands of each run (default 300)")
    parser.add_argument("--players", type=int, default=6, help="players at the table, 2..8 (default 6)")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    report = {
        name: round(value, 2) for name, value in compare(arguments.hands, arguments.players, arguments.runs).items()
    }
    for key, value in report.items():
        print(f"{key:>40} {value:>12,.2f}")
    if arguments.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()

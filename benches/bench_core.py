"""Measure the functional core: decide + evolve per action, fold per event, and PokerKit for comparison.

    .venv/bin/python benches/bench_core.py [--hands N] [--players N] [--json]

Whole random hands are played with random legal actions, the dealer's answers prepared outside the clock. "Per
action" is all time spent in ``decide`` and ``evolve`` over whole hands (antes, deals, showdowns included) divided by
the number of players' actions; "act alone" counts the Act commands only. Every figure is the best of three runs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "libs"))

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import decide
from stud_core.evolve import evolve, fold
from stud_core.presets import PLAYNOW, RULESETS, table_config
from stud_core.ruleset import Ruleset
from stud_core.state import Phase, Table

Log = list[tuple[int, list[ev.Event]]]
STACK = 20_000


class Player:
    """Plays one table and keeps the time spent in the core, nanoseconds."""

    def __init__(self, ruleset: Ruleset, players: int, rng: random.Random) -> None:
        self.rng = rng
        self.players = players
        self.state = Table()
        self.log: Log = []
        self.now_ms = 1
        self.spent = {"all": 0, "act": 0}
        self.actions = 0
        self.deck: list[int] = []
        self.down: dict[int, tuple[int, ...]] = {}
        self.send(cmd.OpenTable(table_config(ruleset, table_id="bench")))
        for number in range(1, players + 1):
            self.send(cmd.TakeSeat(f"a{number}", None, STACK, auto_post=True))
            self.send(cmd.RecordFunding(number, STACK))

    def send(self, command: cmd.Command) -> None:
        version = self.state.version + 1
        context = cmd.Context(self.now_ms, version)
        start = time.thread_time_ns()
        events = decide(self.state, command, context)
        if not isinstance(events, list):
            raise TypeError(f"{command}: {events}")
        state = evolve(self.state, events, version)
        spent = time.thread_time_ns() - start
        if state.wants_showdown and state.hand is not None:
            show = cmd.Showdown({s: self.down[s] for s in state.hand.order if state.hand.live[s]})
            start = time.thread_time_ns()
            more = decide(state, show, context)
            if not isinstance(more, list):
                raise TypeError(f"{show}: {more}")
            state = evolve(state, more, version)
            spent += time.thread_time_ns() - start
            events += more
        self.spent["all"] += spent
        if isinstance(command, cmd.Act):
            self.spent["act"] += spent
            self.actions += 1
        self.state = state
        self.log.append((version, events))

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
        """Refill by a fresh table when somebody is broke, else play one hand to its end."""
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


def play(ruleset: Ruleset, players: int, hands: int, seed: int) -> tuple[dict[str, float], list[Log]]:
    """Figures of ``hands`` random hands, and the logs for the rebuild."""
    rng = random.Random(seed)  # noqa: S311 - a bench, not a deck
    logs: list[Log] = []
    spent = {"all": 0, "act": 0}
    actions = 0
    while hands > 0:
        player = Player(ruleset, players, rng)
        player.spent = dict.fromkeys(player.spent, 0)
        for _ in range(min(hands, 10)):
            player.hand()
            hands -= 1
            if min(s.stack for s in player.state.sittings.values()) < 1000:
                break
        for key, value in player.spent.items():
            spent[key] += value
        actions += player.actions
        logs.append(player.log)
    figures = {
        "us_per_action": spent["all"] / actions / 1000,
        "us_per_act_alone": spent["act"] / actions / 1000,
        "actions_per_s": actions / spent["all"] * 1e9,
    }
    return figures, logs


def rebuild(logs: list[Log]) -> float:
    """Microseconds per event of ``fold``."""
    events = sum(len(events) for log in logs for _, events in log)
    start = time.thread_time_ns()
    for log in logs:
        fold(log)
    return (time.thread_time_ns() - start) / events / 1000


def pokerkit(players: int, hands: int, seed: int) -> float | None:
    """PokerKit's actions per second on the same kind of hands; None when it is not installed."""
    try:
        from pokerkit import Automation, FixedLimitSevenCardStud  # noqa: PLC0415 - optional
    except ImportError:
        return None
    warnings.simplefilter("ignore")
    rng = random.Random(seed)  # noqa: S311
    automations = tuple(Automation)
    actions = spent = 0
    for _ in range(hands):
        start = time.thread_time_ns()
        game: Any = FixedLimitSevenCardStud.create_state(
            automations, True, 50, 200, 500, 1000, [STACK] * players, players
        )
        while game.status:
            verbs = [game.check_or_call] * 6
            if game.can_post_bring_in():
                verbs = [game.post_bring_in]
            elif game.can_fold():
                verbs.append(game.fold)
            if game.can_complete_bet_or_raise_to():
                verbs += [game.complete_bet_or_raise_to] * 3
            rng.choice(verbs)()
            actions += 1
        spent += time.thread_time_ns() - start
    return actions / spent * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hands", type=int, default=1000, help="hands of each run (default 1000)")
    parser.add_argument("--players", type=int, default=6, help="players at the table, 2..8 (default 6)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    report: dict[str, float] = {}
    for name, ruleset in RULESETS.items():
        runs = [play(ruleset, arguments.players, arguments.hands, seed) for seed in range(3)]
        best = min((figures for figures, _ in runs), key=lambda figures: figures["us_per_action"])
        report |= {f"{name}_{key}": round(value, 2) for key, value in best.items()}
        report[f"{name}_us_per_rebuilt_event"] = round(min(rebuild(logs) for _, logs in runs), 2)
    other = pokerkit(arguments.players, max(arguments.hands // 20, 5), 0)
    if other is not None:
        report["pokerkit_actions_per_s"] = round(other, 1)
        report["times_pokerkit"] = round(report[f"{PLAYNOW.name}_actions_per_s"] / other, 1)
    for key, value in report.items():
        print(f"{key:>40} {value:>12,.2f}")  # noqa: T201
    if arguments.json:
        print(json.dumps(report))  # noqa: T201


if __name__ == "__main__":
    main()

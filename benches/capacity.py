"""What so many seats cost: a simulation that first reproduces what was measured, and only then says more.

    .venv/bin/python benches/capacity.py [--seats N N] [--points FILE] [--from FILE] [--json]

A process that answers streams works in turns: it takes all that waits, pays once for waking up (``turn``) and then for
each action (``action``), and what comes meanwhile waits for the next turn. So an action is cheap where many come
together, and dear at the pace of people, where nothing shares a turn. Tables think, the table process takes their
actions, the log server writes them, a turn of the one being a turn of the other; wallet, dealer and rules are asked
where a hand needs them. Both costs of a process are found from all measured points, so that what is said of each is off
by as small a share as can be; then each point is compared (`Prediction`).

``--from FILE`` makes the points from what `stud bench --out FILE` wrote; ``--points FILE`` reads them.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from rich.progress import track

LOG: Final = "log server"
PROCESSES: Final = ("table", LOG, "wallet", "dealer", "rules")
POINTS: Final = Path(__file__).with_name("capacity.json")
SEATS: Final = 8
"""At a table."""

FEWEST: Final = 300
"""Actions of a point that is worth anything: CPU is told in hundredths of a second, and a hand costs what 30 cost."""

ALIKE: Final = 1e-6
ROUNDS: Final = 6
"""From costs to turns and back, until both fit."""

WITHIN: Final = 0.2
"""How near a prediction has to be before anything is said of more tables than were measured."""

FULL: Final = 0.6
"""The share of a core up to which a process is planned: above it what waits begins to show."""

ASKED_PER_HAND: Final = {"wallet": 8.0, "dealer": 7.0, "rules": 7.0}
"""Entries of their feeds for each hand, counted in the streams of a system: a deck, five deals and the end of the hand
on the table's feed, which wallet and dealer follow; as many on the dealer's, which the referee follows; and a verdict.
"""


class Point(msgspec.Struct, frozen=True):
    """One measurement with eight players at each table. ``think_s``: mean, 0 = at once. ``us``: CPU for an action, of
    each process.
    """

    tables: int
    think_s: float
    actions_per_s: float
    actions_per_hand: float
    us: dict[str, float]


class Measured(msgspec.Struct, frozen=True):
    """What was measured in one run on one machine. ``idle``: share of a core of each process without a table;
    ``seated``: what each table adds at which everybody watches and nobody plays. ``kib_per_table``: memory of the table
    process. ``noise``: what else the machine did.
    """

    machine: str
    noise: str
    idle: dict[str, float]
    seated: dict[str, float]
    kib_per_table: float
    table_mib: float
    points: list[Point]


class Cost(NamedTuple):
    """What a process pays: seconds of CPU for a turn, and for each action in it."""

    turn_s: float
    action_s: float


class Outcome(NamedTuple):
    """A simulated run: actions a second, and how many actions a turn of each process had on average."""

    actions_per_s: float
    per_turn: dict[str, float]


class _Station:
    """A process. ``actions_in`` says what each item that waits stands for."""

    def __init__(self, cost: Cost) -> None:
        self.cost = cost
        self.waiting: list[tuple[int, float]] = []
        self.busy = False
        self.turns = 0
        self.actions = 0.0

    def take(self) -> tuple[list[tuple[int, float]], float]:
        """Take all that waits; return it and how long the turn lasts."""
        taken, self.waiting = self.waiting, []
        actions = sum(weight for _, weight in taken)
        self.turns += 1
        self.actions += actions
        self.busy = True
        return taken, self.cost.turn_s + actions * self.cost.action_s

    @property
    def per_turn(self) -> float:
        return self.actions / self.turns if self.turns else 1.0


class World(NamedTuple):
    """What is simulated. ``between_s``: of each hand, in which nobody may act: deals, prompts, the pause."""

    tables: int
    think_s: float
    between_s: float
    actions_per_hand: float


def simulate(world: World, costs: Mapping[str, Cost], seed: int = 1, actions: int = 6000) -> Outcome:
    """Let so many actions happen, after as many again that are not counted for they begin all at once."""
    rng, order = random.Random(seed), itertools.count()
    stations = {name: _Station(cost) for name, cost in costs.items()}
    events: list[tuple[float, int, str, Any]] = []
    shares: Counter[str] = Counter()

    def at(moment_s: float, what: str, about: Any) -> None:
        heapq.heappush(events, (moment_s, next(order), what, about))

    def put(now_s: float, name: str, item: tuple[int, float]) -> None:
        station = stations[name]
        station.waiting.append(item)
        if not station.busy:
            taken, lasts_s = station.take()
            at(now_s + lasts_s, name, taken)

    def think(now_s: float, table: int) -> None:
        pause_s = world.between_s if rng.random() < 1 / world.actions_per_hand else 0.0
        thought_s = rng.expovariate(1 / world.think_s) if world.think_s else 0.0
        at(now_s + pause_s + thought_s, "acts", table)

    def done(now_s: float, name: str, taken: list[tuple[int, float]]) -> None:
        for table, weight in taken:
            if name == "table":
                put(now_s, LOG, (table, weight))
            elif name == LOG:
                think(now_s, table)
                for beside, per_hand in ASKED_PER_HAND.items():
                    if rng.random() < per_hand / world.actions_per_hand:
                        put(now_s, beside, (table, world.actions_per_hand / per_hand))
        station = stations[name]
        station.busy = False
        if station.waiting:
            again, lasts_s = station.take()
            at(now_s + lasts_s, name, again)

    for table in range(world.tables):
        at(rng.random() * (world.think_s or 0.001), "acts", table)
    counted_from_s = now_s = 0.0
    while shares["acts"] < 2 * actions:
        now_s, _, what, about = heapq.heappop(events)
        if what == "acts":
            shares["acts"] += 1
            if shares["acts"] == actions:
                counted_from_s = now_s
                for station in stations.values():
                    station.turns, station.actions = 0, 0.0
            put(now_s, "table", (about, 1.0))
        else:
            done(now_s, what, about)
    rate = actions / max(1e-9, now_s - counted_from_s)
    return Outcome(rate, {name: station.per_turn for name, station in stations.items()})


class Prediction(NamedTuple):
    """One figure of a point, and what the simulation says of it."""

    point: Point
    name: str
    measured: float
    said: float

    @property
    def off(self) -> float:
        """By what share of the measured one it is off."""
        return abs(self.said / self.measured - 1)


class Model:
    """The costs of a machine: two for each process, from at least three points."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        people = [point for point in measured.points if point.think_s]
        self._slow = max(people, key=lambda point: point.tables)
        self._fast = next(point for point in measured.points if not point.think_s)
        per_table = self._slow.actions_per_s / self._slow.tables
        self.between_s = self._slow.actions_per_hand * max(0.0, 1 / per_table - self._slow.think_s)
        self.costs = {name: Cost(0.0, self._fast.us[name] / 1e6) for name in PROCESSES}
        for _ in range(ROUNDS):
            outcomes = [(point, self._outcome(point)) for point in measured.points]
            for name in PROCESSES:
                self.costs[name] = self._fitted(name, [(point, said.per_turn[name]) for point, said in outcomes])

    def world(self, tables: int, think_s: float) -> World:
        """Return so many tables."""
        between_s = self.between_s if think_s else 0.0
        per_hand = self._slow.actions_per_hand if think_s else self._fast.actions_per_hand
        return World(tables, think_s, between_s, per_hand)

    def _outcome(self, point: Point) -> Outcome:
        return simulate(self.world(point.tables, point.think_s), self.costs)

    def _fitted(self, name: str, points: Sequence[tuple[Point, float]]) -> Cost:
        """Solve turn / n + action = what was measured, by least squares of shares. Both are at least 0.

        Each point is divided by what was measured: turn * a + action * b = 1 but for a share.
        """
        rows = [(1 / n / bare, 1 / bare) for point, n in points for bare in [self._bare_s(point, name)]]
        aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
        a, b = (sum(row[i] for row in rows) for i in (0, 1))
        apart = aa * bb - ab * ab
        if apart <= ALIKE * aa * bb:  # as many actions in a turn everywhere: the two cannot be told apart
            return Cost(0.0, b / bb)
        turn_s, action_s = (a * bb - b * ab) / apart, (b * aa - a * ab) / apart
        if turn_s < 0:
            return Cost(0.0, b / bb)
        return Cost(turn_s, action_s) if action_s >= 0 else Cost(a / aa, 0.0)

    def _standing(self, name: str, tables: int) -> float:
        return self.measured.idle[name] + tables * self.measured.seated[name]

    def _bare_s(self, point: Point, name: str) -> float:
        """An action without what the process costs anyway."""
        return max(1e-6, point.us[name] / 1e6 - self._standing(name, point.tables) / point.actions_per_s)

    def us(self, name: str, outcome: Outcome, tables: int, actions_per_s: float) -> float:
        """Return what an action costs a process."""
        cost = self.costs[name]
        return 1e6 * (
            cost.turn_s / outcome.per_turn[name] + cost.action_s + self._standing(name, tables) / actions_per_s
        )

    def predictions(self) -> list[Prediction]:
        """Return what it says of every measured point: of each process, and of the actions at the pace of people."""
        found = []
        for point in self.measured.points:
            outcome = self._outcome(point)
            if point.think_s:
                found.append(Prediction(point, "actions_per_s", point.actions_per_s, outcome.actions_per_s))
            for name in PROCESSES:
                said = self.us(name, outcome, point.tables, point.actions_per_s)
                found.append(Prediction(point, name, point.us[name], said))
        return found

    def shares(self, tables: int, think_s: float) -> dict[str, float]:
        """Return the share of a core of each process; more than 1 is more than one process can do."""
        outcome = simulate(self.world(tables, think_s), self.costs)
        rate = outcome.actions_per_s
        return {name: self.us(name, outcome, tables, rate) * rate / 1e6 for name in PROCESSES}

    def tables_of_one(self, think_s: float) -> int:
        """Return how many tables one system has room for, its processes at most `FULL` of a core."""
        fits, too_many = 1, 2
        while max(self.shares(too_many, think_s).values()) <= FULL:
            fits, too_many = too_many, 2 * too_many
        while too_many - fits > max(1, fits // 50):
            middle = (fits + too_many) // 2
            if max(self.shares(middle, think_s).values()) <= FULL:
                fits = middle
            else:
                too_many = middle
        return fits


def measured_by(bench: Mapping[str, Any]) -> Measured:
    """Return the points of what `stud bench --out` wrote; both parts, ``system`` and ``human``, have to be in it."""
    system, human, machine = bench["figures"]["system"], bench["figures"]["human"], bench["machine"]
    sizes = sorted(int(key.split(".")[0].removeprefix("tables_")) for key in human if key.endswith(".actions_per_s"))
    per_hand = system["system_actions_per_hand"]
    points = [
        Point(
            64,
            0.0,
            system["system_actions_per_s"],
            per_hand,
            {n: system[f"system_{n}_us_per_action"] for n in PROCESSES},
        )
    ]
    for size in sizes:
        at = f"tables_{size}."
        if human[f"{at}actions"] < FEWEST:
            continue
        us = {name: human[f"{at}{name}_us_per_action"] for name in PROCESSES}
        points.append(Point(size, 3.0, human[f"{at}actions_per_s"], per_hand, us))
    idle = {name: human[f"empty.{name}_share"] for name in PROCESSES}
    more = {name: max(0.0, human[f"seated.{name}_share"] - idle[name]) for name in PROCESSES}
    return Measured(
        f"{machine['cpus']} × {machine['model']}, Python {machine['python']}",
        f"load {machine['load_before']} before, {machine['load_after']} after, nice {machine['nice']}",
        idle,
        {name: value / human["seated.tables"] for name, value in more.items()},
        human["table_kib_per_played_table"],
        human["empty.table_mib"],
        points,
    )


def capacity(model: Model, seats: Sequence[int]) -> dict[str, Any]:
    """Return what so many seats need. Raises ValueError where the model does not say what was measured."""
    wrong = [p for p in model.predictions() if p.off > WITHIN]
    if wrong:
        said = "; ".join(f"{p.point.tables} tables, {p.name}: {p.measured:g}, said {p.said:.4g}" for p in wrong)
        raise ValueError(f"the model is more than {WITHIN:.0%} off, so it says nothing of more tables: {said}")
    one = model.tables_of_one(3.0)
    shares = model.shares(one, 3.0)
    mib = model.measured.table_mib + one * model.measured.kib_per_table / 1024
    needs = {
        str(count): {"tables": -(-count // SEATS), "systems": -(-count // (SEATS * one)),
                     "cores": round(count / (SEATS * one) * sum(shares.values()), 1)}
        for count in track(seats, "seats", disable=not sys.stderr.isatty())
    }  # fmt: skip
    return {
        "one_system": {"tables": one, "shares": {n: round(s, 3) for n, s in shares.items()}, "table_mib": round(mib)},
        "seats": needs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seats", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--points", type=Path, default=POINTS, help="measured points (default: those recorded)")
    parser.add_argument("--from", type=Path, dest="bench", help="make the points of a report first, into --points")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments = parser.parse_args()
    if arguments.bench:
        made = measured_by(json.loads(arguments.bench.read_bytes()))
        arguments.points.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    model = Model(msgspec.json.decode(arguments.points.read_bytes(), type=Measured))
    print(f"{model.measured.machine}; {model.measured.noise}")
    for name, cost in model.costs.items():
        print(f"{name:>12}: {cost.turn_s * 1e6:8.0f} µs a turn, {cost.action_s * 1e6:8.0f} µs an action")
    for p in model.predictions():
        kind = f"{p.point.tables} tables, {'people' if p.point.think_s else 'at once'}, {p.name}"
        print(f"{kind:>44}: measured {p.measured:10.1f}, said {p.said:10.1f} ({p.said / p.measured - 1:+.0%})")
    try:
        needs = capacity(model, arguments.seats)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(json.dumps(needs) if arguments.json else json.dumps(needs, indent=2))


if __name__ == "__main__":
    main()

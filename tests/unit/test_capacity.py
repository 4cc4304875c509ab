"""The model of what tables cost: it finds costs that are known, says again what was measured, and else says nothing."""

from functools import cache

import msgspec
import pytest

from benches import capacity
from benches.capacity import LOG, POINTS, PROCESSES, WITHIN, Cost, Measured, Model, Point, World, simulate
from tests.support.deep import not_quick

KNOWN = {
    "table": Cost(0.002, 0.002),
    LOG: Cost(0.0005, 0.0002),
    "wallet": Cost(0.003, 0.0003),
    "dealer": Cost(0.001, 0.0003),
    "rules": Cost(0.002, 0.0003),
}
BETWEEN_S = 10.0
PER_HAND = 40.0

pytestmark = [
    pytest.mark.xdist_group("capacity"),  # one model for all
    not_quick("ten seconds of simulation, whose figures change with benches alone"),
]


def recorded() -> Measured:
    return msgspec.json.decode(POINTS.read_bytes(), type=Measured)


def point(tables: int, think_s: float) -> Point:
    """What would be measured if the known costs were true."""
    outcome = simulate(World(tables, think_s, BETWEEN_S if think_s else 0.0, PER_HAND), KNOWN, seed=7)
    us = {n: 1e6 * (cost.turn_s / outcome.per_turn[n] + cost.action_s) for n, cost in KNOWN.items()}
    return Point(tables, think_s, outcome.actions_per_s, PER_HAND, us)


def made(*points: Point) -> Measured:
    nothing = dict.fromkeys(PROCESSES, 0.0)
    return Measured("none", "none", nothing, nothing, 300.0, 70.0, list(points))


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(made(point(64, 0.0), point(30, 3.0), point(100, 3.0), point(300, 3.0)))


def test_few_tables_share_no_turn_and_many_share_it():
    alone = simulate(World(1, 3.0, 0.0, PER_HAND), KNOWN, actions=200)
    crowd = simulate(World(200, 0.0, 0.0, PER_HAND), KNOWN)
    assert alone.per_turn["table"] == 1
    assert alone.actions_per_s == pytest.approx(1 / 3.0047, rel=0.2)
    assert crowd.per_turn["table"] > 20
    assert crowd.actions_per_s == pytest.approx(1 / KNOWN["table"].action_s, rel=0.15)


def test_the_same_seed_is_the_same_run():
    world = World(20, 3.0, BETWEEN_S, PER_HAND)
    assert simulate(world, KNOWN, actions=500) == simulate(world, KNOWN, actions=500)


@pytest.mark.parametrize("name", ["table", LOG])
def test_costs_that_are_known_are_found(model: Model, name: str):
    found = model.costs[name]
    assert found.turn_s == pytest.approx(KNOWN[name].turn_s, rel=0.2)
    assert found.action_s == pytest.approx(KNOWN[name].action_s, rel=0.2)


def test_points_that_were_not_used_are_predicted(model: Model):
    assert max(prediction.off for prediction in model.predictions()) < WITHIN


def test_more_seats_need_more(model: Model):
    needs = capacity.capacity(model, [100, 100_000, 1_000_000])
    assert needs["one_system"]["shares"]["table"] == pytest.approx(capacity.FULL, rel=0.1)
    assert needs["seats"]["100"]["systems"] == 1
    assert needs["seats"]["1000000"]["systems"] == pytest.approx(10 * needs["seats"]["100000"]["systems"], rel=0.1)


def test_a_model_that_does_not_say_what_was_measured_says_nothing(model: Model):
    points = list(model.measured.points)
    odd = {**points[2].us, "table": 3 * points[2].us["table"]}
    points[2] = msgspec.structs.replace(points[2], us=odd)
    with pytest.raises(ValueError, match="100 tables, table: "):
        capacity.capacity(Model(made(*points)), [100])


FIGURES = [
    (at, name)
    for at, point in enumerate(recorded().points)
    for name in (*PROCESSES, *["actions_per_s"] * bool(point.think_s))
]


@cache
def reproduced() -> dict[tuple[int, str], capacity.Prediction]:
    """By the place of a point and the name of a figure. It takes seconds: not while tests are looked for."""
    model = Model(recorded())
    return {(model.measured.points.index(found.point), found.name): found for found in model.predictions()}


def test_every_figure_of_every_point_is_looked_at():
    assert set(reproduced()) == set(FIGURES)


@pytest.mark.parametrize(
    ("at", "name"), FIGURES, ids=lambda part: part if isinstance(part, str) else f"{recorded().points[part].tables}"
)
def test_what_was_measured_is_reproduced(at: int, name: str):
    found = reproduced()[at, name]
    assert found.off <= WITHIN, f"measured {found.measured}, said {found.said}"


def test_points_are_made_of_a_report():
    system = {"system_actions_per_s": 300.0, "system_actions_per_hand": PER_HAND}
    system |= {f"system_{name}_us_per_action": 100.0 for name in PROCESSES}
    human = {"seated.tables": 50.0, "empty.table_mib": 70.0, "table_kib_per_played_table": 200.0}
    human |= {f"empty.{name}_share": 0.01 for name in PROCESSES}
    human |= {f"seated.{name}_share": 0.02 for name in PROCESSES}
    for size in (3, 10, 100):
        human[f"tables_{size}.actions"] = 299 if size == 3 else 300
        human |= {f"tables_{size}.{name}_us_per_action": 200.0 for name in PROCESSES}
        human[f"tables_{size}.actions_per_s"] = size / 3
    machine = {"cpus": 2, "model": "m", "python": "3", "load_before": 1, "load_after": 2, "nice": 0}
    found = capacity.measured_by({"figures": {"system": system, "human": human}, "machine": machine})
    assert [(p.tables, p.think_s) for p in found.points] == [(64, 0.0), (10, 3.0), (100, 3.0)]
    assert found.seated["table"] == pytest.approx(0.0002)
    assert found.kib_per_table == 200

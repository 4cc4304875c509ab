"""Complete betting trees of small tables: engine, oracle and the figures checked in agree on every count and amount."""

from __future__ import annotations

import ast
import inspect
import json
from typing import Any

import pytest

from tests.exhaustive import counting, scenarios
from tests.exhaustive.counting import as_figures, count
from tests.exhaustive.regenerate import FIGURES
from tests.exhaustive.scenarios import WHOLE, Scenario, deep_scenarios
from tests.exhaustive.walking import Walk
from tests.support import limit_betting
from tests.support.deep import DEEP, either
from tools.sources import syntax_tree

CASES = scenarios.scenarios()[:: either(1, 1, 4)] + (deep_scenarios() if DEEP else [])


def figures() -> dict[str, Any]:
    checked_in: dict[str, Any] = json.loads(FIGURES.read_text())
    return checked_in


@pytest.mark.parametrize("scenario", CASES, ids=[scenario.name for scenario in CASES])
def test_the_engine_plays_exactly_the_tree_of_the_rules(scenario: Scenario):
    counted = count(scenario)
    assert as_figures(counted) == figures()[scenario.name], "the oracle differs from the figures"
    assert as_figures(Walk(scenario).tally) == as_figures(counted), "the engine differs from the oracle"


def test_the_figures_are_those_of_the_scenarios_and_no_others():
    assert set(figures()) == {scenario.name for scenario in scenarios.scenarios() + deep_scenarios()}


def test_chips_are_neither_made_nor_lost_in_any_hand():
    for scenario in scenarios.scenarios() + deep_scenarios():
        of_scenario = figures()[scenario.name]
        (folded,), (shown,) = of_scenario["fold"], of_scenario["showdown"]
        assert sum(of_scenario["stack"]) == sum(scenario.stacks) * (folded + shown), scenario.name


@pytest.mark.parametrize("cards", ["plain", "pair"])
def test_the_whole_tree_for_two_players_is_what_arithmetic_says(cards: str):
    """W18 for two: a street ends unfolded after no bet, or 1 to 4 wagers opened by either: 1 + 4 + 4 = 9 ways.

    On third street the bring-in can be called, or completed or opened instead and raised up to the cap: also 9 ways,
    1 + 4 + 4. Each street asks 10 times: twice before a wager, and after each of 2 x 4. The pair is the third player's.
    """
    whole = figures()[f"william_hill-{cards}-{WHOLE}-{WHOLE}"]
    assert whole["showdown"] == [9**5]
    assert whole["street"] == [10 * 9**streets for streets in range(5)]


def test_the_oracle_does_not_use_the_engine():
    for module in (limit_betting, counting, scenarios):
        tree = syntax_tree(inspect.getsource(module))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
        assert not [name for name in imported if name and name.split(".")[0].startswith("stud")], module.__name__

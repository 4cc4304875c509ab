"""The edge stands wherever a process has to, and nowhere where a log, a feed or a key would be needed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import yaml

from stud_topology.services import BY_PORT, EDGE, METRICS_ABOVE, NAMES, PROCESSES, SERVICES, readers_of

ROOT = Path(__file__).parents[3]


def test_it_has_no_log_follows_nothing_and_is_no_service():
    assert (EDGE.log, EDGE.feed, EDGE.follows, EDGE.looks_up) == (None, None, (), ())
    assert EDGE.name not in NAMES
    assert (*SERVICES, EDGE) == PROCESSES
    assert all(EDGE.name not in readers_of(feed, PROCESSES) for feed in ("table-events", "dealer-events"))


def test_its_port_is_away_from_those_of_services_to_come_and_of_their_metrics():
    assert BY_PORT[-1].port < EDGE.port < BY_PORT[0].metrics_port
    assert EDGE.metrics_port == EDGE.port + METRICS_ABOVE


def test_it_is_in_wheel_imports_and_compose():
    tool: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert "services/edge_service" in tool["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert "edge_service" in tool["importlinter"]["root_packages"]
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert not services["edge"]["volumes"]
    assert not [name for name in services["edge"]["environment"] if "REDIS" in name or "KEYS" in name]


def test_the_log_knows_no_user_of_that_name():
    assert "user edge " not in (ROOT / "deploy/redis/users.acl").read_text()
    assert "EDGE" not in (ROOT / "deploy/redis/render-acl.sh").read_text()

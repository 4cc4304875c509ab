"""A service stands in every place that it needs; whoever forgets one is told which.

Of most things the table of services in stud_topology is enough: settings, endpoints, health, `stud up`, who may trim
what. Here are the others. docs/extending.md has the places with their reasons.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml

from stud_eventlog.permissions import needed
from stud_topology.services import EDGE, NAMES, SERVICES, service_called
from tests.arch.repository import ROOT, is_generated, relative, tracked_files
from tools.sources import syntax_tree

DEPLOYMENT = "tests/arch/test_deployment.py"
IN_MEMORY = "tests/support/system_memory.py"
KINDS = {"table": ":table:", "deck": ":deck:", "verdicts": ":verdicts", "ledger": ":transfers"}
FEEDS = {"table-events": ":table-events", "dealer-events": ":dealer-events", "ledger-feed": ":to:s"}
"""What a key of each kind has in it."""


@cache
def source(path: str) -> str:
    """The text of a file; none where it is not there."""
    file = ROOT / path
    return file.read_text() if file.is_file() else ""


def folders() -> set[str]:
    found = {path.parent.name.removesuffix("_service") for path in (ROOT / "services").glob("*_service/*.py")}
    return found - {EDGE.name}  # which is none: tests/unit/edge/test_places.py says where it has to be


def contracts() -> set[str]:
    return {path.name.removesuffix("_service.proto") for path in (ROOT / "protos").rglob("*_service.proto")}


NAMED = sorted({*NAMES, *folders(), *contracts()})


@cache
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(source("pyproject.toml"))["tool"]
    return found


@cache
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(source("docker-compose.yml"))["services"]
    return found


def contracts_of_imports(kind: str) -> list[dict[str, Any]]:
    return [contract for contract in project()["importlinter"]["contracts"] if contract["type"] == kind]


def is_wrapped(name: str) -> bool:
    """Whether nothing else of the services may import it, nor it redis."""
    layers = [layer.split(" | ") for contract in contracts_of_imports("layers") for layer in contract["layers"]]
    apart = [contract for contract in contracts_of_imports("forbidden") if "redis" in contract["forbidden_modules"]]
    redis = [contract["source_modules"] for contract in apart if "rules_service" in contract["source_modules"]]
    module = f"{name}_service"
    return any(module in layer for layer in layers) and all(module in modules for modules in redis)


def keys_of(path: str, name: str) -> set[str]:
    """The keys of a table that a module binds to a name."""
    for node in syntax_tree(source(path)).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and isinstance(node.value, ast.Dict):
            return {str(key.value) for key in node.value.keys if isinstance(key, ast.Constant)}
    raise LookupError(f"{path} binds no table to {name}")


def may_what_it_must(name: str) -> bool:
    """Whether the question to a running log names all that the service writes and follows."""
    if name not in NAMES:
        return False
    service = service_called(name)
    asked = "\n".join(needed(name))
    kinds = [kind for kind in (service.log, service.feed, *service.follows) if kind is not None]
    return all((KINDS | FEEDS)[kind] in asked for kind in kinds)


def users() -> list[str]:
    """Files in which the client is used."""
    files = [path for path in tracked_files() if path.suffix == ".py" and not is_generated(path)]
    return [relative(path) for path in files if relative(path).startswith(("libs/stud_cli/", "tools/", "benches/"))]


def its(name: str, file: str, words: str) -> bool:
    return re.search(words, source(f"services/{name}_service/{file}")) is not None


PLACES: dict[str, Callable[[str], bool]] = {
    "libs/stud_topology/services.py: SERVICES has no line for it": lambda name: name in NAMES,
    "protos/stud/{name}/v1/{name}_service.proto: has no service {Name}Service": lambda name: (
        f"service {name.capitalize()}Service {{" in source(f"protos/stud/{name}/v1/{name}_service.proto")
    ),
    "services/{name}_service/__init__.py: does not import stud_service first": lambda name: its(
        name, "__init__.py", r"^import stud_service\b|\nimport stud_service\b"
    ),
    'services/{name}_service/__main__.py: does not run("{name}", ...)': lambda name: its(
        name, "__main__.py", rf'\brun\("{name}", '
    ),
    "services/{name}_service/app.py: has no {Name}App": lambda name: its(
        name, "app.py", f"class {name.capitalize()}App"
    ),
    "services/{name}_service/servicer.py: has no {Name}Servicer": lambda name: its(
        name, "servicer.py", f"class {name.capitalize()}Servicer"
    ),
    "services/{name}_service/py.typed: is not there": lambda name: (
        ROOT / f"services/{name}_service/py.typed"
    ).is_file(),
    "pyproject.toml: the wheel is made without it": lambda name: (
        f"services/{name}_service" in project()["hatch"]["build"]["targets"]["wheel"]["packages"]
    ),
    "pyproject.toml: root_packages of importlinter lacks it": lambda name: (
        f"{name}_service" in project()["importlinter"]["root_packages"]
    ),
    "pyproject.toml: no layer and no `One file talks to Redis` for it": is_wrapped,
    "libs/stud_client/client.py: StudClient has no stub of it": lambda name: (
        f"{name.capitalize()}ServiceStub)" in source("libs/stud_client/client.py")
    ),
    "tools/not_dead.py: has no line for a stub that only people use": lambda name: any(
        re.search(rf"\.{stub}\b(?!\.v1)", "".join(map(source, users()))) for stub in (name, f"{name}s")
    ),
    "libs/stud_eventlog/permissions.py: does not ask for all that it writes and follows": may_what_it_must,
    "deploy/redis/users.acl: has no user for it": lambda name: f"\nuser {name} on " in source("deploy/redis/users.acl"),
    "deploy/redis/render-acl.sh: renders no password for it": lambda name: (
        re.search(rf"for user in [A-Z ]*\b{name.upper()}\b", source("deploy/redis/render-acl.sh")) is not None
    ),
    "docker-compose.yml: has no container for it": lambda name: name in compose(),
    "docker-compose.yml: redis does not get its password": lambda name: (
        f"STUD_REDIS_PASSWORD_{name.upper()}" in compose()["redis"]["environment"]
    ),
    "docker-compose.yml: commands in init do not find it": lambda name: (
        f"STUD_{name.upper()}_ENDPOINT" in compose()["init"]["environment"]
    ),
    "deploy/prometheus/prometheus.yml: does not ask for its metrics": lambda name: (
        name in NAMES
        and f'targets: ["{name}:{service_called(name).metrics_port}"], labels: {{ service: {name} }}'
        in source("deploy/prometheus/prometheus.yml")
    ),
    DEPLOYMENT + ": MAY_HAVE does not say what its container may have": lambda name: (
        name in keys_of(DEPLOYMENT, "MAY_HAVE")
    ),
    IN_MEMORY + ": APPS has not its app": lambda name: name in keys_of(IN_MEMORY, "APPS"),
    'docs/architecture.md: "Who owns which fact" has no row for it': lambda name: (
        re.search(rf"^\| {name}\b", source("docs/architecture.md"), re.MULTILINE) is not None
    ),
}
"""What is missing, in the words in which it is told, and how a service shows that it is not."""


@pytest.mark.parametrize("name", NAMED)
def test_a_service_is_in_every_place(name: str):
    words = {"name": name, "Name": name.capitalize()}
    missing = [f"{name}: {place.format(**words)}" for place, has in PLACES.items() if not has(name)]
    assert not missing, "\n".join(["", *missing, "docs/extending.md has the whole list"])


def test_a_service_that_is_nowhere_misses_every_place():
    assert [place for place, has in PLACES.items() if has("mint")] == []
    assert len(SERVICES) >= 4

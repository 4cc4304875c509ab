"""The image and the compose file, as far as they can be judged without a container runtime."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from edge_service.methods import offered
from stud_client import load_endpoints
from stud_eventlog.trouble import server_problems
from stud_service.keyring import FOLDERS, JWT_FOLDER
from stud_topology import services
from tests.arch.repository import ROOT, text_of, tracked_files

SERVICES = services.NAMES
PORTS = {service.name: service.port for service in services.PROCESSES}
PACKAGES = {p.parent.name for p in tracked_files() if p.name == "py.typed"}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "deploy/docker/Dockerfile").read_text()


def dockerfile_stages() -> list[list[str]]:
    """Instructions of each stage, continued lines joined."""
    lines = [line for line in DOCKERFILE.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    stages: list[list[str]] = []
    for line in lines:
        if line.startswith("FROM "):
            stages.append([])
        if stages:
            stages[-1].append(re.sub(r"\s+", " ", line))
    return stages


def copied_into_the_build() -> set[str]:
    return {source for line in dockerfile_stages()[0] if line.startswith("COPY ") for source in line.split()[1:-1]}


@pytest.mark.process
def test_the_compose_file_follows_its_schema():
    done = subprocess.run(
        [
            Path(sys.executable).parent / "check-jsonschema",
            "--builtin-schema",  # comes with the tool: nothing is fetched
            "vendor.compose-spec",
            ROOT / "docker-compose.yml",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [*SERVICES, services.EDGE.name])
def test_each_service_is_started_by_its_command_and_checked_by_grpc_health(name: str):
    service = COMPOSE["services"][name]
    assert service["command"] == ["python", "-m", f"{name}_service"]
    assert (ROOT / "services" / f"{name}_service").is_dir()
    port = str(PORTS[name])
    assert service["environment"]["STUD_LISTEN"] == f"0.0.0.0:{port}"
    assert service["healthcheck"]["test"] == ["CMD", "python", "-m", "stud_service.healthcheck", f"127.0.0.1:{port}"]
    metrics = str(services.service_called(name, services.PROCESSES).metrics_port)
    assert service["environment"]["STUD_METRICS_PORT"] == metrics
    assert service["ports"] == [f"127.0.0.1:{number}:{number}" for number in (port, metrics)]
    assert service["restart"] == "unless-stopped"
    if name in SERVICES:
        assert f"redis://{name}:" in service["environment"]["STUD_REDIS_URL"]


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_every_container_is_confined(name: str):
    service = COMPOSE["services"][name]
    user, _, group = service["user"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]


def test_redis_is_published_nowhere_and_keeps_its_log_in_a_volume():
    service = COMPOSE["services"]["redis"]
    assert "ports" not in service
    assert "log:/data" in service["volumes"]
    assert "log" in COMPOSE["volumes"]


# Who may have what: a mount, a variable or a password more is a decision, made here. Only `init` signs tokens and marks
# the log; down cards are the table's and the dealer's, seeds at rest the dealer's alone, those of closed hands the
# referee's too.
SERVICE_ENVIRONMENT = {"STUD_REDIS_URL", "STUD_LISTEN", "STUD_METRICS_HOST", "STUD_METRICS_PORT", "STUD_KEYS_DIR"}
ENDPOINTS = {f"STUD_{name.upper()}_ENDPOINT" for name in SERVICES}
PUBLIC_KEY, CARDS, SEEDS = "keys-public:/keys/auth:ro", "keys-cards:/keys/cards:ro", "keys-seeds:/keys/seeds:ro"
GRAFANA = {
    "GF_AUTH_ANONYMOUS_ENABLED",
    "GF_AUTH_ANONYMOUS_ORG_ROLE",
    "GF_AUTH_BASIC_ENABLED",
    "GF_AUTH_DISABLE_LOGIN_FORM",
    "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION",
    "GF_ANALYTICS_REPORTING_ENABLED",
    "GF_ANALYTICS_CHECK_FOR_UPDATES",
    "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH",
}
MAY_HAVE: dict[str, tuple[set[str], set[str], set[str]]] = {
    # name: mounts, variables, users of the log whose password it gets
    "redis": (
        {"./deploy/redis:/etc/stud:ro", "log:/data"},
        {f"STUD_REDIS_PASSWORD_{user.upper()}" for user in (*SERVICES, "operator")},
        {*SERVICES, "operator"},
    ),
    "init": (
        {"state:/state", "keys-auth:/keys/auth", "keys-public:/keys/public"}
        | {"keys-cards:/keys/cards", "keys-dealer:/keys/dealer", "keys-seeds:/keys/seeds"},
        {"STUD_REDIS_URL", "STUD_KEYS_DIR", "STUD_REVOKED_FILE", *ENDPOINTS},
        {"operator"},
    ),
    "table": ({PUBLIC_KEY, CARDS}, SERVICE_ENVIRONMENT, {"table"}),
    "dealer": ({PUBLIC_KEY, CARDS, "keys-dealer:/keys/dealer:ro", SEEDS}, SERVICE_ENVIRONMENT, {"dealer"}),
    "rules": ({PUBLIC_KEY, SEEDS}, SERVICE_ENVIRONMENT, {"rules"}),
    "wallet": ({PUBLIC_KEY}, SERVICE_ENVIRONMENT, {"wallet"}),
    # What watches the others has no key and no password.
    "prometheus": ({"./deploy/prometheus:/etc/prometheus:ro", "metrics:/prometheus"}, set(), set()),
    "grafana": (
        {
            "./deploy/grafana/provisioning:/etc/grafana/provisioning:ro",
            "./deploy/grafana/dashboards:/etc/stud/dashboards:ro",
        },
        GRAFANA,
        set(),
    ),
    # Nobody checks a token at the edge, and nothing of it is kept: no key, no password, no folder.
    "edge": (
        set(),
        {"STUD_LISTEN", "STUD_METRICS_HOST", "STUD_METRICS_PORT"}
        | {f"STUD_{method.service.upper()}_ENDPOINT" for method in offered()},
        set(),
    ),
}
SAID_OF_A_CONTAINER = {
    *("image", "build", "entrypoint", "command", "restart", "init", "depends_on", "healthcheck", "stop_grace_period"),
    *("user", "read_only", "cap_drop", "security_opt", "ulimits", "tmpfs", "ports", "environment", "volumes"),
}
"""Nothing else: no capability, device, secret, configuration, file of variables, and no other container's room."""


@pytest.mark.parametrize("name", MAY_HAVE)
def test_a_container_has_what_it_may_have_and_nothing_else(name: str):
    service = COMPOSE["services"][name]
    mounts, variables, users = MAY_HAVE[name]
    assert set(service["volumes"]) == mounts
    assert set(service["environment"]) == variables
    assert set(service) <= SAID_OF_A_CONTAINER
    told = re.findall(r"\$\{(\w+)", str({key: said for key, said in service.items() if key != "healthcheck"}))
    assert {variable.removeprefix("STUD_REDIS_PASSWORD_").lower() for variable in told} == users


def test_there_is_nothing_in_the_compose_file_that_is_in_no_table():
    assert set(COMPOSE["services"]) == set(MAY_HAVE)
    assert set(COMPOSE) == {"name", "x-service", "services", "volumes"}
    assert set(COMPOSE["volumes"].values()) == {None}  # named ones: no folder of the machine, no driver
    signing = {name for name, (mounts, _, _) in MAY_HAVE.items() if any(m.startswith("keys-auth:") for m in mounts)}
    assert signing == {"init"}


def test_folders_of_keys_are_where_services_look_for_them():
    assert {mount.split(":")[1] for mount in MAY_HAVE["dealer"][0]} == {
        f"/keys/{folder}" for folder in (JWT_FOLDER, *FOLDERS.values())
    }


@pytest.mark.parametrize("name", MAY_HAVE)
def test_memory_leaves_no_trace_and_is_mounted_as_every_runtime_can(name: str):
    """podman 4.3 refuses `uid=` and `gid=` in a tmpfs; what it knows, docker knows too."""
    service = COMPOSE["services"][name]
    assert service["ulimits"] == {"core": 0}
    options = {option.split("=")[0] for mount in service["tmpfs"] for option in [*mount.split(":"), ""][1].split(",")}
    assert options <= {"", "mode", "size", "rw", "ro", "nosuid", "nodev", "noexec"}


def test_commands_in_the_container_for_operators_find_the_services():
    environment = COMPOSE["services"]["init"]["environment"]
    found = load_endpoints(Path("/nonexistent"), environment)
    assert dict(found) == {name: f"{name}:{PORTS[name]}" for name in SERVICES}
    assert {variable: environment[variable] for variable in ENDPOINTS}.keys() == ENDPOINTS


def test_the_edge_finds_the_services_that_players_call():
    found = load_endpoints(Path("/nonexistent"), COMPOSE["services"]["edge"]["environment"])
    called = {method.service for method in offered()}
    assert {name: found[name] for name in called} == {name: f"{name}:{PORTS[name]}" for name in called}


def test_every_mounted_folder_exists_in_the_image_for_its_user():
    made = next(line for line in dockerfile_stages()[1] if "install -d" in line).split()
    for name in ("init", *SERVICES):
        assert {volume.split(":")[1] for volume in COMPOSE["services"][name]["volumes"]} <= set(made)
    volumes = {v.split(":")[0] for service in COMPOSE["services"].values() for v in service["volumes"]}
    assert {v for v in volumes if not v.startswith(".")} == set(COMPOSE["volumes"])


def test_the_services_know_the_variables_that_compose_sets():
    """A variable nobody reads would be a setting that silently does nothing."""
    sources = "\n".join(
        text_of(p) or "" for p in tracked_files() if p.suffix == ".py" and p.parts[-3] in {"libs", "services"}
    )
    unknown = {
        variable
        for name in ("init", *SERVICES)
        for variable in COMPOSE["services"][name]["environment"]
        if not re.search(rf"\b(?:{variable}|{variable.removeprefix('STUD_').lower()})\b", sources)
        and variable not in ENDPOINTS  # see above
    }
    assert unknown == set()


def test_every_password_of_the_access_list_is_given_to_redis():
    users = set(re.findall(r"#@([A-Z]+)@", (ROOT / "deploy/redis/users.acl").read_text()))
    given = set(COMPOSE["services"]["redis"]["environment"])
    assert given == {f"STUD_REDIS_PASSWORD_{user}" for user in users}


def test_the_redis_configuration_passes_the_services_start_check():
    pairs = (
        line.split(maxsplit=1)
        for line in (ROOT / "deploy/redis/redis.conf").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert server_problems(dict(pairs), version="8.0.0") == []


def test_the_image_is_built_by_the_makefiles_own_steps():
    build, final = dockerfile_stages()
    assert [line for line in build if line.startswith("RUN")] == ["RUN make image-install IMAGE_ENV=/opt/stud"]
    assert not any("pip" in line for line in build + final)
    recipe = re.search(r"^image-install:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    needed = {"pyproject.toml", "Makefile", *re.findall(r"requirements-\w+\.lock", recipe[1])}
    assert needed <= copied_into_the_build()


def test_the_image_runs_as_nobody_special_on_a_slim_base():
    _, final = dockerfile_stages()
    assert "-slim-" in final[0]
    users = [line.split()[1] for line in final if line.startswith("USER ")]
    assert users == ["10001:10001"]
    assert all(COMPOSE["services"][name]["user"] == users[0] for name in ("init", "edge", *SERVICES))


def test_what_the_dockerfile_copies_exists_and_is_not_ignored():
    admitted = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    }
    assert copied_into_the_build() == admitted
    assert all((ROOT / name).exists() for name in admitted)


@pytest.mark.process
def test_the_wheel_holds_every_package(tmp_path: Path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names if name.endswith("/py.typed")} == PACKAGES
    sources = {p.relative_to(ROOT) for p in tracked_files() if p.suffix in {".py", ".pyi"}}
    expected = {p.relative_to(p.parts[0]).as_posix() for p in sources if p.parts[0] in {"libs", "services"}}
    assert expected <= names
    assert not any(name.startswith(("tests/", "tools/")) for name in names)

"""The image and the compose file, as far as they can be judged without a container runtime."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from stud_eventlog.guards import server_problems
from stud_service.keyring import FOLDERS, JWT_FOLDER
from stud_service.settings import PORTS
from tests.arch.repository import ROOT, text_of, tracked_files

SERVICES = ("table", "dealer", "rules", "wallet")
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


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_started_by_its_command_and_checked_by_grpc_health(name: str):
    service = COMPOSE["services"][name]
    assert service["command"] == ["python", "-m", f"{name}_service"]
    assert (ROOT / "services" / f"{name}_service").is_dir()
    port = str(PORTS[name])
    assert service["environment"]["STUD_LISTEN"] == f"0.0.0.0:{port}"
    assert service["healthcheck"]["test"] == ["CMD", "python", "-m", "stud_service.healthcheck", f"127.0.0.1:{port}"]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert service["restart"] == "unless-stopped"
    assert f"redis://{name}:" in service["environment"]["STUD_REDIS_URL"]


@pytest.mark.parametrize("name", ["redis", "init", *SERVICES])
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


def mounted_keys(name: str) -> set[str]:
    mounts = (volume.split(":") for volume in COMPOSE["services"][name]["volumes"])
    return {target.removeprefix("/keys/") for _, target, *_ in mounts if target.startswith("/keys/")}


def test_a_service_gets_only_the_keys_that_are_its_to_open():
    assert {name: mounted_keys(name) for name in SERVICES} == {
        "table": {JWT_FOLDER, FOLDERS["down"]},
        "dealer": {JWT_FOLDER, FOLDERS["dealer"], FOLDERS["down"], FOLDERS["referee"]},
        "rules": {JWT_FOLDER, FOLDERS["referee"]},
        "wallet": {JWT_FOLDER},
    }
    assert mounted_keys("init") == {JWT_FOLDER, *FOLDERS.values()}


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
    assert all(COMPOSE["services"][name]["user"] == users[0] for name in ("init", *SERVICES))


def test_what_the_dockerfile_copies_exists_and_is_not_ignored():
    admitted = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    }
    assert copied_into_the_build() == admitted
    assert all((ROOT / name).exists() for name in admitted)


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

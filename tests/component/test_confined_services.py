"""The services as docker-compose.yml runs them: each with its own user of the access list and only its own keys."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.ports import Port
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from stud_service.tokens import KeyFileError, load_private_key
from tests.component.acl_cases import SERVICES, rendered_acl, url_of
from tests.support.valkey import command

pytestmark = pytest.mark.untraced  # they serve and no more: what is behind it is traced service by service
COMPOSE: dict[str, Any] = yaml.safe_load((Path(__file__).resolve().parents[2] / "docker-compose.yml").read_text())
HEALTHY_WITHIN_S = 30.0
# Long enough for the first reads of feeds, cursors and dead letters.
WATCHED_S = 2.0


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    aclfile = tmp_path / "users.acl"
    aclfile.write_text(rendered_acl())
    async with EmbeddedServer(tmp_path / "redis", aclfile=aclfile, environ={"PATH": os.environ["PATH"]}) as server:
        log = await RedisEventLog.connect(url_of("operator", server.port))
        await log.initialise()
        await log.close()
        yield server


@pytest.fixture
def all_keys(tmp_path: Path) -> Path:
    """What the init container leaves in the key volumes: its own script has made them."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "initialised").touch()  # the log is, see above
    init = COMPOSE["services"]["init"]
    for path in folders("init").values():
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
    script = init["command"][-1].replace("/keys", f"{tmp_path}/keys").replace("/state", f"{tmp_path}/state")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "STUD_KEYS_DIR": str(tmp_path / "keys")}
    subprocess.run([*init["command"][:-1], script], env=environ, cwd=tmp_path, check=True)
    return tmp_path


def folders(name: str) -> dict[str, str]:
    """Volume -> where it is mounted in a container, without the first slash."""
    return {
        source: target.lstrip("/")
        for source, target, *_ in (volume.split(":") for volume in COMPOSE["services"][name]["volumes"])
    }


def mount_keys(name: str, all_keys: Path, target: Path) -> Path:
    made = folders("init")
    for volume, path in folders(name).items():
        shutil.copytree(all_keys / made[volume], target / Path(path).name)
    return target


@pytest.mark.parametrize("name", SERVICES)
def test_with_what_a_service_has_nobody_mints_a_token(all_keys: Path, tmp_path: Path, name: str):
    keys = mount_keys(name, all_keys, tmp_path / name)
    load_private_key(all_keys / "keys")  # there is one
    with pytest.raises(KeyFileError):
        load_private_key(keys)
    assert not [path for path in keys.rglob("*") if path.is_file() and b"PRIVATE" in path.read_bytes()]
    environ = {**os.environ, "STUD_KEYS_DIR": str(keys)}
    stud = Path(sys.executable).parent / "stud"
    minted = subprocess.run([stud, "token", "eve", "--role", "cashier"], env=environ, cwd=tmp_path, check=False)
    assert minted.returncode == 2


@asynccontextmanager
async def started(name: str, server: EmbeddedServer, keys: Path, output: Path) -> AsyncIterator[str]:
    port, metrics = Port(), Port()
    address = port.address
    variables = {
        "STUD_REDIS_URL": url_of(name, server.port),
        "STUD_LISTEN": address,
        "STUD_METRICS_HOST": "127.0.0.1",
        "STUD_METRICS_PORT": str(metrics.number),
        "STUD_KEYS_DIR": str(keys),
    }
    # Exactly what compose sets; everything else of ours is taken away.
    assert variables.keys() == COMPOSE["services"][name]["environment"].keys()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("STUD_")}
    with output.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", f"{name}_service", env=inherited | variables, cwd=keys, stdout=sink, stderr=sink
        )
    try:
        yield address
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0, output.read_text()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_serves_with_its_own_user_and_keys(
    server: EmbeddedServer, all_keys: Path, tmp_path: Path, name: str
):
    keys = mount_keys(name, all_keys, tmp_path / name)
    async with started(name, server, keys, tmp_path / "output") as address:
        deadline = asyncio.get_running_loop().time() + HEALTHY_WITHIN_S
        while problem := await asyncio.to_thread(check, address, timeout_s=1.0):
            output = (tmp_path / "output").read_text()
            assert asyncio.get_running_loop().time() < deadline, f"{problem}\n{output}"
            assert "cannot_start" not in output
            await asyncio.sleep(0.1)
        await asyncio.sleep(WATCHED_S)
    # The server keeps what it refused: a service that works never asks for anything that is not its own.
    assert await command(url_of("operator", server.port), "ACL", "LOG") == []

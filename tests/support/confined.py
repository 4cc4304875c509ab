"""The services as docker-compose.yml runs them, without containers: each with its own user of the access list and only
the keys that its volumes would hold, which the init container's own script has made.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.ports import Port
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.healthcheck import check
from tests.component.acl_cases import rendered_acl, url_of

COMPOSE: dict[str, Any] = yaml.safe_load((Path(__file__).resolve().parents[2] / "docker-compose.yml").read_text())
HEALTHY_WITHIN_S = 30.0


@asynccontextmanager
async def log_server(folder: Path) -> AsyncIterator[EmbeddedServer]:
    """The log's server with its access list, marked as ours."""
    aclfile = folder / "users.acl"
    aclfile.write_text(rendered_acl())
    async with EmbeddedServer(folder / "redis", aclfile=aclfile, environ={"PATH": os.environ["PATH"]}) as server:
        log = await RedisEventLog.connect(url_of("operator", server.port))
        await log.initialise()
        await log.close()
        yield server


def made_keys(folder: Path) -> Path:
    """What the init container leaves in the key volumes: its own script has made them."""
    (folder / "state").mkdir()
    (folder / "state" / "initialised").touch()  # the log is, see above
    init = COMPOSE["services"]["init"]
    for path in folders("init").values():
        (folder / path).mkdir(parents=True, exist_ok=True)
    script = init["command"][-1].replace("/keys", f"{folder}/keys").replace("/state", f"{folder}/state")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "STUD_KEYS_DIR": str(folder / "keys")}
    subprocess.run([*init["command"][:-1], script], env=environ, cwd=folder, check=True)
    return folder


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


@asynccontextmanager
async def started(
    name: str, server: EmbeddedServer, keys: Path, output: Path, *, module: str = "", more: Mapping[str, str] = {}
) -> AsyncIterator[str]:
    """A service with what compose sets and nothing else; ``module`` and ``more`` plant something in its place."""
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
            *(sys.executable, "-m", module or f"{name}_service"),
            env={**inherited, **variables, **more},
            cwd=keys,
            stdout=sink,
            stderr=sink,
        )
    try:
        yield address
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0, output.read_text()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def healthy(address: str, output: Path) -> None:
    """Wait until a service serves."""
    deadline = asyncio.get_running_loop().time() + HEALTHY_WITHIN_S
    while problem := await asyncio.to_thread(check, address, timeout_s=1.0):
        said = output.read_text()
        assert asyncio.get_running_loop().time() < deadline, f"{problem}\n{said}"
        assert "cannot_start" not in said
        await asyncio.sleep(0.1)

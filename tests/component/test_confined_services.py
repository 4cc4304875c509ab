"""The services as docker-compose.yml runs them: each with its own user of the access list and only its own keys."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stud_cli.local.log_server import EmbeddedServer
from stud_service.signing_keys import KeyFileError, load_private_key
from tests.component.acl_cases import SERVICES, url_of
from tests.support.confined import healthy, log_server, made_keys, mount_keys, started
from tests.support.valkey import command

pytestmark = pytest.mark.untraced  # they serve and no more: what is behind it is traced service by service
# Long enough for the first reads of feeds, cursors and dead letters.
WATCHED_S = 2.0


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    async with log_server(tmp_path) as server:
        yield server


@pytest.fixture
def all_keys(tmp_path: Path) -> Path:
    return made_keys(tmp_path)


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


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_serves_with_its_own_user_and_keys(
    server: EmbeddedServer, all_keys: Path, tmp_path: Path, name: str
):
    keys = mount_keys(name, all_keys, tmp_path / name)
    async with started(name, server, keys, tmp_path / "output") as address:
        await healthy(address, tmp_path / "output")
        await asyncio.sleep(WATCHED_S)
    # The server keeps what it refused: a service that works never asks for anything that is not its own.
    assert await command(url_of("operator", server.port), "ACL", "LOG") == []

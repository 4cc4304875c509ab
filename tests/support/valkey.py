"""Servers for tests: one per session that tests flush, and one of its own for a test that kills it.

STUD_REDIS_URL is ignored here: tests flush and kill, which must never meet somebody's data.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stud_cli.local.log_server import EmbeddedServer

ENVIRON = {"PATH": os.environ.get("PATH", "")}


@contextmanager
def running_server(data_dir: Path, settings: dict[str, str] | None = None) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(data_dir, settings=settings, environ=ENVIRON)
    asyncio.run(server.start())
    try:
        yield server
    finally:
        asyncio.run(server.stop())


async def command(url: str, *words: str | bytes) -> object:
    """Sends one command over a connection of its own and returns the raw reply."""
    import redis.asyncio

    client = redis.asyncio.Redis.from_url(url)
    try:
        return await client.execute_command(*words)  # type: ignore[no-untyped-call]
    finally:
        await client.aclose()


@pytest.fixture(scope="session")
def session_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with running_server(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def valkey_server(session_server: EmbeddedServer) -> EmbeddedServer:
    """The session's server, empty. Each worker process has its own, so tests do not meet."""
    asyncio.run(_empty(session_server.url))
    return session_server


async def _empty(url: str) -> None:
    await command(url, "FLUSHALL")
    await command(url, "SCRIPT", "FLUSH")


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server of this test alone, which it may kill, restart and starve."""
    with running_server(tmp_path / "valkey") as server:
        yield server


@pytest.fixture
def server_with(tmp_path: Path) -> Iterator[Callable[..., EmbeddedServer]]:
    """A function that starts servers with given settings."""
    started: list[EmbeddedServer] = []

    def start(**settings: str) -> EmbeddedServer:
        names = {name.replace("_", "-"): value for name, value in settings.items()}
        server = EmbeddedServer(tmp_path / f"valkey-{len(started)}", settings=names, environ=ENVIRON)
        started.append(server)
        asyncio.run(server.start())
        return server

    yield start
    for server in started:
        asyncio.run(server.stop())

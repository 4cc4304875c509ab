"""Real servers for tests of the runtime and the client: a table service of a few lines behind its interceptor."""

import asyncio
import json
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import structlog
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_service.interceptors import Interceptor
from stud_service.limits import Limits
from stud_service.lines import Lines
from stud_service.logging import configure
from stud_service.refusals import Refused
from stud_service.server_options import SERVER_OPTIONS
from stud_service.tokens import Verifier, mint
from stud_service.trusted import KeySet, Trusted, TrustedKey

KEY = Ed25519PrivateKey.generate()


def token(account: str = "alice", *roles: str, ttl_s: int = 60) -> str:
    return mint(account, roles or ("player",), ttl_s, KEY)


def write_keys(keys_dir: Path, key: Ed25519PrivateKey = KEY) -> Path:
    keys_dir.mkdir(parents=True, exist_ok=True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (keys_dir / "jwt-private.pem").write_bytes(private)
    (keys_dir / "jwt-public.pem").write_bytes(public)
    return keys_dir


@contextmanager
def logged(service: str = "table", level: str = "info") -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Configures logging as a service does, for a while; gives a function that returns the lines, now and later."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    told_before = structlog.get_config()
    with tempfile.NamedTemporaryFile() as sink:
        lines = Lines(os.dup(sink.fileno()), service)
        configure(service, level, lines)

        kept: list[str] = []

        def told() -> list[dict[str, Any]]:
            assert kept or lines.flush(10)
            return [json.loads(line) for line in (kept or [Path(sink.name).read_text()])[0].splitlines()]

        try:
            yield told
        finally:
            structlog.configure(**told_before)
            root.handlers[:], root.level = before
            lines.close(10)
            kept.append(Path(sink.name).read_text())


async def until(what: Callable[[], bool | Awaitable[bool]], timeout_s: float = 15) -> None:
    """Waits until something is so, for what tells nobody when it changes."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = what()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.005)


@dataclass
class House:
    """A running server. `closed` is what its gate says."""

    address: str
    server: grpc.aio.Server
    trusted: Trusted
    closed: Refused | None = None
    calls: list[str] = field(default_factory=list)


@asynccontextmanager
async def serving(
    servicer: Any,
    *,
    address: str = "127.0.0.1:0",
    call_timeout_s: float = 5.0,
    clock_s: Callable[[], float] = time.time,
    options: Sequence[tuple[str, int]] = SERVER_OPTIONS,
    limits: Limits | None = None,
    by_limit: Counter[str] | None = None,
    add: Callable[[Any, grpc.aio.Server], None] = rpc.add_TableServiceServicer_to_server,
) -> AsyncIterator[House]:
    house: House | None = None

    def gate() -> Refused | None:
        return house.closed if house else None

    trusted = Trusted(KeySet([TrustedKey.of(KEY.public_key())]))
    verifier = Verifier(trusted, clock_s=clock_s)
    interceptor = Interceptor(verifier, gate, call_timeout_s, limits, by_limit=by_limit)
    server = grpc.aio.server(interceptors=[interceptor], options=options)
    add(servicer, server)
    port = server.add_insecure_port(address)
    await server.start()
    house = House(f"127.0.0.1:{port}", server, trusted)
    try:
        yield house
    finally:
        await server.stop(0)

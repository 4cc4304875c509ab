"""The log over TLS: `rediss://`, with the CA, and a certificate of ours where the server asks for one.

The servers that come with us speak no TLS, so one stands in front of a real one that ends TLS and passes bytes on.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stud_cli.local.log_server import EmbeddedServer
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import LogUnavailable
from tests.support.certificates import issue
from tests.support.runtime_process import start
from tests.support.valkey import fresh_server, session_server, valkey_server

__all__ = ["fresh_server", "session_server", "start", "valkey_server"]

OURS, OTHERS = issue("the casino's CA"), issue("another CA")


@contextlib.asynccontextmanager
async def ending_tls(server: EmbeddedServer, folder: Path, *, mutual: bool = False) -> AsyncIterator[int]:
    """Gives the port of a relay that speaks TLS to whoever connects."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*issue("redis", OURS).write(folder, "redis"))
    if mutual:
        context.load_verify_locations(OURS.write(folder, "ca")[0])
        context.verify_mode = ssl.CERT_REQUIRED
    tasks: set[asyncio.Task[None]] = set()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind = await asyncio.open_connection("127.0.0.1", server.port)
        for source, sink in ((reader, behind[1]), (behind[0], writer)):
            tasks.add(asyncio.create_task(carry(source, sink)))

    listener = await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def usable(url: str) -> bool:
    log = await RedisEventLog.connect(url)
    try:
        await log.initialise()
        await log.require_initialised()
    finally:
        await log.close()
    return True


async def test_a_log_behind_tls_is_one_like_any_other(valkey_server: EmbeddedServer, tmp_path: Path):
    ca, other = OURS.write(tmp_path, "ca")[0], OTHERS.write(tmp_path, "other")[0]
    async with ending_tls(valkey_server, tmp_path) as port:
        assert await usable(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={ca}")
        for url in (
            f"rediss://127.0.0.1:{port}/0",  # the system's CAs do not know ours
            f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={other}",
            f"rediss://127.0.0.2:{port}/0?ssl_ca_certs={ca}",  # the certificate is for another address
        ):
            with pytest.raises(LogUnavailable):
                await usable(url)
        with pytest.raises(LogUnavailable):
            await usable(f"redis://127.0.0.1:{port}/0")


async def test_a_log_that_wants_our_certificate_gets_it(valkey_server: EmbeddedServer, tmp_path: Path):
    ca = OURS.write(tmp_path, "ca")[0]
    async with ending_tls(valkey_server, tmp_path, mutual=True) as port:
        for name, by in (("table", OURS), ("thief", OTHERS)):
            certificate, key = issue(name, by).write(tmp_path, name)
            url = f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={ca}&ssl_certfile={certificate}&ssl_keyfile={key}"
            if by is OURS:
                assert await usable(url)
            else:
                with pytest.raises(LogUnavailable):
                    await usable(url)
        with pytest.raises(LogUnavailable):
            await usable(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={ca}")


async def test_a_service_says_why_it_waits(start, valkey_server: EmbeddedServer, tmp_path: Path):
    other = OTHERS.write(tmp_path, "other")[0]
    async with ending_tls(valkey_server, tmp_path) as port:
        service = start(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={other}")
        told = await asyncio.to_thread(service.line, "waiting_for_log")
        assert "certificate verify failed" in told["why"].lower()
        assert await asyncio.to_thread(service.stop) == 0

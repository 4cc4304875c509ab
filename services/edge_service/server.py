"""The server of HTTP: who may connect, and how a connection ends.

Hypercorn speaks HTTP/1.1 and HTTP/2 on one connection at a time (`TCPServer`). Its own loop around that takes
connections without an end and does not let go of one whose peer takes nothing; so that loop is ours.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import ssl
from collections import Counter
from pathlib import Path
from typing import Any, Final

import structlog
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Event, Updated
from hypercorn.protocol import h2
from hypercorn.utils import wrap_app

from edge_service.settings import EdgeSettings

STREAMS_PER_CONNECTION: Final = 100
"""Of HTTP/2: what browsers expect to be allowed. One more waits in the browser."""

MAX_HEADERS: Final = 16 * 1024
IDLE_S: Final = 75
"""A connection without a request: longer than browsers keep one."""

HANDSHAKE_S: Final = 10.0
BUFFERED: Final = 64 * 1024
"""Bytes that may wait in a connection for its reader; then nothing more is made."""

QUEUE: Final = 512
LOOK_S: Final = 2.0
"""Between two looks at the files of the certificate."""

logger = structlog.get_logger(__name__)


def _config(settings: EdgeSettings) -> Config:
    tls: dict[str, Any] = {}
    if settings.edge_tls_cert is not None and settings.edge_tls_key is not None:
        tls = {"certfile": str(settings.edge_tls_cert), "keyfile": str(settings.edge_tls_key)}
    return Config.from_mapping(
        accesslog=None,
        errorlog=logging.getLogger("hypercorn"),
        include_server_header=False,
        keep_alive_timeout=IDLE_S,
        keep_alive_max_requests=2**31,  # it would end a connection of HTTP/2, and every stream on it
        h11_max_incomplete_size=MAX_HEADERS,
        h2_max_header_list_size=MAX_HEADERS,
        h2_max_concurrent_streams=STREAMS_PER_CONNECTION,
        **tls,
    )


def _stamp(*files: str | None) -> tuple[tuple[int, int], ...]:
    """What changes with the files; nothing where one is gone."""
    try:
        found = [Path(file).stat() for file in files if file is not None]
    except OSError:
        return ()
    return tuple((each.st_mtime_ns, each.st_ino) for each in found)


class _Buffer(h2.StreamBuffer):
    """What waits for the reader of one stream of HTTP/2. The library's own lets more in whenever little was taken out:
    nothing, say, since the reader has opened no window. So it grows without an end; this one lets more in when little
    is left.
    """

    async def pop(self, max_length: int) -> bytes:
        """Take out what may be sent now."""
        data = bytes(self.buffer[: max(0, max_length)])
        del self.buffer[: len(data)]
        if len(self.buffer) < h2.BUFFER_LOW_WATER:
            await self._paused.set()
        if not self.buffer:
            await self._is_empty.set()
        return data


h2.StreamBuffer = _Buffer  # type: ignore[misc]  # there is no other way in; tests/component/test_edge.py holds it


class _Connection(TCPServer):
    """One that is over when its peer has gone: the library's own waits for `IDLE_S` then, and holds its file."""

    _over = False

    async def _read_data(self) -> None:
        try:
            await super()._read_data()
        finally:
            self._over = True
            await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        """Send, or note that there is nothing under way; not once it is over."""
        if not (self._over and isinstance(event, Updated)):
            await super().protocol_send(event)


class Server:
    """Listens from `start` to `stop`."""

    def __init__(self, settings: EdgeSettings, connections: int) -> None:
        """Raises OSError and ssl.SSLError for a certificate that cannot be used."""
        self._config = _config(settings)
        self._tls: ssl.SSLContext | None = self._config.create_ssl_context()
        self._seen = _stamp(self._config.certfile, self._config.keyfile)
        self._listen = settings.listen
        self._most, self._most_each = connections, settings.edge_connections_per_address
        self._context = WorkerContext(None)
        self._app: Any = None
        self._server: asyncio.Server | None = None
        self._open: dict[tuple[str, int], asyncio.StreamWriter] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._of: Counter[str] = Counter()
        self.refused = 0
        """Connections that were one too many."""

    def __len__(self) -> int:
        return len(self._open)

    async def watch_certificate(self) -> None:
        """Never returns: renewed files are taken within `LOOK_S`."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.renew()

    def renew(self) -> None:
        """Take a renewed certificate for new connections; files that do not fit together (half of a pair was replaced,
        say) change nothing.
        """
        files = self._config.certfile, self._config.keyfile
        if self._tls is None or files[0] is None or (stamp := _stamp(*files)) == self._seen:
            return
        self._seen = stamp
        try:
            # A trial first: what fails half-way would leave the real one without a key.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files[0], files[1])
            self._tls.load_cert_chain(files[0], files[1])
        except OSError as why:
            logger.warning("certificate_unusable", why=why.strerror or type(why).__name__)
        else:
            logger.info("certificate_renewed")

    async def start(self, app: Any) -> int:
        """Returns the port. Raises OSError."""
        self._app = wrap_app(app, 0, "asgi")
        host, _, port = self._listen.rpartition(":")
        options: dict[str, Any] = {"ssl": self._tls, "ssl_handshake_timeout": HANDSHAKE_S} if self._tls else {}
        self._server = await asyncio.start_server(
            self._connected, host.strip("[]"), int(port), backlog=QUEUE, reuse_port=False, **options
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer: tuple[str, int] = writer.get_extra_info("peername")[:2]
        if len(self._open) >= self._most or self._of[peer[0]] >= self._most_each:
            self.refused += 1
            writer.transport.abort()
            return
        self._open[peer] = writer
        self._of[peer[0]] += 1
        writer.transport.set_write_buffer_limits(high=BUFFERED)
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._serve(peer, reader, writer), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, peer: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        try:
            await _Connection(self._app, loop, self._config, self._context, {}, reader, writer)
        except Exception as why:  # noqa: BLE001  (of one connection: what its peer sent was no HTTP)
            logger.debug("connection_failed", why=type(why).__name__)
        finally:
            del self._open[peer]
            self._of[peer[0]] -= 1
            if not self._of[peer[0]]:
                del self._of[peer[0]]

    def abort(self, peer: tuple[str, int]) -> None:
        """End a connection at once, whatever still waits for its reader."""
        writer = self._open.get(peer)
        if writer is not None:
            writer.transport.abort()

    async def refuse(self) -> None:
        """Take no more connections."""
        if self._server is not None:
            self._server.close()
        await self._context.terminated.set()

    async def stop(self, within_s: float) -> None:
        """Let what is under way end, then cut off the rest."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        for peer in list(self._open):
            self.abort(peer)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

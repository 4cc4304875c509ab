"""Where Prometheus asks a process: GET /metrics over HTTP, on the event loop.

Not the library's own server: that starts a thread for every connection, as many as come, waits for each as long as it
likes, and reads the services' state while the loop changes it. Here a few places take connections one after the other,
each for a few seconds at most, with a pause after each; whoever comes too fast waits in the system's queue, or is
refused by it. What is read is the head of one request. What is kept is the last answer, which serves for a second. So
those who flood this port get 80 answers a second and one look at the services, and play does not notice.
"""

from __future__ import annotations

import asyncio
import contextvars
import socket
from collections.abc import Callable
from typing import Final

import structlog

PATH: Final = b"/metrics"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PLACES: Final = 4
WITHIN_S: Final = 3.0
"""For one connection, from taking it to its last byte."""

PAUSE_S: Final = 0.05
KEPT_S: Final = 1.0
MAX_HEAD: Final = 8 * 1024
QUEUE: Final = 16
"""Connections that the system keeps waiting."""

logger = structlog.get_logger(__name__)


def bind(host: str, port: int) -> socket.socket:
    """Take an address. Raises OSError: somebody else has it."""
    return socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=QUEUE, reuse_port=False
    )


class MetricsPort:
    """Serves from `start` to `stop`, whatever state the service is in."""

    def __init__(self, listener: socket.socket, text: Callable[[], bytes]) -> None:
        """`text` is what there is to tell now."""
        listener.setblocking(False)
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._tell = text
        self._kept = b""
        self._kept_until = 0.0
        self._places: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._places = [
            loop.create_task(self._serve(), name=f"metrics {number}", context=contextvars.Context())
            for number in range(PLACES)
        ]

    async def stop(self) -> None:
        for place in self._places:
            place.cancel()
        await asyncio.gather(*self._places, return_exceptions=True)
        self._listener.close()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
                with connection:
                    async with asyncio.timeout(WITHIN_S):
                        await loop.sock_sendall(connection, self._answer(await _head(connection)))
            except (OSError, TimeoutError) as why:  # they went away, are too slow, or no more files may be open
                logger.debug("not_scraped", why=str(why) or type(why).__name__)
            except Exception:
                logger.exception("not_scraped")
            await asyncio.sleep(PAUSE_S)

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if not head.endswith(b"\r\n\r\n") or method != b"GET":
            return _response("400 Bad Request", b"want GET /metrics\n")
        if path != PATH:
            return _response("404 Not Found", b"there is nothing but /metrics\n")
        return _response("200 OK", self._text(), CONTENT_TYPE)

    def _text(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if now >= self._kept_until:
            self._kept, self._kept_until = self._tell(), now + KEPT_S
        return self._kept


async def _head(connection: socket.socket) -> bytes:
    """Return the head of a request; less, where it is longer than anybody needs or ends early."""
    loop, head = asyncio.get_running_loop(), b""
    while len(head) < MAX_HEAD and b"\r\n\r\n" not in head:
        more = await loop.sock_recv(connection, MAX_HEAD - len(head))
        if not more:
            break
        head += more
    first, end, _ = head.partition(b"\r\n\r\n")
    return first + end


def _response(status: str, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body

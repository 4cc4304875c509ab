"""HTTP/2 by hand, for what no client of gRPC can be told to do: pings at will, answers that come late or never."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

HEADERS, SETTINGS, PING, GOAWAY = 1, 4, 6, 7
ACK = END_STREAM = 1
END_HEADERS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


def call(path: str, stream: int = 1) -> bytes:
    """The frames of a call whose request is an empty message."""
    words = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x"}
    words |= {"te": "trailers", "content-type": "application/grpc"}
    headers = b"".join(b"\0" + b"".join(bytes([len(word)]) + word.encode() for word in pair) for pair in words.items())
    return frame(HEADERS, END_HEADERS, stream, headers) + frame(0, END_STREAM, stream, bytes(5))


class Connection:
    """One connection. It answers settings at once and pings `late_s` after they came; `cut` is the text of the server's
    GOAWAY, or how else the connection ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, late_s: float) -> None:
        self._reader = reader
        self._writer = writer
        self._late_s = late_s
        self.cut = ""
        self.pinged = asyncio.Event()
        self.answers = 0

    def send(self, frames: bytes) -> None:
        self._writer.write(frames)

    def ping(self) -> None:
        self.send(frame(PING, 0, 0, bytes(8)))

    def has_answered(self, pings: int) -> bool:
        """Whether so many pings were answered, or none will be any more."""
        return bool(self.cut) or self.answers >= pings

    async def listen(self) -> None:
        try:
            while True:
                head = await self._reader.readexactly(9)
                self._take(head[3], head[4], await self._reader.readexactly(int.from_bytes(head[:3])))
        except (OSError, asyncio.IncompleteReadError):
            self.cut = self.cut or "closed"

    def _take(self, kind: int, flags: int, content: bytes) -> None:
        if kind == GOAWAY:
            self.cut = content[8:].decode() or "GOAWAY"
        elif kind == PING and flags & ACK:
            self.answers += 1
        elif kind == PING:
            self.pinged.set()
            asyncio.get_running_loop().call_later(self._late_s, self.send, frame(PING, ACK, 0, content))
        elif kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK, 0, b""))


@asynccontextmanager
async def connected(address: str, *, settings: bytes = b"", late_s: float = 0.0) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection(*address.rsplit(":", 1))
    with closing(writer):
        connection = Connection(reader, writer, late_s)
        connection.send(PREFACE + frame(SETTINGS, 0, 0, settings))
        listening = asyncio.create_task(connection.listen())
        try:
            yield connection
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

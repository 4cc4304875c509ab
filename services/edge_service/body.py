"""A request on its way in and an answer on its way out, each within bounds: who sends slowly, sends too much or takes
nothing holds a place for some seconds, a piece of memory of a known size, and nothing else.
"""

from __future__ import annotations

import asyncio
from typing import Final

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from starlette.types import Message, Receive, Send

ENVELOPE_BYTES: Final = 5
DRAINED_BYTES: Final = 1024 * 1024
"""Of a request that is refused unread: so much is taken and thrown away, that the refusal arrives."""


class TooSlow(Exception):
    """Somebody takes what they are sent too slowly, or sends what nobody wants without an end."""


class Body:
    """The body of a request: handed over whole. `receive` is what the application reads by."""

    def __init__(self, receive: Receive, most: int, within_s: float) -> None:
        """`most`: bytes of the message; an envelope may be around it."""
        self._receive, self._most, self._within_s = receive, most + ENVELOPE_BYTES, within_s
        self._ended = False
        self.gone = False
        """Whether the caller has."""

    async def receive(self) -> Message:
        """The first time: all of it. After that: that the caller is gone. Raises ConnectError."""
        if self._ended or self.gone:
            return await self._next()
        body = bytearray()
        try:
            async with asyncio.timeout(self._within_s):
                while True:
                    message = await self._next()
                    if message["type"] == "http.disconnect":
                        return message
                    body += message.get("body", b"")
                    if len(body) > self._most:
                        raise ConnectError(Code.RESOURCE_EXHAUSTED, "the message is larger than 64 kB")
                    if not message.get("more_body", False):
                        return {"type": "http.request", "body": bytes(body), "more_body": False}
        except TimeoutError:
            self._ended = True  # nobody waits for the rest
            raise ConnectError(Code.DEADLINE_EXCEEDED, "the request did not arrive in time") from None

    async def drain(self) -> None:
        """Take what is left of a request that was answered early: the server of HTTP/2 knows the stream no more once it
        is answered, and would end the whole connection for what still comes. Raises TooSlow.
        """
        left = DRAINED_BYTES
        try:
            async with asyncio.timeout(self._within_s):
                while not (self._ended or self.gone):
                    left -= len((await self._next()).get("body", b""))
                    if left < 0:
                        raise TooSlow
        except TimeoutError:
            raise TooSlow from None

    async def _next(self) -> Message:
        message = await self._receive()
        self.gone = message["type"] == "http.disconnect"
        self._ended = self._ended or (not self.gone and not message.get("more_body", False))
        return message


class Answer:
    """What is sent goes out piece by piece: the next one is made when the server has taken the last."""

    def __init__(self, send: Send, body: Body, within_s: float) -> None:
        self._send, self._body, self._within_s = send, body, within_s
        self.too_slow = False

    async def send(self, message: Message) -> None:
        """Nothing goes to a caller who has gone: there the server would wait for what never comes. Raises TooSlow."""
        if self._body.gone:
            return
        try:
            if message["type"] == "http.response.start":
                await self._body.drain()
            async with asyncio.timeout(self._within_s):
                await self._send(message)
        except TimeoutError:
            self.too_slow = True
            raise TooSlow from None
        except TooSlow:
            self.too_slow = True
            raise

"""What comes in: calls, and the files of a page where there is one. The outermost layer: CORS, the bounds of `body`,
and what is no call of ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog
from connectrpc.errors import ConnectError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from edge_service.body import Answer, Body, TooSlow
from edge_service.gate import Gate
from edge_service.passing import MAX_REQUEST_BYTES, Passing
from edge_service.settings import EdgeSettings
from stud_service.refusals import Refused

logger = structlog.get_logger(__name__)

ASKED: Final = (
    "authorization",
    "connect-protocol-version",
    "connect-timeout-ms",
    "grpc-timeout",
    "x-grpc-web",
    "x-user-agent",
)
"""Headers that a page of another origin may send: those of the two protocols, and the token."""

TOLD: Final = ("grpc-status", "grpc-message", "grpc-status-details-bin")
"""Headers of an answer that it may read."""

CORS_MAX_AGE_S: Final = 7_200
"""As long as browsers keep it at most: each first call of a page costs a question more."""

BINARY: Final = (
    "application/proto",
    "application/connect+proto",
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web",
    "application/grpc-web+proto",
)
"""Kinds of request: no JSON (each update would be made anew for each viewer), and no gRPC-Web in base64."""

PAGE_HEADERS: Final = (
    (b"cache-control", b"no-cache"),
    (b"content-security-policy",
     b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)  # fmt: skip

Abort = Callable[[tuple[str, int]], None]
"""Ends the connection from an address at once."""


class Front:
    """The application that the server runs."""

    def __init__(self, settings: EdgeSettings, passing: Passing, gate: Gate, abort: Abort, slow: Counter[str]) -> None:
        """`slow` counts readers that were cut off."""
        self._receive_s = settings.edge_receive_within_ms / 1000
        self._send_s = settings.edge_send_within_ms / 1000
        self._passing, self._gate, self._abort, self._slow = passing, gate, abort, slow
        self._paths = passing.paths
        self._pages = _Pages(settings.edge_pages) if settings.edge_pages is not None else None
        self._inner: ASGIApp = self._answer
        if settings.edge_origins:
            self._inner = CORSMiddleware(
                self._answer,
                allow_origins=settings.edge_origins,
                allow_methods=("POST",),
                allow_headers=ASKED,
                expose_headers=TOLD,
                max_age=CORS_MAX_AGE_S,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; no fault leaves this."""
        if scope["type"] != "http":
            return  # nothing here speaks by WebSocket: the server ends it
        answer = Answer(send, body := Body(receive, MAX_REQUEST_BYTES, self._receive_s), self._send_s)
        try:
            await self._inner(scope, body.receive, answer.send)
        except TooSlow:
            pass
        except Exception:
            logger.exception("request_failed")
        if answer.too_slow:
            self._slow[""] += 1
            self._abort(scope["client"])

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in self._paths and scope["method"] == "POST":
            await self._call(scope, receive, send)
            return
        try:
            await self._gate.turn(str(scope["client"][0]))
        except Refused as why:
            await PlainTextResponse(why.text, 429)(scope, receive, send)
            return
        if self._pages is None or scope["path"] in self._paths:
            status, text = (405, "want POST") if scope["path"] in self._paths else (404, "there is no such call")
            await PlainTextResponse(text, status)(scope, receive, send)
            return
        await self._pages(scope, receive, send)

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if headers.get("content-type", "").partition(";")[0].strip().lower() not in BINARY:
            accepted = {"Accept-Post": ", ".join(BINARY)}
            await PlainTextResponse("want binary messages", 415, accepted)(scope, receive, send)
            return
        if not all(value.isascii() for _, value in scope["headers"]):
            await PlainTextResponse("want headers in ASCII", 400)(scope, receive, send)
            return
        try:
            await self._passing(scope, receive, send)
        except ConnectError as late:
            # The answer had begun: there is nobody left to tell.
            logger.debug("call_ended_early", code=late.code.value)


class _Pages:
    """A folder of files, each with the headers that keep a page to itself."""

    def __init__(self, folder: Path) -> None:
        self._files = StaticFiles(directory=folder, html=True, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *PAGE_HEADERS]
            await send(message)

        try:
            await self._files(scope, receive, with_headers)
        except HTTPException as why:
            await PlainTextResponse(f"{why.detail}", why.status_code)(scope, receive, with_headers)

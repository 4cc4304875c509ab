"""What a service says about its health (grpc.health.v1), to everybody who asks.

The library's own servicer writes to a watcher while it holds the lock that a change needs: one client that takes no
bytes (it needs no token) would keep the status from ever changing and the service from stopping.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

COMMITS_KEY: Final = "stud-commits"
"""In the trailing metadata of the answer that a service does not serve: how many commits it has read and written. From
that whoever waits for it sees whether it is merely slow.
"""

STALE_KEY: Final = "stud-stale"
"""In the trailing metadata of any answer: which sources of trust (keys, revocations, certificates) are out of reach.
The service goes on with what they said last.
"""

Request = health_pb2.HealthCheckRequest
Response = health_pb2.HealthCheckResponse


class Health(health_pb2_grpc.HealthServicer):
    """The status of each name that was reported."""

    def __init__(
        self, commits_moved: Callable[[], int] = lambda: 0, stale: Callable[[], Iterable[str]] = lambda: ()
    ) -> None:
        self._commits_moved = commits_moved
        self._stale = stale
        self._statuses: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._ended = False

    def tell(self, names: Iterable[str], *, serving: bool) -> None:
        """Waits for nobody; a watcher who is slow hears the latest."""
        if self._ended:
            return
        status = Response.SERVING if serving else Response.NOT_SERVING
        self._statuses.update(dict.fromkeys(names, status))
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """From now on nothing serves, whatever is reported."""
        self.tell(list(self._statuses), serving=False)
        self._ended = True

    async def Check(self, request: Request, context: Any) -> Response:
        status = self._statuses.get(request.service)
        if status is None:
            context.set_code(grpc.StatusCode.NOT_FOUND)
            return Response()
        told = [(STALE_KEY, source) for source in self._stale()]
        if status != Response.SERVING:
            told.append((COMMITS_KEY, str(self._commits_moved())))
        if told:
            context.set_trailing_metadata(tuple(told))
        return Response(status=status)

    async def Watch(self, request: Request, context: Any) -> AsyncIterator[Response]:
        told = None
        while True:
            changed, status = self._changed, self._statuses.get(request.service, Response.SERVICE_UNKNOWN)
            if status == told and self._ended:
                return  # else the stop would wait for the watcher
            if status == told:
                await changed.wait()
            else:
                told = status
                yield Response(status=status)

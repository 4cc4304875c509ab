"""How much one address may ask of the edge: how fast, and how much at a time. What an account may do the services
count, who know whose the token is; here it is about whoever has none.

Asked before a request's body is read. What is refused here is told as the services tell it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import ExitStack
from typing import Any, Final

from connectrpc.errors import ConnectError
from connectrpc.request import RequestContext

from edge_service.body import TooSlow
from edge_service.refusing import of_fault, of_refused
from edge_service.settings import EdgeSettings
from stud_service.limits import Limit, Places, Rate, count, limited
from stud_service.refusals import Refused

LINE_S: Final = 5.0
"""How long a call waits for its turn; one that would wait longer is refused."""


def host_of(address: str | None) -> str:
    """Returns the host of "host:port"."""
    return (address or "").rpartition(":")[0]


class Gate:
    """For the library an interceptor of metadata: it is asked at the start and told of the end of each call."""

    def __init__(self, settings: EdgeSettings, refusals: Counter[str], by_limit: Counter[str]) -> None:
        self.stopping = False
        self._per_s = settings.edge_calls_per_s
        self._rate: Rate[str] = Rate(settings.edge_calls_per_s, settings.edge_calls_burst)
        self._places: Places[str] = Places(
            settings.edge_calls_per_address, settings.streams, "calls and streams", Limit.EDGE_ADDRESS
        )
        self._refusals = refusals
        self._by_limit = by_limit

    def __len__(self) -> int:
        return len(self._places)

    async def on_start(self, ctx: RequestContext[Any, Any]) -> ExitStack:
        """Takes a place. Raises ConnectError."""
        try:
            await self.turn(host_of(ctx.client_address))
            if self.stopping:
                raise Refused("STOPPING", "the edge is stopping: connect again")
            held = ExitStack()
            held.enter_context(self._places.hold(host_of(ctx.client_address)))
        except Refused as why:
            count(why, self._refusals, self._by_limit)
            raise of_refused(why) from None
        return held

    async def on_end(self, token: ExitStack, ctx: RequestContext[Any, Any], error: Exception | None) -> None:
        """Gives the place back. Raises ConnectError for what is neither a refusal nor a reader's fault: the last line
        of defence, since nothing of it may reach a browser.
        """
        token.close()
        if error is not None and not isinstance(error, ConnectError | TooSlow):
            raise of_fault(error) from None

    async def turn(self, host: str) -> None:
        """Wait until it is the turn of a host's next request. Raises Refused where that would take too long."""
        wait_s = self._rate.take(host, patience_s=LINE_S)
        if wait_s > LINE_S:
            raise limited(
                f"{self._per_s} calls a second are all that an address may make",
                wait_s - LINE_S,
                self._per_s,
                Limit.EDGE_ADDRESS,
            )
        if wait_s:
            await asyncio.sleep(wait_s)

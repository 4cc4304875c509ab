"""Connections to the services. One takes a thousand calls and streams at a time (`STUD_CALLS_PER_CONNECTION`), and any
more would wait for as long as a table is watched: so another is opened before that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import grpc

from stud_client.calling import CHANNEL_OPTIONS
from stud_client.tls import channel_to, tls_of
from stud_eventlog.addresses import SECURE

CALLS_EACH: Final = 400

OPTIONS: Final = [
    *CHANNEL_OPTIONS,
    # Each channel has a connection of its own; by default those to one address share one.
    ("grpc.use_local_subchannel_pool", 1),
    # What has come for a viewer who takes nothing waits in the service, not here: a window of 64 kB for each stream,
    # and none that grows with the speed of the network.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 65_536),
]

Open = Callable[[str], grpc.aio.Channel]


def open_channel(address: str) -> grpc.aio.Channel:
    """Returns a channel; nothing is connected before the first call. Over TLS at `grpcs://`, trusting what the
    environment says.
    """
    return channel_to(address, OPTIONS)


class _Line:
    """One connection to a service, and how many use it."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.used = 0
        self._calls: dict[str, Any] = {}

    def call(self, path: str, *, streams: bool) -> Any:
        """Returns what makes a call with bytes and answers with bytes."""
        call = self._calls.get(path)
        if call is None:
            make: Any = self.channel.unary_stream if streams else self.channel.unary_unary
            call = self._calls[path] = make(path)
        return call


class Upstream:
    """The connections to one service."""

    def __init__(self, address: str, calls_each: int = CALLS_EACH, open_one: Open = open_channel) -> None:
        self._address, self._calls_each, self._open = address, calls_each, open_one
        self._lines: list[_Line] = []

    def __len__(self) -> int:
        return len(self._lines)

    @contextmanager
    def call(self, path: str, *, streams: bool) -> Iterator[Any]:
        """Hold a place on a connection while a call is made."""
        line = next((line for line in self._lines if line.used < self._calls_each), None)
        if line is None:
            line = _Line(self._open(self._address))
            self._lines.append(line)
        line.used += 1
        try:
            yield line.call(path, streams=streams)
        finally:
            line.used -= 1

    async def close(self) -> None:
        """End what is under way, and every connection."""
        for line in self._lines:
            await line.channel.close()
        self._lines.clear()


def upstreams(endpoints: Mapping[str, str]) -> dict[str, Upstream]:
    """Returns the connections to all services. Raises ValueError where TLS is wanted and its files cannot be read."""
    if any(address.startswith(SECURE) for address in endpoints.values()):
        tls_of().credentials()  # else it would be found with the first call
    return {name: Upstream(address) for name, address in endpoints.items()}

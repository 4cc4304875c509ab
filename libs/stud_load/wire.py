"""Bytes of the table service's streams and calls: the one place of a driver that knows how messages come and go.

Streams are read as bytes and decoded here, so that what a stream is asked to bring (``Subscribe.accepts``) and how it
is taken apart stand side by side. Calls go over channels of the driver's own, each of which is a connection.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud_client.calling import CHANNEL_OPTIONS
from stud_client.plain import ACCEPTS, Plain
from stud_client.tls import Tls, channel_to
from stud_load.target import Token

_SERVICE: Final = "/stud.table.v1.TableService/"
CALLS: Final[dict[str, tuple[str, Any]]] = {
    "act": ("Act", pb.ActResponse),
    "post_ante": ("PostAnte", pb.PostAnteResponse),
    "choose_show": ("ChooseShow", pb.ChooseShowResponse),
    "sit_in": ("SitIn", pb.SitInResponse),
    "add_chips": ("AddChips", pb.AddChipsResponse),
    "leave_seat": ("LeaveSeat", pb.LeaveSeatResponse),
}
"""The commands of a PlayRequest, as calls."""

Item = pb.TableUpdate | pb.CommandResult
Decode = Callable[[bytes], Iterator[Item]]
"""What a message of a stream says, in order. Each stream has one of its own, since a message may lean on the one before
it (`stud_client.plain`).
"""

Metadata = tuple[tuple[str, str], ...]


def subscription(table: str, after_version: int | None, head_hash: bytes, *, plain: bool) -> pb.Subscribe:
    """Return how a stream begins. ``plain``: nothing is asked for beyond the first version of the contract."""
    accepts = () if plain else ACCEPTS
    return pb.Subscribe(table=table, after_version=after_version, head_hash=head_hash, accepts=accepts)


def decoder_of_play() -> Decode:
    """Return how the messages of one Play stream are read."""
    told_by = Plain().told_by
    return lambda data: told_by(pb.PlayResponse.FromString(data))


def decoder_of_watch() -> Decode:
    """The same for a Watch stream."""
    told_by = Plain().told_by
    return lambda data: told_by(pb.WatchResponse.FromString(data))


def metadata(token: Token) -> Metadata:
    """Return what goes with a call."""
    return (("authorization", f"Bearer {token()}"),)


class Line:
    """One connection to the table service, with the methods that bots use; streams bring bytes."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.play: Any = channel.stream_stream(
            f"{_SERVICE}Play", request_serializer=pb.PlayRequest.SerializeToString, response_deserializer=None
        )
        self.watch: Any = channel.unary_stream(
            f"{_SERVICE}Watch", request_serializer=pb.WatchRequest.SerializeToString, response_deserializer=None
        )
        self.calls: dict[str, Any] = {
            name: channel.unary_unary(
                f"{_SERVICE}{method}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=answer.FromString,
            )
            for name, (method, answer) in CALLS.items()
        }


class Lines:
    """Some connections, handed out in turn. What waits in ``slow`` ones waits at the server: nothing is read ahead."""

    def __init__(self, address: str, number: int, *, slow: bool = False, tls: Tls | None = None) -> None:
        options = [*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1)]
        if slow:
            options += [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 0)]
        self._lines = [Line(channel_to(address, options, tls)) for _ in range(number)]
        self._turns = itertools.cycle(self._lines)

    def next(self) -> Line:
        """Return the next one."""
        return next(self._turns)

    async def close(self) -> None:
        """End every connection."""
        for line in self._lines:
            await line.channel.close()

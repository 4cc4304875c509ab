"""One step of a table as its viewers receive it: serialised once for all, and joined with each viewer's own part.

Every message on the wire is canonical, byte for byte what serialising the whole of it would give: a singular field that
occurs twice is merged by some decoders and lost by others. So the shared bytes are fields 1 to 7 of a ``TableUpdate``,
a viewer's part is field 8, what is only known when the message is sent are the fields behind it, and the length of
the whole is put before them last. ``PlayResponse`` and ``WatchResponse`` have the same numbers for the same fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_eventlog.types import Head
from table_service.public_events import put_public


class Step(msgspec.Struct, frozen=True):
    """What everybody receives of one version of a table; ``shared`` is a part of a ``TableUpdate``. After one that is
    ``quiet`` nobody is asked for anything: it may wait a moment for the next. One that is ``full`` replaces whatever a
    viewer has (``reset``).
    """

    version: int
    hash: bytes
    shared: bytes
    quiet: bool = False
    full: bool = False


class Outgoing(msgspec.Struct, frozen=True):
    """An update in a viewer's queue. One that is not ``current`` was missed, and shows nobody's own part."""

    shared: bytes
    mine: bytes = b""
    current: bool = True
    result: bytes = b""

    def update_bytes(self, now_ms: int) -> bytes:
        """Return the serialised ``TableUpdate``, sent at ``now_ms``."""
        return b"".join((self.shared, self.mine, _tail(now_ms, self.current), self.result))

    def wire(self, now_ms: int) -> bytes:
        """Return the ``PlayResponse`` or ``WatchResponse``: the update as field 1."""
        return delimited(1, self.update_bytes(now_ms))


def batch(responses: Sequence[bytes]) -> bytes:
    """Return one ``PlayResponse`` or ``WatchResponse`` that holds several: their batch is field 3 of either."""
    return delimited(3, b"".join([delimited(1, response) for response in responses]))


def delimited(field: int, value: bytes) -> bytes:
    """Return a field of bytes, or of a message, as it is written: tag, length, value. ``field`` is 1 to 15."""
    left, length = len(value), bytearray()
    while left > 0x7F:
        length.append(left & 0x7F | 0x80)
        left >>= 7
    length.append(left)
    return b"".join((bytes((field << 3 | 2,)), length, value))


@lru_cache(maxsize=4)
def _tail(now_ms: int, current: bool) -> bytes:
    """The fields that are known when it is sent; many are sent in one millisecond."""
    return pb.TableUpdate(sent_at_ms=now_ms, current=current).SerializeToString()


def commit_step(
    table: str, view: bytes, head: Head, at_ms: int, events: Sequence[commit_pb2.Event], *, quiet: bool = False
) -> Step:
    """Return what everybody receives of a commit: what is public of its events, and the ``view`` of the table after it
    (a serialised ``TableView``).
    """
    update = _update(table, head, at_ms)
    put_public(update, events)
    return Step(head.version, head.hash, update.SerializeToString() + delimited(6, view), quiet)


def present(table: str, view: bytes, head: Head, at_ms: int) -> Step:
    """Return a full view, for viewers who have nothing yet and where something changed that is in no commit."""
    shared = _update(table, head, at_ms).SerializeToString() + delimited(6, view) + _RESET
    return Step(head.version, head.hash, shared, full=True)


_RESET = pb.TableUpdate(reset=True).SerializeToString()


def _update(table: str, head: Head, at_ms: int) -> pb.TableUpdate:
    return pb.TableUpdate(table=table, version=head.version, head_hash=head.hash, at_ms=at_ms)


def private_part(mine: pb.PrivateView) -> bytes:
    """Return the bytes that add ``mine`` to an update."""
    return pb.TableUpdate(mine=mine).SerializeToString()


NO_SEAT = pb.TableUpdate(mine=pb.PrivateView()).SerializeToString()
"""Tells a viewer who is told only what changes that there is nothing of their own any more."""


def result_part(request_id: str, version: int, table: str = "") -> bytes:
    """Return the bytes that add the result of a command to the update of what it did."""
    result = pb.CommandResult(request_id=request_id, version=version, table=table)
    return pb.TableUpdate(result=result).SerializeToString()

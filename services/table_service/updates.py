"""One step of a table as its viewers receive it: serialised once for all, and joined with each viewer's own part.

Every message on the wire is canonical, byte for byte what serialising the whole of it would give: a singular field that
occurs twice is merged by some decoders and lost by others. So the shared bytes are fields 1 to 7 of a ``TableUpdate``,
a viewer's part is field 8, what is only known when the message is sent are the fields behind it, and the length of
the whole is put before them last. ``PlayResponse.update`` and ``WatchResponse.update`` have the same field number.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from google.protobuf import wrappers_pb2

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_eventlog.types import Head
from table_service.public_events import put_public


class Step(msgspec.Struct, frozen=True):
    """What everybody receives of one version of a table; ``shared`` is a part of a ``TableUpdate``."""

    version: int
    hash: bytes
    shared: bytes


class Outgoing(msgspec.Struct, frozen=True):
    """An update in a viewer's queue. One that is not ``current`` was missed, and shows nobody's own part."""

    shared: bytes
    mine: bytes = b""
    current: bool = True

    def update_bytes(self, now_ms: int) -> bytes:
        """Return the serialised ``TableUpdate``, sent at ``now_ms``."""
        tail = pb.TableUpdate(sent_at_ms=now_ms, current=self.current)
        return b"".join((self.shared, self.mine, tail.SerializeToString()))

    def wire(self, now_ms: int) -> bytes:
        """Return the ``PlayResponse`` or ``WatchResponse``: the update as field 1, as in a BytesValue."""
        return wrappers_pb2.BytesValue(value=self.update_bytes(now_ms)).SerializeToString()


def commit_step(view: pb.TableView, head: Head, at_ms: int, events: Sequence[commit_pb2.Event]) -> Step:
    """Return what everybody receives of a commit: what is public of its events, and the table after it."""
    update = _update(view, head, at_ms)
    put_public(update, events)
    return Step(head.version, head.hash, update.SerializeToString())


def present(view: pb.TableView, head: Head, at_ms: int) -> Step:
    """Return a full view, for viewers who have nothing yet and where something changed that is in no commit."""
    update = _update(view, head, at_ms)
    update.reset = True
    return Step(head.version, head.hash, update.SerializeToString())


def _update(view: pb.TableView, head: Head, at_ms: int) -> pb.TableUpdate:
    table = view.config.table_id
    return pb.TableUpdate(table=table, version=head.version, head_hash=head.hash, at_ms=at_ms, view=view)


def private_part(mine: pb.PrivateView) -> bytes:
    """Return the bytes that add ``mine`` to an update."""
    return pb.TableUpdate(mine=mine).SerializeToString()

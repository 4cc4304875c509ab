"""One commit as its viewers receive it: serialised once for all, plus each viewer's own bytes.

Protobuf merges what is concatenated: the public part of a ``PlayResponse`` followed by one that holds only
``update.mine`` is one valid message. ``PlayResponse.update`` and ``WatchResponse.update`` have the same
field number, so that both streams share the bytes. The configuration never changes and is kept as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.gate import Wait
from stud_core.state import Table
from stud_eventlog.types import Head
from table_service import views


def config_part(table: Table) -> bytes:
    """Return the bytes that add ``update.view.config``."""
    view = pb.TableView(config=views.config_message(table))
    return pb.PlayResponse(update=pb.TableUpdate(view=view)).SerializeToString()


def public_part(table: Table, head: Head, at_ms: int, events: Sequence[commit_pb2.Event]) -> bytes:
    """Return the bytes that every viewer of a commit receives, ``config`` excepted."""
    config = table.config
    update = pb.TableUpdate(
        table=config.table_id if config else "",
        version=head.version,
        head_hash=head.hash,
        at_ms=at_ms,
        sent_at_ms=at_ms,
        view=views.table_view(table),
    )
    for event in events:
        _add_public(update, event)
    return pb.PlayResponse(update=update).SerializeToString()


def _add_public(update: pb.TableUpdate, event: commit_pb2.Event) -> None:
    public = update.events.add()
    public.CopyFrom(event)
    if public.WhichOneof("body") == "cards_dealt":
        for card in public.cards_dealt.down:
            card.ClearField("sealed")


def private_part(mine: pb.PrivateView) -> bytes:
    """Return the bytes that add ``update.mine``."""
    return pb.PlayResponse(update=pb.TableUpdate(mine=mine)).SerializeToString()


def reset_part() -> bytes:
    """Return the bytes that mark an update as a full view."""
    return pb.PlayResponse(update=pb.TableUpdate(reset=True)).SerializeToString()


def halted_part(reason: str) -> bytes:
    """Return the bytes that show a table as paused although its log does not say so."""
    view = pb.TableView(paused=reason, waiting_for=Wait.PAUSED)
    return pb.PlayResponse(update=pb.TableUpdate(view=view)).SerializeToString()


def full_view(table: Table, head: Head, at_ms: int, halted: str = "") -> bytes:
    """Return a full view for somebody who has nothing yet; ``halted`` is why nothing can be written to the log."""
    full = config_part(table) + public_part(table, head, at_ms, ()) + reset_part()
    return full + halted_part(halted) if halted else full


def parse(data: bytes) -> pb.TableUpdate:
    """Return the update in bytes made here (GetTable)."""
    response: Any = pb.PlayResponse.FromString(data)
    update: pb.TableUpdate = response.update
    return update

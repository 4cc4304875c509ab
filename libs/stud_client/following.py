"""Following a table: its updates one after the other, over as many streams as it takes.

A stream that breaks is opened again with the version and head hash of the last update that came, so nothing is missed
and nothing comes twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1.table_service_pb2_grpc import TableServiceStub
from stud_client.plain import ACCEPTS, Plain
from stud_client.resuming import Resuming


class Following(Resuming[pb.TableUpdate]):
    """A table's updates. Each has the whole table in it, so nothing is lost with those that nobody takes in time."""

    def __init__(
        self,
        tables: TableServiceStub,
        table: str,
        after_version: int | None,
        head_hash: bytes,
        *,
        give_up_s: float,
        token: Callable[[], str],
    ) -> None:
        super().__init__(f"follow {table}", give_up_s=give_up_s, token=token)
        self.table = table
        self.last: pb.TableUpdate | None = None
        """The latest update that has come, whether taken or not."""
        self._tables = tables
        self._version = after_version
        self._head_hash = head_hash

    def _receive(self, update: pb.TableUpdate) -> None:
        self._progress = True
        if self._version is not None and update.version <= self._version and not update.reset:
            return
        self._version, self._head_hash = update.version, update.head_hash
        self.last = update
        self._put(update)

    async def _hear(self, call: Any) -> None:
        """Takes what a stream tells, until it ends."""
        plain = Plain()
        async for message in call:
            for said in plain.told_by(message):
                self._take(said)

    def _take(self, said: pb.TableUpdate | pb.CommandResult) -> None:
        if isinstance(said, pb.TableUpdate):
            self._receive(said)

    def _subscribe(self) -> pb.Subscribe:
        return pb.Subscribe(table=self.table, after_version=self._version, head_hash=self._head_hash, accepts=ACCEPTS)


class Watching(Following):
    """A spectator's view of a table. Made by `StudClient.watch`."""

    async def _converse(self) -> None:
        call: Any = self._tables.Watch(pb.WatchRequest(subscribe=self._subscribe()))
        try:
            await self._hear(call)
        finally:
            call.cancel()  # else the server would go on serving a stream that nobody reads

"""A client's end of a Play or Watch stream of a `MemorySystem`, without the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_client.plain import Plain
from stud_service.refusals import Refused
from table_service.updates import Outgoing
from tests.support.playing_memory import Game
from tests.support.strict_wire import check_canonical

NOW_MS = 1_700_000_000_000


def update_of(queued: Outgoing | bytes | None) -> pb.TableUpdate:
    """What a viewer's client would decode of what is in his queue."""
    assert isinstance(queued, Outgoing)
    data = queued.wire(NOW_MS)
    check_canonical(pb.WatchResponse, data)
    return pb.WatchResponse.FromString(data).update


class Stream:
    """Everything that comes is kept. `blocked` is a client that reads nothing."""

    def __init__(self, game: Game, account: str, *, watch: bool = False, **subscribe: Any) -> None:
        self.answers: asyncio.Queue[pb.PlayResponse] = asyncio.Queue()
        self.requests: asyncio.Queue[Any] = asyncio.Queue()
        self._plain = Plain()
        self.blocked = asyncio.Event()
        self.blocked.set()
        streams, subscription = game.system.tables.streams, pb.Subscribe(table=game.id, **subscribe)
        if watch:
            run = streams.watch(pb.WatchRequest(subscribe=subscription), self, account)  # type: ignore[arg-type]
        else:
            self.requests.put_nowait(pb.PlayRequest(subscribe=subscription))
            run = streams.play(self._read(), self, account)  # type: ignore[arg-type]
        self.task = asyncio.create_task(run)

    async def _read(self) -> AsyncIterator[Any]:
        while (request := await self.requests.get()) is not None:
            if isinstance(request, Exception):
                raise request
            yield request

    async def write(self, data: bytes) -> None:
        await self.blocked.wait()
        check_canonical(pb.PlayResponse, data)
        self.answers.put_nowait(pb.PlayResponse.FromString(data))

    async def update(self) -> pb.TableUpdate:
        async with asyncio.timeout(30):
            while not (answer := await self.answers.get()).HasField("update"):
                pass
            return answer.update

    async def ask(self, **command: Any) -> pb.CommandResult:
        self.requests.put_nowait(pb.PlayRequest(**command))
        async with asyncio.timeout(30):
            while not (answer := await self.answers.get()).HasField("result"):
                pass
            return answer.result

    async def end(self) -> Refused:
        with pytest.raises(Refused) as refused:
            await asyncio.wait_for(self.task, 30)
        return refused.value

    def said(self) -> list[pb.TableUpdate | pb.CommandResult]:
        """All that has come so far and was not taken, as a client understands it that accepts everything."""
        answers = [self.answers.get_nowait() for _ in range(self.answers.qsize())]
        return [said for answer in answers for said in self._plain.told_by(answer)]

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

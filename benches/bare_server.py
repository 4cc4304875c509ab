"""What no poker server on this transport and this log can beat: streams and durable appends, and nothing that thinks.

    .venv/bin/python benches/bare_server.py --redis URL --bytes N

It answers the table service's Play method on the same loop, with the same gRPC settings and collector as a service.
A viewer subscribes with the first message. Every later message is appended to the table's stream, grouped with those
of other tables, fsync as the server has it; then every viewer of the table gets an update of N bytes, the next one in
turn one that asks to act, and whoever sent it a result besides. Of what follows nothing is decoded, decided or folded.
Prints the address it listens on; ends with SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import stud_service  # noqa: F401  (settles how gRPC runs)

# isort: split

import grpc

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.grouped_xadd import GroupedXadd
from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_service.event_loop import new_event_loop
from stud_service.garbage import settle_memory
from stud_service.server_options import server_options
from stud_service.settings import load_settings

BODY = os.urandom(300)
"""A commit of the table is about as long."""

RESULT = pb.PlayResponse(result=pb.CommandResult(request_id="load-000000-00-p0-0000", version=1000)).SerializeToString()


def update(size: int, turn_id: int) -> bytes:
    """Return an update of so many bytes, as a real one of a table of eight in its fields."""
    seats = [
        pb.SeatView(seat=n, account=f"load-p{n}", stack=20_000 + n, dealt_in=True, live=True, paid=500, down_count=2)
        for n in range(1, 9)
    ]
    view = pb.TableView(hand_no=7, street=4, button=3, seats=seats, pot_total=4000, verified_hand=6)
    said = pb.TableUpdate(table="load-0", version=1000, at_ms=1_700_000_000_000, view=view, current=True)
    said.mine.sitting_no, said.mine.seat, said.mine.turn_id = 1, 1, turn_id
    if turn_id:
        said.mine.options.add(verb=seat_pb2.VERB_CALL, to=500)
    missing = size - pb.PlayResponse(update=said).ByteSize()
    said.head_hash = bytes(max(0, missing - 4))
    return pb.PlayResponse(update=said).SerializeToString()


class Table:
    """Its viewers and the messages that came."""

    def __init__(self, name: str, log: GroupedXadd, size: int) -> None:
        self.viewers: list[asyncio.Queue[bytes]] = []
        self.inbox: asyncio.Queue[asyncio.Queue[bytes]] = asyncio.Queue()
        self._stream = f"bare:{name}"
        self._log = log
        self._quiet, self._turn = update(size, 0), update(size, 1)

    async def run(self) -> None:
        """Append each message, then tell everybody."""
        number = 0
        while True:
            actor = await self.inbox.get()
            number += 1
            await self._log.append(self._stream, BODY)
            actor.put_nowait(RESULT)
            for place, viewer in enumerate(self.viewers):
                viewer.put_nowait(self._turn if place == number % len(self.viewers) else self._quiet)


class Tables:
    """All tables, each made when it is first named."""

    def __init__(self, log: GroupedXadd, size: int) -> None:
        self._log = log
        self._size = size
        self._tables: dict[str, Table] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def play(self, requests: AsyncIterator[bytes], context: Any) -> None:
        """One viewer's stream."""
        table = self._at(pb.PlayRequest.FromString(await anext(requests)).subscribe.table)
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        table.viewers.append(queue)
        listening = self._start(self._listen(requests, table, queue))
        try:
            while True:
                await context.write(await queue.get())
        finally:
            table.viewers.remove(queue)
            listening.cancel()

    async def _listen(self, requests: AsyncIterator[bytes], table: Table, queue: asyncio.Queue[bytes]) -> None:
        async for _ in requests:
            table.inbox.put_nowait(queue)

    def _at(self, name: str) -> Table:
        if name not in self._tables:
            table = self._tables[name] = Table(name, self._log, self._size)
            self._start(table.run())
        return self._tables[name]

    def _start(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def serve(url: str, size: int) -> None:
    log = GroupedXadd(url)
    tables = Tables(log, size)
    handler: Any = grpc.stream_stream_rpc_method_handler(tables.play)
    server = grpc.aio.server(options=server_options(load_settings("table")))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("stud.table.v1.TableService", {"Play": handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    settle_memory()
    print(f"127.0.0.1:{port}", flush=True)
    await stopped.wait()
    await server.stop(0)
    await log.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis", required=True, help="the log's server")
    parser.add_argument("--bytes", type=int, default=700, help="of an update")
    arguments = parser.parse_args()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve(arguments.redis, arguments.bytes))


if __name__ == "__main__":
    main()

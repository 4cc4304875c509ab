"""Streams to `bare_server.py` by the connections, the decoding and the recorder of `stud load`: what is asked to act
answers at once, and an action counts when its result is there.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_load.recorder import Count, Measure, Recorder
from stud_load.usage import Meter
from stud_load.wire import Line, Lines

ALL_THERE_S: Final = 1.0
"""From the first stream until the first action: every viewer sees it."""


class Viewer:
    """One stream."""

    def __init__(self, table: str, line: Line, recorder: Recorder) -> None:
        self._table = table
        self._call = line.play()
        self._recorder = recorder
        self._sent_s = 0.0

    async def follow(self, *, begins: bool) -> None:
        """Answer until cancelled; ``begins``: act first, once everybody is there."""
        try:
            await self._call.write(pb.PlayRequest(subscribe=pb.Subscribe(table=self._table)))
            if begins:
                await asyncio.sleep(ALL_THERE_S)
                await self._act()
            while True:
                await self._take(await self._call.read())
        finally:
            self._call.cancel()

    async def _take(self, data: bytes) -> None:
        response = pb.PlayResponse.FromString(data)
        if response.HasField("result"):
            self._recorder.time(Measure.ACT, self._sent_s, time.perf_counter())
            self._recorder.count(Count.ACTIONS)
            return
        self._recorder.count(Count.DELIVERIES)
        self._recorder.count(Count.BYTES, len(data))
        if response.update.mine.turn_id:
            await self._act()

    async def _act(self) -> None:
        self._sent_s = time.perf_counter()
        body = pb.ActRequest(table=self._table, turn_id=1, verb=seat_pb2.VERB_CALL, to=500, request_id=self._table)
        await self._call.write(pb.PlayRequest(act=body))


async def drive(
    address: str, tables: int, players: int, channels: int, warm_s: float, seconds: float, meter: Meter
) -> Recorder:
    """Return what was counted while ``meter`` looked at the processes."""
    recorder, lines = Recorder(), Lines(address, channels)
    viewers = [(f"bare-{n}", place) for n in range(tables) for place in range(players)]
    tasks = [
        asyncio.get_running_loop().create_task(Viewer(name, lines.next(), recorder).follow(begins=place == 0))
        for name, place in viewers
    ]
    try:
        await asyncio.sleep(ALL_THERE_S + warm_s)
        recorder.open(time.perf_counter())
        meter.start(time.perf_counter())
        await asyncio.sleep(seconds)
        recorder.close(time.perf_counter())
        now_s, at_ms = time.perf_counter(), time.time_ns() // 1_000_000
        recorder.tick(now_s, at_ms)
        meter.tick(now_s, at_ms)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await lines.close()
    return recorder

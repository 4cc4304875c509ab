"""A service of a few lines to run as a process: `python -m tests.support.kit_app [flags]`. STUD_TEST_FAULT says what
goes wrong in it.
"""

import asyncio
import os
import sys

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_service.kit import Kit
from stud_service.run import run

FAULT = os.environ.get("STUD_TEST_FAULT", "")


class Tables(rpc.TableServiceServicer):
    def __init__(self) -> None:
        self.stopping = asyncio.Event()

    async def GetTable(self, request, context):
        return pb.GetTableResponse(update=pb.TableUpdate(table=request.table))

    async def Watch(self, request, context):
        yield pb.WatchResponse()
        await self.stopping.wait()
        if FAULT == "stream hangs":
            await asyncio.sleep(60)


class SmallApp:
    def __init__(self, kit: Kit) -> None:
        if FAULT == "no key":
            raise ValueError("down.key: want 32 bytes")
        self.kit = kit
        self.servicer = Tables()  # type: ignore[abstract]

    async def start(self) -> None:
        if FAULT == "start":
            raise RuntimeError("cannot load")
        if FAULT in {"task", "task while starting"}:
            self.kit.spawn(self.crash(), "shaky task")
        if FAULT in {"slow start", "task while starting"}:
            await asyncio.sleep(60)

    async def crash(self) -> None:
        await asyncio.sleep(0.2)
        raise RuntimeError("a part is lost")

    def register(self, server: grpc.aio.Server) -> None:
        rpc.add_TableServiceServicer_to_server(self.servicer, server)

    async def stop(self) -> None:
        self.servicer.stopping.set()
        if FAULT == "stop":
            raise RuntimeError("cannot stop")
        if FAULT == "slow stop":
            await asyncio.sleep(60)


if __name__ == "__main__":
    sys.exit(run("table", SmallApp))

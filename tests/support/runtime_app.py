"""A small service to run as a process: `python -m tests.support.runtime_app [flags]`. STUD_TEST_FAULT says what
goes wrong in it.
"""

import asyncio
import gc
import logging
import os
import sys
import threading
import warnings

import grpc
import structlog

from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_service.run import run
from stud_service.runtime import Runtime

logger = structlog.get_logger()
FAULT = os.environ.get("STUD_TEST_FAULT", "")


class Silent:
    """Does not say what it is."""

    def __str__(self) -> str:
        raise ValueError("37")

    __repr__ = __str__


def stray() -> None:
    """Everything that Python itself tells on standard error, and a print."""
    warnings.warn("the coroutine was never awaited", RuntimeWarning, stacklevel=1)
    print("a library's print")
    print("half a line, of the Ah", end=" ", file=sys.stderr)
    print("and the rest", file=sys.stderr)
    thread = threading.Thread(target=fail, name="shaky thread")
    thread.start()
    thread.join()
    dropped = Dropped()
    del dropped
    gc.collect()
    asyncio.get_running_loop().call_soon(fail)


def fail() -> None:
    raise KeyError(37)


class Dropped:
    def __del__(self) -> None:
        fail()


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
    def __init__(self, runtime: Runtime) -> None:
        if FAULT == "no key":
            raise ValueError("down.key: want 32 bytes")
        self.runtime = runtime
        self.servicer = Tables()  # type: ignore[abstract]

    async def start(self) -> None:
        if FAULT == "start":
            raise RuntimeError("cannot load")
        if FAULT in {"task", "task while starting"}:
            self.runtime.spawn(self.crash(), "shaky task")
        if FAULT == "task returns":
            self.runtime.spawn(asyncio.sleep(0.2), "shaky task")
        if FAULT == "task meets a cancellation":
            self.runtime.spawn(self.meet(), "shaky task")
        if FAULT == "talks":
            self.runtime.spawn(self.talk(), "talking")
        if FAULT == "strays":
            stray()
        if FAULT in {"slow start", "task while starting"}:
            await asyncio.sleep(60)

    async def crash(self) -> None:
        await asyncio.sleep(0.2)
        raise RuntimeError("a part is lost")

    async def meet(self) -> None:
        """What it waits for is cancelled, not the task."""
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.2, future.cancel)
        await future

    async def talk(self) -> None:
        """In all ways, and more than a pipe and the queue hold; some of it cannot be told."""
        while True:
            for _ in range(50):
                logger.info("talk", text="x" * 1_500)
                logging.getLogger("library").warning("talk %s", "x" * 1_500)
            logger.info("talk", value={Silent(): 1})
            logging.getLogger("library").warning("talk %s", Silent())
            print("talk", flush=True)
            await asyncio.sleep(0.01)

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

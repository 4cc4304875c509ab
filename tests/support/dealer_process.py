"""A real dealer on a real server."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from stud.dealer.v1 import dealer_service_pb2_grpc as rpc
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.keyring import FOLDERS, KeyRing
from tests.support.service_process import ServiceProcess, process_of


class DealerProcess(ServiceProcess[rpc.DealerServiceStub]):
    name = "dealer"

    def __init__(self, url: str, folder: Path, log: RedisEventLog) -> None:
        super().__init__(url, folder, log, rpc.DealerServiceStub)

    @property
    def ring(self) -> KeyRing:
        return KeyRing.load(self.keys_dir, *FOLDERS)


@contextlib.asynccontextmanager
async def dealing(url: str, folder: Path) -> AsyncIterator[tuple[DealerProcess, RedisEventLog]]:
    async with process_of(DealerProcess, url, folder) as dealer:
        yield dealer, dealer.log

"""A real wallet on a real server."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_eventlog.redis_streams import RedisEventLog
from tests.support.service_process import ServiceProcess, process_of


class WalletProcess(ServiceProcess[rpc.WalletServiceStub]):
    name = "wallet"
    environ = {"STUD_CURRENCIES": "EUR,XTS"}  # noqa: RUF012  (as the class that it comes from says)

    def __init__(self, url: str, folder: Path, log: RedisEventLog) -> None:
        super().__init__(url, folder, log, rpc.WalletServiceStub)


@contextlib.asynccontextmanager
async def banking(url: str, folder: Path) -> AsyncIterator[tuple[WalletProcess, RedisEventLog]]:
    async with process_of(WalletProcess, url, folder) as wallet:
        yield wallet, wallet.log

"""A wallet whose start takes its time: `python -m tests.support.system_slow`.

STUD_TEST_SLOW_S: for so many seconds it reads a piece of its log again and again, as one does that has a long log.
STUD_TEST_SILENT: then it does nothing any more and never serves.
"""

import asyncio
import os
import sys

from stud_eventlog import keys
from stud_eventlog.types import Append
from stud_service.run import run
from stud_service.runtime import Runtime
from wallet_service.app import WalletApp


class SlowApp(WalletApp):
    """The wallet, after a while."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._slow_runtime = runtime

    async def start(self) -> None:
        log, stream = self._slow_runtime.log, keys.deck_log(0, "slow")
        head = await log.head(stream)
        await log.append(Append(stream, head.version, head.hash, os.urandom(16), b"something"))
        for _ in range(int(float(os.environ.get("STUD_TEST_SLOW_S", "0")) * 10)):
            await log.read(stream)
            await asyncio.sleep(0.1)
        if "STUD_TEST_SILENT" in os.environ:
            await asyncio.Event().wait()
        await super().start()


if __name__ == "__main__":
    sys.exit(run("wallet", SlowApp))

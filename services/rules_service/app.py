"""The rules service: the referee of every finished hand, and rules for front ends and tools."""

from __future__ import annotations

import grpc

from rules_service.referee import Referee, table_of
from rules_service.resolving import Resolver
from rules_service.servicer import RulesServicer
from stud.rules.v1 import rules_service_pb2_grpc as rpc
from stud_service.feeds import FeedReader
from stud_service.keyring import KeyRing
from stud_service.retrying import patiently
from stud_service.runtime import Runtime

GATHER_S = 0.025
"""What tables have said within this time is read at once: a verdict has the pause between two hands."""


class RulesApp:
    """Wires the referee's key, the verdict logs, the feed reader and the gRPC servicer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.referee = Referee(runtime, KeyRing.load(runtime.keys_dir, "referee").key("referee"))
        self.resolver = Resolver(runtime, self.referee)

    async def start(self) -> None:
        """Fold what was said so far, then listen to the dealer."""
        await patiently(self.referee.load, self._runtime.log, what="fold verdicts")
        reader = FeedReader(self._runtime, self.referee.handle, table_of, gather_s=GATHER_S)
        self._runtime.spawn(reader.run(), "dealer feeds")
        self._runtime.spawn(self.referee.waiting.retry_on(), "retries")

    def register(self, server: grpc.aio.Server) -> None:
        """Add RulesService to the server."""
        rpc.add_RulesServiceServicer_to_server(RulesServicer(self._runtime, self.referee, self.resolver), server)

    async def stop(self) -> None:
        """Finish writing what was decided; what was only read will be read again."""
        await self.referee.close()

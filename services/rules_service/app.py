"""The rules service: the referee of every finished hand, and rules for front ends and tools."""

from __future__ import annotations

import grpc

from rules_service.referee import Referee, table_of
from rules_service.resolving import Resolver
from rules_service.servicer import RulesServicer
from stud.rules.v1 import rules_service_pb2_grpc as rpc
from stud_service.feeds import FeedReader
from stud_service.keyring import KeyRing
from stud_service.kit import Kit
from stud_service.retrying import patiently


class RulesApp:
    """Wires the referee's key, the verdict logs, the feed reader and the gRPC servicer."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self.referee = Referee(kit, KeyRing.load(kit.keys_dir, "referee").key("referee"))
        self.resolver = Resolver(kit, self.referee)

    async def start(self) -> None:
        """Fold what was said so far, then listen to the dealer."""
        await patiently(self.referee.load, self._kit.log, what="fold verdicts")
        reader = FeedReader(self._kit, self.referee.handle, table_of)
        self._kit.spawn(reader.run(), "dealer feeds")
        self._kit.spawn(self.referee.waiting.retry_on(), "retries")

    def register(self, server: grpc.aio.Server) -> None:
        """Add RulesService to the server."""
        rpc.add_RulesServiceServicer_to_server(RulesServicer(self._kit, self.referee, self.resolver), server)

    async def stop(self) -> None:
        """Finish writing what was decided; what was only read will be read again."""
        await self.referee.close()

"""The dealer service: owns the deck of every hand; listens to the tables."""

from __future__ import annotations

import grpc

from dealer_service.listening import Listener, table_of
from dealer_service.seeds import KEYS, Seeds
from dealer_service.servicer import DealerServicer
from dealer_service.shoe import Shoes
from stud.dealer.v1 import dealer_service_pb2_grpc as rpc
from stud_service.feeds import FeedReader
from stud_service.keyring import KeyRing
from stud_service.runtime import Runtime


class DealerApp:
    """Wires keys, shoes, the feed reader and the gRPC servicer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._seeds = Seeds(KeyRing.load(runtime.keys_dir, *KEYS))
        self.shoes = Shoes(runtime, self._seeds)

    async def start(self) -> None:
        """Listen to the tables of all shards. Decks are read when a table's first message comes."""
        listener = Listener(self._runtime, self._seeds, self.shoes)
        reader = FeedReader(self._runtime, listener.handle, table_of)
        self._runtime.spawn(reader.run(), "table feeds")

    def register(self, server: grpc.aio.Server) -> None:
        """Add DealerService to the server."""
        rpc.add_DealerServiceServicer_to_server(DealerServicer(self._runtime, self._seeds, self.shoes), server)

    async def stop(self) -> None:
        """Nothing to finish: what was taken in hand is durable or will be read again."""

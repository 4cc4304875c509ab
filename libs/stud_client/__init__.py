"""The typed async client: what front ends, bots and tools use to talk to the four services.

    async with StudClient(load_endpoints(), token) as client:
        async for page in pages(client.tables.ListTables, pb.ListTablesRequest()):
            print([line.table for line in page.tables])
        async with client.play("t-1") as session:
            async for update in session:
                if update.mine.turn_id:
                    await session.act(update.mine.turn_id, seat_pb2.VERB_CALL)

Every refusal is a StudError with the reason of the catalogue (stud/errors/v1/reasons.proto).
"""

import os

# gRPC reads it while it is being imported, so import this package first: with asyncio its old poller carries a fifth
# more messages than its EventEngine. A value that is there already wins.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")

from stud_client.client import StudClient
from stud_client.endpoints import Endpoints, load_endpoints
from stud_client.errors import StudError
from stud_client.following import Watching
from stud_client.keeping import Account, Lobby, Me
from stud_client.paging import pages
from stud_client.session import TableSession
from stud_client.several import SeveralTables

__all__ = [
    "Account",
    "Endpoints",
    "Lobby",
    "Me",
    "SeveralTables",
    "StudClient",
    "StudError",
    "TableSession",
    "Watching",
    "load_endpoints",
    "pages",
]

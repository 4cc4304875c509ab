"""A table that is over, as it is shown: from its first commit, its last one and its row of the lobby.

Nothing is folded, so a look at a closed table costs three short reads. What only a fold knows is left out: the
button, the last commitment and how the last hand ended.
"""

from __future__ import annotations

import asyncio

from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import TableOpened
from stud_core.state import Life, Table
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import commit_at
from stud_eventlog.types import NO_HASH, ChainBroken
from stud_service.log_writer import behind
from stud_wire.commits import decode_commit
from table_service import updates, views


async def closed_table(log: CommitLog, row: pb.TableSummary) -> updates.Step:
    """Return the full view of a closed table. Raises ChainBroken and WireError for a log that cannot be trusted, and
    Refused(LOG_BEHIND) for one that ends before the row was written.
    """
    stream = keys.table_log(keys.shard_of(row.table), row.table)
    begun, head = await asyncio.gather(log.read(stream, limit=2), log.head(stream))
    if head.version < row.version:
        raise behind(stream)
    ended = await commit_at(log, stream, head.version)
    if not begun or begun[0].version != 1 or begun[0].prev_hash != NO_HASH:
        raise ChainBroken(stream, 1, "it is not the first of its log")
    if len(begun) > 1 and begun[1].prev_hash != begun[0].hash:
        raise ChainBroken(stream, 2, "its prev_hash should be the hash of the commit before it")
    if ended is None or ended.head != head:
        raise ChainBroken(stream, head.version, "it is not what the log says of its end")
    opened = decode_commit(begun[0].body).events[0]
    if not isinstance(opened, TableOpened):
        raise ChainBroken(stream, 1, "it should open the table")
    table = Table(
        config=opened.config,
        version=head.version,
        life=Life.CLOSED,
        paused=row.paused,
        hand_no=row.hand_no,
        ended_hand=row.hand_no,
        verified_hand=row.hand_no,  # a table closes when nobody is owed a verdict
    )
    view = views.PublicView().draw(table)
    return updates.present(opened.config.table_id, view, head, decode_commit(ended.body).meta.at_ms)

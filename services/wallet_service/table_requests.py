"""What a table has asked for a sitting, from the table's own log: for requests that never reached the ledger.

An operator may drop a table's parked line. Then the money of everybody who asked behind the message that could not be
handled stays in escrow, and nothing will ever ask for it again. The table's log still has what was asked.
"""

from __future__ import annotations

from typing import Any

from stud_core import events as te
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import read_backwards
from stud_wire.commits import decode_commit

REQUESTS = (te.BuyInRequested, te.TopUpRequested, te.CashOutRequested)


async def requests_of(log: CommitLog, table: str, sitting_no: int) -> list[tuple[int, Any]]:
    """Return (version, event) of each request of a sitting, in order.

    Read from the end, back to the buy-in with which every sitting begins: a table's log is long. Raises EventLogError.
    """
    found: list[tuple[int, Any]] = []
    async for stored in read_backwards(log, keys.table_log(keys.shard_of(table), table)):
        for event in reversed(decode_commit(stored.body).events):
            if isinstance(event, REQUESTS) and event.sitting_no == sitting_no:
                found.insert(0, (stored.version, event))
                if isinstance(event, te.BuyInRequested):
                    return found
    return found

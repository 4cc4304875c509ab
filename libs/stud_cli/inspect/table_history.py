"""Reads a table's history from its log: what `stud replay` and `stud verify` are made of."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from stud_core.evolve import evolve
from stud_core.state import Table
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.types import StoredCommit
from stud_wire.commits import DecodedCommit, decode_commit


class Step(msgspec.Struct):
    """One commit and the table after it."""

    stored: StoredCommit
    commit: DecodedCommit
    table: Table


async def steps(log: CommitLog, table_id: str) -> AsyncIterator[Step]:
    """Fold a table's log commit by commit. Raises ChainBroken, WireError, ValueError (no table id)."""
    stream = keys.table_log(keys.shard_of(keys.check_table_id(table_id)), table_id)
    table = Table()
    async for stored in log.read_all(stream):
        commit = decode_commit(stored.body)
        table = evolve(table, commit.events, stored.version)
        yield Step(stored, commit, table)

"""A table of one's own: opened for play money, held until everybody sits, and closed when the player has gone."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import msgspec

from stud.table.v1 import table_service_pb2 as pb
from stud_client import StudClient, StudError
from stud_core.amounts import TEST_CURRENCY

HAND_PAUSE_MS: Final = 5000
"""Long enough to see who won with what."""

CLOCKS: Final = ("action_clock_ms", "ante_clock_ms", "show_clock_ms")
CLOSED_WITHIN_S: Final = 30.0


class TablePlan(msgspec.Struct, frozen=True):
    """What to open. Amounts in minor units; ``clock_s`` is for every answer, 0 = without a deadline; ``knobs`` replace
    others of the ruleset's.
    """

    table: str
    ruleset: str
    small_bet: int
    clock_s: int
    hand_pause_ms: int = HAND_PAUSE_MS
    currency: str = TEST_CURRENCY
    knobs: dict[str, int] = {}


async def open_table(operator: StudClient, plan: TablePlan) -> pb.TableView:
    """Open a table, paused until everybody sits (`begin`). Raises StudError."""
    knobs = {**dict.fromkeys(CLOCKS, plan.clock_s * 1000), **plan.knobs}
    request = pb.CreateTableRequest(
        table=plan.table,
        name=f"Table {plan.table}",
        currency=plan.currency,
        preset=plan.ruleset,
        small_bet=plan.small_bet,
        hand_pause_ms=plan.hand_pause_ms,
        override_fields=list(knobs),
    )
    for name, value in knobs.items():
        setattr(request.ruleset, name, value)
    await operator.tables.CreateTable(request)
    await operator.tables.PauseTable(pb.PauseTableRequest(table=plan.table, reason="everybody sits down"))
    return await look(operator, plan.table)


async def look(client: StudClient, table: str) -> pb.TableView:
    """Return a table as it is. Raises StudError."""
    return (await client.tables.GetTable(pb.GetTableRequest(table=table))).update.view


async def begin(operator: StudClient, table: str) -> None:
    """Let the first hand begin. Raises StudError."""
    await operator.tables.ResumeTable(pb.ResumeTableRequest(table=table))


async def close_table(operator: StudClient, table: str) -> bool:
    """Have the running hand finished and everybody paid; return whether that came about in time."""
    with contextlib.suppress(StudError, TimeoutError):
        async with asyncio.timeout(CLOSED_WITHIN_S):
            with contextlib.suppress(StudError):  # closed already
                await operator.tables.CloseTable(pb.CloseTableRequest(table=table))
            async with operator.watch(table) as watching:
                async for update in watching:
                    if update.view.life == pb.TABLE_LIFE_CLOSED:
                        return True
    return False

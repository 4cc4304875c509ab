"""Messages from the house: ``stud table message`` and ``stud account message``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.operate.options import Account, TableId

HOUR_MS = 3_600_000

Text = Annotated[str, typer.Argument(help="What it says, 1 to 500 characters.")]
Hours = Annotated[int, typer.Option(min=1, max=24, help="Hours for which it is kept.")]


@operated("operator", decides=True)
async def to_table(desk: Desk, table: TableId, text: Text, hours: Hours = 24) -> Told:
    """Send a message from the house to everybody who has a sitting at a table now. A restart of the service forgets it.

    Example: stud table message t-1 "a break at ten" --as olga
    """
    return await _send(desk, text, hours, table=table)


@operated("operator", decides=True)
async def to_account(desk: Desk, account: Account, text: Text, hours: Hours = 24) -> Told:
    """Send a message from the house to an account. A restart of the table service forgets it.

    Example: stud account message ada "your documents have come" --as olga
    """
    return await _send(desk, text, hours, account=account)


async def _send(desk: Desk, text: str, hours: int, **whom: Any) -> Told:
    request = pb.SendHouseMessageRequest(text=text, keep_ms=hours * HOUR_MS, **whom)
    answer = await desk.decide(desk.client.tables.SendHouseMessage, request)
    value = {
        "message_no": answer.message_no,
        "accounts": answer.accounts,
        "watching": answer.watching,
        "request_id": desk.request_id,
    }
    number = "1 account" if answer.accounts == 1 else f"{answer.accounts} accounts"
    return Told(value, f"sent to {number}, of which {answer.watching} see it now")

"""``stud cashout``: cash-outs that are held, since claim and escrow differ, and what two operators pay."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.drawing import money
from stud_cli.operate.completing import tables
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.operate.options import Amount, Reason, TableId
from stud_cli.output import table_of
from stud_client import pages

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Cash-outs that are held, and what two operators pay. Example: stud cashout list",
)
COLUMNS = ("table", "sitting", "player", "claim", "escrow", "waits for")


@app.command("list")
@operated("operator", "auditor")
async def list_held(
    desk: Desk,
    currency: Annotated[str, typer.Option(help="Only this currency.", show_default="all that are served")] = "",
    table: Annotated[str, typer.Option(help="Only this table's.", autocompletion=tables)] = "",
) -> Told:
    """List cash-outs that are held: what the table claims, what the escrow has, and what has to be decided before.

    Example: stud cashout list --currency EUR
    """
    request = wallet.ListHeldCashOutsRequest(currency=currency, table=table)
    held = [line async for page in pages(desk.client.wallet.ListHeldCashOuts, request) for line in page.held]
    rows = [
        (
            line.table,
            line.sitting_no,
            line.account,
            f"{money(line.claim)} {line.currency}" if line.HasField("claim") else "for another account",
            f"{money(line.escrow)} {line.currency}",
            line.waits_for or "two operators",
        )
        for line in held
    ]
    return Told(
        {"held": [_plain(line) for line in held]}, table_of("Held cash-outs", COLUMNS, rows, right=COLUMNS[1:2])
    )


def _plain(line: wallet.HeldCashOut) -> dict[str, Any]:
    return {
        "currency": line.currency,
        "table": line.table,
        "sitting_no": line.sitting_no,
        "account": line.account,
        "claim": line.claim if line.HasField("claim") else None,
        "escrow": line.escrow,
        "waits_for": line.waits_for,
    }


@app.command()
@operated("operator", decides=True, asks=True)
async def resolve(
    desk: Desk,
    table: TableId,
    sitting_no: Annotated[int, typer.Argument(help="Sitting, as `stud cashout list` has it.", min=1)],
    amount: Amount,
    reason: Reason,
    currency: Annotated[str, typer.Option(help="Currency code.", show_default="the table's")] = "",
) -> Told:
    """Pay a held cash-out: one operator proposes an amount, the same call by another decides.

    What the escrow lacks or has too much is booked against the cashier.

    Example: stud cashout resolve t-1 3 12500 --reason "claim as in the log" --as olga
    """
    if not currency:
        currency = (await desk.client.tables.GetTable(pb.GetTableRequest(table=table))).update.view.config.currency
        desk.filled(currency=currency)
    if desk.asks:
        held = await _held(desk, currency, table, sitting_no)
        desk.sure(
            f"{held}{money(amount)} {currency} is paid for sitting {sitting_no} of {table}, once two operators say so."
        )
    request = wallet.ResolveCashOutRequest(
        currency=currency, table=table, sitting_no=sitting_no, amount=amount, reason=reason
    )
    answer = await desk.decide(desk.client.wallet.ResolveCashOut, request)
    value = {
        "currency": currency, "table": table, "sitting_no": sitting_no, "amount": amount, "decided": answer.decided,
        "version": answer.version, "request_id": desk.request_id,
    }  # fmt: skip
    if answer.decided:
        return Told(value, f"sitting {sitting_no} of {table} is paid {money(amount)} {currency}")
    return Told(value, "proposed: a second operator has to make the same call (`stud proposals` prints it)")


async def _held(desk: Desk, currency: str, table: str, sitting_no: int) -> str:
    """Say what is held there, before anybody is asked."""
    request = wallet.ListHeldCashOutsRequest(currency=currency, table=table)
    async for page in pages(desk.client.wallet.ListHeldCashOuts, request):
        for line in page.held:
            if line.sitting_no == sitting_no:
                claim = money(line.claim) if line.HasField("claim") else "nothing for this account"
                return f"The table claims {claim} for {line.account}, the escrow has {money(line.escrow)}. "
    return ""

"""``stud account``: open and show accounts, freeze them, book deposits, withdrawals and corrections."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from typing import Annotated, Any

import typer
from google.protobuf import json_format
from rich.console import Group
from rich.text import Text

from stud.events.v1 import ledger_events_pb2
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.drawing import money
from stud_cli.exit_codes import could_not_run
from stud_cli.operate.desk import Desk, Told, operated
from stud_cli.operate.knobs import whole
from stud_cli.operate.messages import to_account
from stud_cli.operate.options import Account, Amount, Currency, Reason
from stud_cli.output import notes, table_of
from stud_client import StudError, pages

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Accounts and their money. Example: stud account show ada --currency EUR",
)
app.command("message")(to_account)
Reference = Annotated[str, typer.Option("--reference", help="Payment reference, at most 128 characters.")]
LINES = ("version", "when", "what", "table", "hand", "account", "amount")
MAX_PAGE = 1000
MOST_PAGES = 20
"""Of an account's entries that are searched for a reference."""

PLAYER = "player:"


@app.command("open")
@operated("cashier", "operator", decides=True)
async def open_account(desk: Desk, account: Account, currency: Currency) -> Told:
    """Open an account; one that is open stays as it is.

    Example: stud account open ada --currency EUR --as carl
    """
    request = wallet.OpenAccountRequest(currency=currency, account=account)
    answer = await desk.decide(desk.client.wallet.OpenAccount, request)
    return _booked(desk, account, currency, answer.version, f"{account} has an account in {currency}")


@app.command()
@operated("operator", "cashier", "auditor")
async def show(desk: Desk, account: Account, currency: Currency) -> Told:
    """Show an account: balance, money at tables, and whether it is frozen.

    Example: stud account show ada --currency EUR
    """
    answer = await desk.client.wallet.GetAccount(wallet.GetAccountRequest(currency=currency, account=account))
    frozen = ", frozen: no withdrawal, no buy-in" if answer.frozen else ""
    lines: list[Any] = [Text(f"{account}: {money(answer.balance)} {currency}{frozen}")]
    if answer.escrows:
        rows = [
            (line.table, line.sitting_no, money(line.balance), "yes" if line.held else "") for line in answer.escrows
        ]
        lines.append(table_of("At tables", ("table", "sitting", "escrow", "held"), rows, right=("sitting", "escrow")))
    escrows = [
        {"table": line.table, "sitting_no": line.sitting_no, "balance": line.balance, "held": line.held}
        for line in answer.escrows
    ]
    value = {"account": account, "currency": currency, "balance": answer.balance, "frozen": answer.frozen}
    return Told({**value, "escrows": escrows, "version": answer.version}, Group(*lines))


@app.command()
@operated("operator", decides=True)
async def freeze(desk: Desk, account: Account, currency: Currency, reason: Reason) -> Told:
    """Freeze an account: no withdrawal, no buy-in; hands go on.

    Example: stud account freeze ada --currency EUR --reason "asked by the bank" --as olga
    """
    request = wallet.FreezeAccountRequest(currency=currency, account=account, reason=reason)
    answer = await desk.decide(desk.client.wallet.FreezeAccount, request)
    return _booked(desk, account, currency, answer.version, f"{account} is frozen in {currency}")


@app.command()
@operated("operator", decides=True)
async def unfreeze(desk: Desk, account: Account, currency: Currency, reason: Reason) -> Told:
    """Free a frozen account.

    Example: stud account unfreeze ada --currency EUR --reason "cleared" --as olga
    """
    request = wallet.UnfreezeAccountRequest(currency=currency, account=account, reason=reason)
    answer = await desk.decide(desk.client.wallet.UnfreezeAccount, request)
    return _booked(desk, account, currency, answer.version, f"{account} is free in {currency}")


@app.command()
@operated("cashier", decides=True)
async def deposit(desk: Desk, account: Account, amount: Amount, currency: Currency, reference: Reference = "") -> Told:
    """Book money that came in.

    Example: stud account deposit ada 200000 --currency EUR --reference "wire 4711" --as carl
    """
    request = wallet.DepositRequest(currency=currency, account=account, amount=amount, reference=reference)
    answer = await desk.decide(desk.client.wallet.Deposit, request)
    shown = f"{money(amount)} {currency} came in: {account} has {money(answer.balance)}"
    return _booked(desk, account, currency, answer.version, shown, balance=answer.balance)


@app.command()
@operated("cashier", decides=True)
async def withdraw(desk: Desk, account: Account, amount: Amount, currency: Currency, reference: Reference = "") -> Told:
    """Book money that went out.

    Example: stud account withdraw ada 50000 --currency EUR --reference "wire 4712" --as carl
    """
    request = wallet.WithdrawRequest(currency=currency, account=account, amount=amount, reference=reference)
    answer = await desk.decide(desk.client.wallet.Withdraw, request)
    shown = f"{money(amount)} {currency} went out: {account} has {money(answer.balance)}"
    return _booked(desk, account, currency, answer.version, shown, balance=answer.balance)


@app.command()
@operated("operator", decides=True, asks=True)
async def adjust(
    desk: Desk,
    lines: Annotated[
        list[str],
        typer.Argument(
            help="LEDGER_ACCOUNT=AMOUNT, minor units, two or more that sum to zero: player:ada=-500 house:cashier=500. "
            "Of a sitting it is escrow:TABLE:SITTING, of the rake house:rake."
        ),
    ],
    currency: Currency,
    reference: Annotated[
        str, typer.Option("--reference", help="Why, 1 to 500 characters: the second call has the same.")
    ],
) -> Told:
    """Correct the ledger: the first operator proposes, the same call by another decides.

    Example: stud account adjust player:ada=-500 house:cashier=500 --currency EUR --reference "ticket 12" --as olga
    """
    postings = [_posting(line) for line in lines]
    shown = ", ".join(f"{line.account} {money(line.amount)}" for line in postings)
    warning = await _decided_before(desk, postings, currency, reference)
    if warning and not desk.asks:
        notes.print(warning, markup=False, soft_wrap=True)
    desk.sure(f"{warning}{' ' * bool(warning)}Book {shown} {currency}, once two operators say so.")
    request = wallet.AdjustRequest(currency=currency, postings=postings, reference=reference)
    answer = await desk.decide(desk.client.wallet.Adjust, request)
    value = {"currency": currency, "decided": answer.decided, "version": answer.version, "request_id": desk.request_id}
    if answer.decided:
        return Told(value, f"booked: {shown} {currency}")
    return Told(value, "proposed: a second operator has to make the same call (`stud proposals` prints it)")


async def _decided_before(desk: Desk, postings: list[ledger_events_pb2.Posting], currency: str, reference: str) -> str:
    """Warn of a correction with the same reference that was booked already, by the entries of the first player."""
    account = next((line.account.removeprefix(PLAYER) for line in postings if line.account.startswith(PLAYER)), "")
    if not account:
        return ""
    request = wallet.ListTransfersRequest(currency=currency, account=account, page_size=MAX_PAGE)
    looked = 0
    with suppress(StudError):  # the call itself is refused for the same reason, in better words
        async for page in pages(desk.client.wallet.ListTransfers, request):
            for entry in page.transfers:
                if entry.kind == "Adjusted" and entry.reference.strip() == reference.strip():
                    return f"{reference.strip()!r} was booked already, at version {entry.version} of the ledger."
            looked += 1
            if looked == MOST_PAGES:
                return f"Only the first {looked * MAX_PAGE} entries of {account} were searched for this reference."
    return ""


def _posting(line: str) -> ledger_events_pb2.Posting:
    name, equals, text = line.rpartition("=")
    amount = whole(text)
    if not (name and equals) or amount is None:
        could_not_run(f"{line[:80]!r}: want LEDGER_ACCOUNT=AMOUNT in minor units, such as player:ada=-500")
    return ledger_events_pb2.Posting(account=name, amount=amount)


@app.command()
@operated("operator", "cashier", "auditor")
async def transfers(
    desk: Desk,
    account: Account,
    currency: Currency,
    after: Annotated[int, typer.Option(help="Only entries after this version of the ledger.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="Entries at most.", min=1, max=MAX_PAGE)] = 100,
) -> Told:
    """List entries that touch an account, oldest first; where there are more, go on after the last version.

    Example: stud account transfers ada --currency EUR --limit 20
    """
    request = wallet.ListTransfersRequest(currency=currency, account=account, after_version=after, page_size=limit)
    answer = await desk.client.wallet.ListTransfers(request)
    rows = [
        (
            entry.version,
            _when(entry.at_ms),
            entry.kind,
            entry.table,
            entry.hand_no or "",
            line.account,
            money(line.amount),
        )
        for entry in answer.transfers
        for line in entry.postings
    ]
    more = bool(answer.next_page_token)
    shown: list[Any] = [table_of(f"{account} in {currency}", LINES, rows, right=("version", "hand", "amount"))]
    if more:
        shown.append(Text(f"there are more: --after {answer.transfers[-1].version}"))
    return Told({"transfers": [_plain(entry) for entry in answer.transfers], "more": more}, Group(*shown))


def _when(at_ms: int) -> str:
    return f"{dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC):%Y-%m-%d %H:%M:%S}"


def _plain(entry: wallet.Transfer) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(entry, preserving_proto_field_name=True)
    return plain


def _booked(desk: Desk, account: str, currency: str, version: int, shown: str, **more: Any) -> Told:
    value = {"account": account, "currency": currency, "version": version, "request_id": desk.request_id}
    return Told({**value, **more}, shown)

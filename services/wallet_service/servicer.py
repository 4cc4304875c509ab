"""WalletService over gRPC."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc

from stud.events.v1 import ledger_events_pb2
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.decide import booked
from stud_core.ledger.names import player
from stud_core.ledger.postings import postings_of
from stud_core.ledger.state import SittingLife
from stud_eventlog.log import EventLog
from stud_service.checks import require_request_id, require_text
from stud_service.identity import caller, require
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit, digest
from wallet_service.book import Book, Done

Context = grpc.aio.ServicerContext[Any, Any]
MAX_AMOUNT = 10**15
MAX_REFERENCE = 128
MAX_REASON = 500
MAX_LINES = 100
_ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


class WalletServicer(rpc.WalletServiceServicer):
    """Thin: checks roles and ranges, submits one command to the currency's book."""

    def __init__(
        self, log: EventLog, books: Mapping[str, Book], settle: Callable[[Book, str], Awaitable[None]]
    ) -> None:
        self._log = log
        self._books = books
        self._settle = settle

    def _book(self, currency: str) -> Book:
        book = self._books.get(currency)
        if book is None:
            raise Refused("UNKNOWN_CURRENCY", f"currency {currency[:8]!r}: want one of {', '.join(self._books)}")
        return book

    # -------------------------------------------------------------- accounts

    async def OpenAccount(self, request: pb.OpenAccountRequest, context: Context) -> pb.OpenAccountResponse:
        who = require("player", "cashier", "operator")
        account = request.account or who.account
        if account != who.account:
            require("cashier", "operator")
        command = cmd.OpenAccount(_account(account), require_request_id(request.request_id))
        done = await self._book(request.currency).submit(command, actor=who.account, **_once(request))
        return pb.OpenAccountResponse(account=account, version=done.version)

    async def GetAccount(self, request: pb.GetAccountRequest, context: Context) -> pb.GetAccountResponse:
        account = self._own_or(request.account, "cashier", "operator", "auditor")
        book = self._book(request.currency)
        state = book.state
        _known(book, account)
        answer = pb.GetAccountResponse(
            account=account,
            balance=state.balance(player(account)),
            frozen=account in state.frozen,
            version=book.head.version,
        )
        for (table, sitting_no), sitting in state.sittings.items():
            if sitting.account == account and sitting.life in {SittingLife.OPEN, SittingLife.BLOCKED}:
                answer.escrows.add(
                    table=table,
                    sitting_no=sitting_no,
                    balance=state.balance(f"escrow:{table}:{sitting_no}"),
                    held=sitting.life is SittingLife.BLOCKED or table in state.blocked,
                )
        return answer

    def _own_or(self, account: str, *roles: str) -> str:
        """Return the account asked for; somebody else's needs one of the roles."""
        who = caller()
        if not account or account == who.account:
            return who.account
        require(*roles)
        return account

    async def Deposit(self, request: pb.DepositRequest, context: Context) -> pb.DepositResponse:
        done = await self._money(request, cmd.Deposit)
        return pb.DepositResponse(balance=done.balance, version=done.version)

    async def Withdraw(self, request: pb.WithdrawRequest, context: Context) -> pb.WithdrawResponse:
        done = await self._money(request, cmd.Withdraw)
        return pb.WithdrawResponse(balance=done.balance, version=done.version)

    async def _money(self, request: Any, kind: type[cmd.Deposit | cmd.Withdraw]) -> Done:
        who = require("cashier")
        if not 1 <= request.amount <= MAX_AMOUNT:
            text = f"amount {request.amount}: want 1 to {MAX_AMOUNT} minor units"
            raise Refused("INVALID_FIELD", text, field="amount", min="1", max=str(MAX_AMOUNT))
        _short(request.reference, "reference", MAX_REFERENCE)
        request_id = require_request_id(request.request_id)
        command = kind(_account(request.account), request.amount, request.reference, request_id, who.account)
        book = self._book(request.currency)
        done = await book.submit(command, actor=who.account, account=request.account)
        first = booked(book.state, command)
        return done if first is None else Done(done.events, first.version, first.balance)

    # ------------------------------------------------------------- reading

    async def ListTransfers(self, request: pb.ListTransfersRequest, context: Context) -> pb.ListTransfersResponse:
        account = self._own_or(request.account, "auditor", "operator", "cashier")
        if not 0 <= request.limit <= 1000 or request.after_version < 0:
            raise Refused("INVALID_FIELD", "want a limit of 1 to 1000 and after_version of 0 or more", field="limit")
        book = self._book(request.currency)
        _known(book, account)
        answer = pb.ListTransfersResponse()
        async for stored in self._log.read_all(book.stream, after=request.after_version):
            commit = decode_commit(stored.body)
            for event in commit.events:
                if _touches(event, account):
                    _put_transfer(answer, event, stored.version, commit.meta.at_ms)
            if len(answer.transfers) >= (request.limit or 100):
                break
        return answer

    async def GetTrialBalance(self, request: pb.GetTrialBalanceRequest, context: Context) -> pb.GetTrialBalanceResponse:
        require("operator", "cashier", "auditor")
        book = self._book(request.currency)
        balances: dict[str, int] = defaultdict(int)
        version = 0
        async for stored in self._log.read_all(book.stream):
            version = stored.version
            for event in decode_commit(stored.body).events:
                for line in postings_of(event):
                    balances[line.account] += line.amount
        return pb.GetTrialBalanceResponse(
            balances=[pb.Balance(account=name, balance=amount) for name, amount in sorted(balances.items()) if amount],
            sum=sum(balances.values()),
            liabilities=sum(amount for name, amount in balances.items() if not name.startswith("house:")),
            version=version,
        )

    # ----------------------------------------------------------- operators

    async def FreezeAccount(self, request: pb.FreezeAccountRequest, context: Context) -> pb.FreezeAccountResponse:
        who = require("operator")
        reason = require_text(request.reason, "reason", MAX_REASON)
        command = cmd.FreezeAccount(request.account, who.account, reason)
        done = await self._book(request.currency).submit(command, actor=who.account, **_once(request))
        return pb.FreezeAccountResponse(version=done.version)

    async def UnfreezeAccount(self, request: pb.UnfreezeAccountRequest, context: Context) -> pb.UnfreezeAccountResponse:
        who = require("operator")
        reason = require_text(request.reason, "reason", MAX_REASON)
        command = cmd.UnfreezeAccount(request.account, who.account, reason)
        done = await self._book(request.currency).submit(command, actor=who.account, **_once(request))
        return pb.UnfreezeAccountResponse(version=done.version)

    async def ResolveCashOut(self, request: pb.ResolveCashOutRequest, context: Context) -> pb.ResolveCashOutResponse:
        who = require("operator")
        reason = require_text(request.reason, "reason", MAX_REASON)
        if not 0 <= request.amount <= MAX_AMOUNT:
            raise Refused("INVALID_FIELD", f"amount {request.amount}: want 0 to {MAX_AMOUNT}", field="amount")
        command = cmd.ResolveCashOut(request.table, request.sitting_no, request.amount, who.account, reason)
        done = await self._book(request.currency).submit(command, actor=who.account, **_once(request))
        return pb.ResolveCashOutResponse(decided=_decided(done), version=done.version)

    async def Adjust(self, request: pb.AdjustRequest, context: Context) -> pb.AdjustResponse:
        who = require("operator")
        reference = require_text(request.reference, "reference", MAX_REASON)
        if len(request.postings) > MAX_LINES:
            raise Refused("INVALID_ADJUSTMENT", f"{len(request.postings)} lines: want at most {MAX_LINES}")
        lines = tuple(ev.Posting(line.account, line.amount) for line in request.postings)
        book = self._book(request.currency)
        done = await book.submit(cmd.Adjust(lines, who.account, reference), actor=who.account, **_once(request))
        if _decided(done):
            for table in list(book.state.blocked):
                await self._settle(book, table)
        return pb.AdjustResponse(decided=_decided(done), version=done.version)


def _once(request: Any) -> dict[str, Any]:
    """Return what makes a write happen once: its request id and a digest of its content."""
    content = digest((request.DESCRIPTOR.full_name.encode(), request.SerializeToString(deterministic=True)))
    return {"request_id": require_request_id(request.request_id), "digest": content}


def _decided(done: Done) -> bool:
    return any(isinstance(event, ev.Adjusted) for event in done.events)


def _account(name: str) -> str:
    if not _ACCOUNT.fullmatch(name):
        raise Refused("INVALID_FIELD", "account: want 1 to 64 letters, digits and _ . @ -", field="account")
    return name


def _known(book: Book, account: str) -> None:
    if account not in book.state.accounts:
        raise Refused("UNKNOWN_ACCOUNT", f"there is no account {account[:64]!r}: open it first")


def _short(value: str, field: str, limit: int) -> None:
    if len(value) > limit:
        raise Refused("INVALID_FIELD", f"{field}: want at most {limit} characters", field=field)


def _touches(event: Any, account: str) -> bool:
    if getattr(event, "account", None) == account:
        return bool(postings_of(event))
    if isinstance(event, ev.HandSettled):
        return any(posting.account == account for posting in event.postings)
    return any(line.account == player(account) for line in postings_of(event))


def _put_transfer(answer: pb.ListTransfersResponse, event: Any, version: int, at_ms: int) -> None:
    answer.transfers.add(
        version=version,
        at_ms=at_ms,
        kind=type(event).__name__,
        table=getattr(event, "table", ""),
        hand_no=getattr(event, "hand_no", 0),
        reference=getattr(event, "reference", ""),
        postings=[ledger_events_pb2.Posting(account=line.account, amount=line.amount) for line in postings_of(event)],
    )

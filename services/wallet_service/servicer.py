"""WalletService over gRPC."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Protocol

import grpc
import msgspec
import structlog

from stud.wallet.v1 import wallet_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_core.amounts import MAX_AMOUNT
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.interest import own_interest
from stud_core.ledger.names import escrow, player
from stud_core.ledger.state import Ledger, SittingLife
from stud_eventlog.log import CommitLog
from stud_eventlog.types import ChainBroken, EventLogError
from stud_service.checks import require_account, require_request_id, require_table, require_text
from stud_service.feeds import Poison
from stud_service.identity import caller, require
from stud_service.limits import Limit, Places
from stud_service.pages import MAX_PAGE, make_token, page_size, read_token, wrong_token
from stud_service.refusals import Refused
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit
from wallet_service.account_index import runs
from wallet_service.account_watch import AccountWatch
from wallet_service.book import Book, Done
from wallet_service.sums import Sums
from wallet_service.transfers import READ_S, read_transfers
from wallet_service.verdicts import Verdicts
from wallet_service.waiting import held_after, held_cash_out, proposal, proposed_after

Context = grpc.aio.ServicerContext[Any, Any]
MAX_REFERENCE = 128
MAX_REASON = 500
MAX_LINES = 100
USUAL_PAGE = 100
LISTS_AT_ONCE, MAX_LISTS = 2, 100
"""Lists of transfers that are read at a time, for one caller and for all."""

TAKE_TURNS = 64
"""A question about a whole ledger lets others have their turn after this many entries: about 2 ms."""

log = structlog.get_logger()


class Desk(Protocol):
    """What the wallet does by itself and an operator may ask for. Raises Refused, Poison, EventLogError, WireError."""

    verdicts: Verdicts

    async def settle_from_log(self, table: str) -> None: ...

    async def hear_again(self, table: str, sitting_no: int) -> None: ...


class WalletServicer(rpc.WalletServiceServicer):
    """Thin: checks roles and ranges, submits one command to the currency's book."""

    def __init__(self, log: CommitLog, books: Mapping[str, Book], desk: Desk) -> None:
        self._log = log
        self._books = books
        self._desk = desk
        self._verdicts = desk.verdicts
        self._listing: Places[str] = Places(LISTS_AT_ONCE, MAX_LISTS, "lists of entries", Limit.LISTS)
        self._sums: dict[str, Sums] = {}

    def _book(self, currency: str) -> Book:
        book = self._books.get(currency)
        if book is None:
            raise Refused("UNKNOWN_CURRENCY", f"currency {currency[:8]!r}: want one of {', '.join(self._books)}")
        book.check_not_behind()
        return book

    # -------------------------------------------------------------- accounts

    async def OpenAccount(self, request: pb.OpenAccountRequest, context: Context) -> pb.OpenAccountResponse:
        who = require("player", "cashier", "operator")
        account = request.account or who.account
        if account != who.account:
            require("cashier", "operator")
        command = cmd.OpenAccount(require_account(account), require_request_id(request.request_id), who.account)
        done = await self._book(request.currency).submit(command)
        return pb.OpenAccountResponse(account=account, version=done.version)

    async def GetAccount(self, request: pb.GetAccountRequest, context: Context) -> pb.GetAccountResponse:
        account = self._own_or(request.account, "cashier", "operator", "auditor")
        return await self._book(request.currency).read(lambda state: self._view(state, account))

    def _view(self, state: Ledger, account: str) -> pb.GetAccountResponse:
        if account not in state.accounts:
            raise _unknown(account)
        answer = pb.GetAccountResponse(
            account=account,
            balance=state.balance(player(account)),
            frozen=account in state.frozen,
            version=state.version,
        )
        for table, sitting_no in sorted(state.at_tables.get(account, ())):
            blocked = state.sittings[table, sitting_no].life is SittingLife.BLOCKED or table in state.blocked
            answer.escrows.add(
                table=table,
                sitting_no=sitting_no,
                balance=state.balance(escrow(table, sitting_no)),
                held=blocked or self._verdicts.in_dispute(table, sitting_no),
            )
        return answer

    async def WatchAccount(  # type: ignore[override]  # writes through the context
        self, request: pb.WatchAccountRequest, context: Context
    ) -> None:
        account = self._own_or(request.account, "cashier", "operator", "auditor")
        after = request.after_version if request.HasField("after_version") else None
        if after is not None and after < 0:
            raise Refused("INVALID_FIELD", f"after_version {after}: want 0 or more", field="after_version", min="0")
        book = self._book(request.currency)
        await AccountWatch(self._log, book.clock, self._view).serve(
            book, account, _shown_to(account), after, context.write
        )

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
        if request.reference:
            require_text(request.reference, "reference", MAX_REFERENCE)
        request_id = require_request_id(request.request_id)
        command = kind(require_account(request.account), request.amount, request.reference, request_id, who.account)
        return await self._book(request.currency).submit(command)

    # ------------------------------------------------------------- reading

    async def ListTransfers(self, request: pb.ListTransfersRequest, context: Context) -> pb.ListTransfersResponse:
        account = self._own_or(request.account, "auditor", "operator", "cashier")
        size = page_size(request.page_size, page_size(request.limit, USUAL_PAGE, "limit"))
        question = ("transfers", request.currency, account)
        after = read_token(question, request.page_token, int)
        if after is None:
            after = request.after_version
        if after < 0:
            raise Refused("INVALID_FIELD", f"after_version {after}: want 0 or more", field="after_version", min="0")
        book = self._book(request.currency)

        def page(state: Ledger) -> tuple[list[int], bool] | None:
            if account not in state.accounts:
                return None
            versions = book.entries.page(account, after, size)
            return versions, bool(versions and book.entries.page(account, versions[-1], 1))

        found = await book.read(page)
        if found is None:
            raise _unknown(account)
        versions, more = found
        shown_to = _shown_to(account)
        with self._listing.hold(caller().account):
            transfers = await read_transfers(self._log, book, versions, account, shown_to)
        more_token = make_token(question, versions[-1]) if more else ""
        return pb.ListTransfersResponse(transfers=transfers, next_page_token=more_token)

    async def GetTrialBalance(self, request: pb.GetTrialBalanceRequest, context: Context) -> pb.GetTrialBalanceResponse:
        require("operator", "cashier", "auditor")
        size = page_size(request.page_size, MAX_PAGE)
        question = ("balances", request.currency)
        book = self._book(request.currency)
        until, after = read_token(question, request.page_token, tuple[int, str]) or (0, "")
        sums = self._sums_of(book)
        summed = await (sums.at(until) if until else sums.now())
        version = summed.head.version
        if version < until:
            raise wrong_token()  # it is of a ledger that went on from here otherwise
        first = bisect_right(summed.names, after)
        names = summed.names[first : first + size]
        more = make_token(question, (version, names[-1])) if len(summed.names) > first + size else ""
        return pb.GetTrialBalanceResponse(
            balances=[pb.Balance(account=name, balance=summed.balances[name]) for name in names],
            sum=summed.total,
            liabilities=summed.liabilities,
            version=version,
            next_page_token=more,
        )

    def _sums_of(self, book: Book) -> Sums:
        if book.currency not in self._sums:
            self._sums[book.currency] = Sums(self._log, book.stream, book.heavy, TAKE_TURNS)
        return self._sums[book.currency]

    # ----------------------------------------------------------- operators

    async def FreezeAccount(self, request: pb.FreezeAccountRequest, context: Context) -> pb.FreezeAccountResponse:
        who = require("operator")
        request_id = require_request_id(request.request_id)
        reason = require_text(request.reason, "reason", MAX_REASON)
        command = cmd.FreezeAccount(request.account, who.account, reason, request_id)
        done = await self._book(request.currency).submit(command)
        return pb.FreezeAccountResponse(version=done.version)

    async def UnfreezeAccount(self, request: pb.UnfreezeAccountRequest, context: Context) -> pb.UnfreezeAccountResponse:
        who = require("operator")
        request_id = require_request_id(request.request_id)
        reason = require_text(request.reason, "reason", MAX_REASON)
        command = cmd.UnfreezeAccount(request.account, who.account, reason, request_id)
        done = await self._book(request.currency).submit(command)
        return pb.UnfreezeAccountResponse(version=done.version)

    async def ResolveCashOut(self, request: pb.ResolveCashOutRequest, context: Context) -> pb.ResolveCashOutResponse:
        who = require("operator")
        request_id = require_request_id(request.request_id)
        reason = require_text(request.reason, "reason", MAX_REASON)
        if not 0 <= request.amount <= MAX_AMOUNT:
            text = f"amount {request.amount}: want 0 to {MAX_AMOUNT} minor units"
            raise Refused("INVALID_FIELD", text, field="amount", min="0", max=str(MAX_AMOUNT))
        book = self._book(request.currency)
        place = (require_table(request.table), request.sitting_no)
        command = cmd.ResolveCashOut(*place, request.amount, who.account, reason, request_id)
        done = await book.answered(command)
        if done is not None:  # whatever became of the sitting and its hands since
            return pb.ResolveCashOutResponse(decided=done.decided, version=done.version)
        await book.read(lambda state: _refuse_interest(state, command))
        await self._hear(book, *place)
        if self._verdicts.in_dispute(*place):
            # Paying now would leave the hand without an escrow to settle with.
            raise Refused("HAND_DISPUTED", f"sitting {request.sitting_no} is in a disputed hand: resolve that first")
        done = await book.submit(msgspec.structs.replace(command, after_hand=self._verdicts.last_hand(*place)))
        return pb.ResolveCashOutResponse(decided=done.decided, version=done.version)

    async def _hear(self, book: Book, table: str, sitting_no: int) -> None:
        """Read on what the referee has said; if no cash-out is known, also what the table has asked.

        Its request may have been dropped with the table's parked line. If all is well it is paid by this alone.
        """
        try:
            await self._desk.settle_from_log(table)
            sitting = book.state.sittings.get((table, sitting_no))
            if sitting is None or sitting.life is SittingLife.OPEN:
                await self._desk.hear_again(table, sitting_no)
        except (ChainBroken, WireError):
            text = "the referee's log of this table's shard cannot be trusted as it stands"
            raise Refused("LOG_BROKEN", text) from None
        except EventLogError:
            raise Refused("LOG_UNAVAILABLE", "the log cannot be read: try again with the same request_id") from None
        except Poison as why:  # it stands as it stood; the command is judged all the same
            log.warning("not_heard", table=table, sitting_no=sitting_no, why=str(why))

    async def Adjust(self, request: pb.AdjustRequest, context: Context) -> pb.AdjustResponse:
        who = require("operator")
        request_id = require_request_id(request.request_id)
        reference = require_text(request.reference, "reference", MAX_REASON)
        if len(request.postings) > MAX_LINES:
            text = f"{len(request.postings)} lines: want at most {MAX_LINES}"
            raise Refused("INVALID_ADJUSTMENT", text, field="postings", max=str(MAX_LINES))
        lines = tuple(ev.Posting(line.account, line.amount) for line in request.postings)
        book = self._book(request.currency)
        done = await book.submit(cmd.Adjust(lines, who.account, reference, request_id))
        if done.decided:
            for table in list(book.state.blocked):
                await self._settle_now(table)
        return pb.AdjustResponse(decided=done.decided, version=done.version)

    def _books_from(self, currency: str, after: str) -> list[Book]:
        """Return the book of a currency, or of all where none is named, from ``after`` on."""
        names = [currency] if currency else sorted(name for name in self._books if name >= after)
        return [self._book(name) for name in names]

    async def ListHeldCashOuts(
        self, request: pb.ListHeldCashOutsRequest, context: Context
    ) -> pb.ListHeldCashOutsResponse:
        require("operator", "auditor")
        table = require_table(request.table) if request.table else ""
        size = page_size(request.page_size, USUAL_PAGE)
        question = ("held", request.currency, table)
        behind = read_token(question, request.page_token, tuple[str, str, int]) or ("", "", 0)
        held: list[pb.HeldCashOut] = []
        for book in self._books_from(request.currency, behind[0]):
            after = behind[1:] if book.currency == behind[0] else ("", 0)
            left = size + 1 - len(held)
            held += await book.read(
                lambda state, book=book, after=after, left=left: [  # type: ignore[misc]
                    held_cash_out(book.currency, state, self._verdicts, place)
                    for place in held_after(state, after, table, left)
                ]
            )
        last = held[size - 1] if len(held) > size else None
        more = make_token(question, (last.currency, last.table, last.sitting_no)) if last is not None else ""
        return pb.ListHeldCashOutsResponse(held=held[:size], next_page_token=more)

    async def ListProposals(self, request: pb.ListProposalsRequest, context: Context) -> pb.ListProposalsResponse:
        require("operator", "auditor")
        size = page_size(request.page_size, USUAL_PAGE)
        question = ("proposals", request.currency)
        behind = read_token(question, request.page_token, tuple[str, int]) or ("", 0)
        told: list[pb.Proposal] = []
        with self._listing.hold(caller().account):
            for book in self._books_from(request.currency, behind[0]):
                after = behind[1] if book.currency == behind[0] else 0
                told += await self._proposals(book, after, size + 1 - len(told))
        last = told[size - 1] if len(told) > size else None
        more = make_token(question, (last.currency, last.version)) if last is not None else ""
        return pb.ListProposalsResponse(proposals=told[:size], next_page_token=more)

    async def _proposals(self, book: Book, after: int, most: int) -> list[pb.Proposal]:
        """Return proposals behind a version; when each was made stands in its commit alone."""
        found = await book.read(lambda state: proposed_after(state, after, most))
        by_version = {known.version: (known, counts) for known, counts in found}
        told: list[pb.Proposal] = []
        for first, number in runs(by_version):
            for stored in await self._log.read(book.stream, after=first - 1, limit=number):
                known, counts = by_version[stored.version]
                at_ms = decode_commit(stored.body).meta.at_ms
                told.append(proposal(book.currency, known, at_ms, counts=counts))
                book.heavy.worked(READ_S)
                await book.heavy.rest()
        return told

    async def _settle_now(self, table: str) -> None:
        """Try a blocked settlement again; whatever comes of it, the correction stands."""
        try:
            await self._desk.settle_from_log(table)
        except (Refused, Poison, EventLogError) as why:
            log.warning("not_settled", table=table, why=str(why))


def _refuse_interest(state: Ledger, command: cmd.Command) -> None:
    """Before anything is looked into; the ledger asks again when it decides."""
    refused = own_interest(state, command)
    if refused is not None:
        raise Refused(refused.reason, refused.text)


def _unknown(account: str) -> Refused:
    return Refused("UNKNOWN_ACCOUNT", f"there is no account {account[:64]!r}: open it first")


def _shown_to(account: str) -> str:
    """Return who must not see other players' accounts: a player who looks at their own; empty for the house."""
    return account if caller().account == account else ""

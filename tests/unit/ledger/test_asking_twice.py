"""Every call that writes to a wallet, at any later moment again: its first answer comes again and nothing is booked.

Over gRPC, after each further call and over a restart; also a call that had nothing to change (ADR 0007).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import msgspec
import pytest

from stud.events.v1 import ledger_events_pb2 as lpb
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_client.errors import from_rpc
from stud_core.ledger import events as ev
from stud_eventlog.memory import MemoryEventLog
from tests.support.wallet import Floor, Office, buy_in, cash_out, disputed, verified, who, working

T = "t-1"
GIFT = [lpb.Posting(account="house:cashier", amount=-5), lpb.Posting(account="player:ann", amount=5)]
OTHER_GIFT = [lpb.Posting(account="house:cashier", amount=-6), lpb.Posting(account="player:ann", amount=6)]
CASHIER, FIRST, SECOND, ANN = who("cash", "cashier"), who("op-1", "operator"), who("op-2", "operator"), who("ann")


class Call(msgspec.Struct, frozen=True):
    """An accepted call and its answer. ``other`` are fields that make another request of it."""

    method: str
    metadata: Any
    fields: dict[str, Any]
    other: dict[str, Any]
    answer: Any

    async def again(self, wallet: rpc.WalletServiceStub, **changed: Any) -> Any:
        return await send(wallet, self.method, self.metadata, self.fields | changed)


async def send(wallet: rpc.WalletServiceStub, method: str, metadata: Any, fields: dict[str, Any]) -> Any:
    kind: Any = getattr(pb, f"{method}Request")
    return await getattr(wallet, method)(kind(currency="EUR", **fields), metadata=metadata)


class Asking:
    """Makes calls and makes them again. A call is everything that may be changed about it, too."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.wallet: rpc.WalletServiceStub
        self.office: Office

    @asynccontextmanager
    async def at(self, log: MemoryEventLog) -> AsyncIterator[None]:
        async with working(log) as self.office, self.office.open_to_callers() as self.wallet:
            yield

    async def ask(self, method: str, metadata: Any, other: dict[str, Any] | None = None, **fields: Any) -> Any:
        fields = {"request_id": f"r-{len(self.calls)}"} | fields
        answer = await send(self.wallet, method, metadata, fields)
        self.calls.append(Call(method, metadata, fields, other or {}, answer))
        await self.ask_all_again()
        return answer

    async def ask_all_again(self) -> None:
        book = self.office.app.books["EUR"]
        head, balances = book.head, dict(book.state.balances)
        for call in self.calls:
            assert await call.again(self.wallet) == call.answer, call
            if call.other:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await call.again(self.wallet, **call.other)
                assert from_rpc(refused.value).reason == "REQUEST_ID_REUSED", call
        assert (book.head, dict(book.state.balances)) == (head, balances)


async def test_whatever_writes_to_a_wallet_is_done_once_however_late_it_comes_again(log: MemoryEventLog, floor: Floor):
    asking = Asking()
    ask = asking.ask
    async with asking.at(log):
        await ask("OpenAccount", ANN)
        await ask("OpenAccount", ANN)  # with an id of its own, and nothing to open
        await ask("OpenAccount", CASHIER, {"account": "cy"}, account="bob")
        await ask("OpenAccount", CASHIER, {"account": "cy"}, account="bob")
        await ask("Deposit", CASHIER, {"amount": 1001}, account="ann", amount=1000, reference="card")
        await ask("Deposit", CASHIER, {"reference": "bank"}, account="bob", amount=1000, reference="card")
        await ask("Withdraw", CASHIER, {"amount": 401}, account="ann", amount=400)
        for account in ("bob", "bob", "ann"):  # the second has nothing to freeze
            await ask("FreezeAccount", FIRST, {"reason": "other"}, account=account, reason="seen")
        for account in ("bob", "ann"):
            await ask("UnfreezeAccount", FIRST, {"account": "cy"}, account=account, reason="seen")
        assert not asking.office.app.books["EUR"].state.frozen
        assert "cy" not in asking.office.app.books["EUR"].state.accounts
        for operator in (FIRST, SECOND):
            await ask("Adjust", operator, {"postings": OTHER_GIFT}, postings=GIFT, reference="ticket")
        await floor.say(T, buy_in(1, "ann"), buy_in(2, "bob"))
        await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded)
        await floor.say(T, cash_out(1, "ann", 499))
        await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashOutBlocked)
        resolving: dict[str, Any] = {"table": T, "sitting_no": 1, "amount": 499, "reason": "seen"}
        proposed = await ask("ResolveCashOut", FIRST, {"amount": 500}, **resolving)
        await floor.judge(disputed(T, 1, (1, "ann", -5), (2, "bob", 5)))
        await asking.ask_all_again()  # what was proposed was, though nobody could propose it now
        assert not proposed.decided
    async with asking.at(log):
        await asking.ask_all_again()


async def test_what_two_operators_decided_is_answered_though_the_sitting_is_paid(log: MemoryEventLog, floor: Floor):
    asking = Asking()
    async with asking.at(log):
        await asking.ask("OpenAccount", ANN)
        await asking.ask("Deposit", CASHIER, account="ann", amount=1000)
        await floor.say(T, buy_in(1, "ann"))
        await floor.say(T, cash_out(1, "ann", 499))
        await floor.hears(T, ev.BuyInFunded, ev.CashOutBlocked)
        fields: dict[str, Any] = {"table": T, "sitting_no": 1, "amount": 499, "reason": "seen"}
        answers = [await asking.ask("ResolveCashOut", who, {"amount": 500}, **fields) for who in (FIRST, SECOND)]
        assert [answer.decided for answer in answers] == [False, True]
        await floor.judge(verified(T, 1))
        await floor.wrote(ev.HandSettled, 1)
        await asking.ask_all_again()
    async with asking.at(log):
        await asking.ask_all_again()
        assert asking.office.app.books["EUR"].state.balance("player:ann") == 999


async def test_who_opens_their_own_account_again_and_again_writes_nothing(log: MemoryEventLog):
    """Every client does it at its start. The answer is that of the call that opened it."""
    asking = Asking()
    async with asking.at(log):
        first = await asking.ask("OpenAccount", ANN)
        await asking.ask("OpenAccount", who("bob"))
        head = asking.office.app.books["EUR"].head
        for _ in range(3):
            assert await asking.ask("OpenAccount", ANN) == first
        assert asking.office.app.books["EUR"].head == head
    async with asking.at(log):
        assert await asking.ask("OpenAccount", ANN) == first


async def test_a_deposit_is_the_accounts_whoever_books_it(log: MemoryEventLog):
    asking = Asking()
    async with asking.at(log):
        await asking.ask("OpenAccount", ANN)
        first = await asking.ask("Deposit", CASHIER, account="ann", amount=1000, request_id="r")
        again = await send(asking.wallet, "Deposit", who("other", "cashier"), asking.calls[-1].fields)
        assert again == first

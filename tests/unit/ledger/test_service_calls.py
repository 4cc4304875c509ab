"""WalletService over gRPC: who may do what, what is refused, and that a repeated call answers the first result."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from stud.events.v1 import ledger_events_pb2 as lpb
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_client.errors import StudError, from_rpc
from stud_core.ledger import events as ev
from stud_eventlog.memory import MemoryEventLog
from tests.support.wallet import Floor, Office, buy_in, cash_out, verified, who, working

T = "t-1"
CASHIER = who("cash", "cashier")
OPERATOR = who("op-1", "operator")
SECOND = who("op-2", "operator")
AUDITOR = who("eve", "auditor")
ANN = who("ann")
BOB = who("bob")


class Desk:
    """A wallet at work, its floor, and a stub to call it."""

    def __init__(self, office: Office, floor: Floor, wallet: rpc.WalletServiceStub) -> None:
        self.office, self.floor, self.wallet = office, floor, wallet
        self.numbers = 0

    def id(self) -> str:
        self.numbers += 1
        return f"r-{self.numbers}"

    async def deposit(self, account: str = "ann", amount: int = 1000, **fields: Any) -> pb.DepositResponse:
        fields = {"currency": "EUR", "request_id": self.id(), "reference": "card"} | fields
        request = pb.DepositRequest(account=account, amount=amount, **fields)
        return await self.wallet.Deposit(request, metadata=CASHIER)

    async def withdraw(self, account: str = "ann", amount: int = 1000, **fields: Any) -> pb.WithdrawResponse:
        fields = {"currency": "EUR", "request_id": self.id(), "reference": "bank"} | fields
        request = pb.WithdrawRequest(account=account, amount=amount, **fields)
        return await self.wallet.Withdraw(request, metadata=CASHIER)

    async def account(self, account: str = "", metadata: Any = ANN) -> pb.GetAccountResponse:
        return await self.wallet.GetAccount(pb.GetAccountRequest(currency="EUR", account=account), metadata=metadata)

    async def transfers(self, account: str = "", metadata: Any = ANN, **fields: Any) -> list[pb.Transfer]:
        request = pb.ListTransfersRequest(currency="EUR", account=account, **fields)
        return list((await self.wallet.ListTransfers(request, metadata=metadata)).transfers)

    async def freeze(self, account: str = "ann", **fields: Any) -> pb.FreezeAccountResponse:
        fields = {"currency": "EUR", "reason": "looked at", "request_id": self.id()} | fields
        return await self.wallet.FreezeAccount(pb.FreezeAccountRequest(account=account, **fields), metadata=OPERATOR)

    async def unfreeze(self, account: str = "ann", **fields: Any) -> pb.UnfreezeAccountResponse:
        fields = {"currency": "EUR", "reason": "looked at", "request_id": self.id()} | fields
        request = pb.UnfreezeAccountRequest(account=account, **fields)
        return await self.wallet.UnfreezeAccount(request, metadata=OPERATOR)

    async def resolve(self, operator: Any, amount: int, **fields: Any) -> pb.ResolveCashOutResponse:
        defaults: dict[str, Any] = {"currency": "EUR", "table": T, "sitting_no": 1, "reason": "seen"}
        fields = defaults | {"request_id": self.id()} | fields
        return await self.wallet.ResolveCashOut(pb.ResolveCashOutRequest(amount=amount, **fields), metadata=operator)

    async def adjust(self, operator: Any, amount: int = 5, **fields: Any) -> pb.AdjustResponse:
        fields = {"currency": "EUR", "reference": "ticket", "request_id": self.id()} | fields
        lines = [
            lpb.Posting(account="house:cashier", amount=-amount), lpb.Posting(account="player:ann", amount=amount),
        ]  # fmt: skip
        fields.setdefault("postings", lines)
        return await self.wallet.Adjust(pb.AdjustRequest(**fields), metadata=operator)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    log = MemoryEventLog()
    async with working(log) as office, office.open_to_callers() as wallet:
        await office.fund(ann=0, bob=0)
        yield Desk(office, Floor(log), wallet)
    await log.close()


async def refused(reason: str, call: Any) -> StudError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    error = from_rpc(caught.value)
    assert error.reason == reason, error
    return error


async def seated(desk: Desk) -> None:
    for number, account in enumerate(("ann", "bob"), 1):
        await desk.deposit(account)
        await desk.floor.say(T, buy_in(number, account))
    await desk.floor.hears(T, ev.BuyInFunded, ev.BuyInFunded)


# ---------------------------------------------------------------- accounts


async def test_players_open_their_own_account_and_staff_any(desk: Desk):
    async def open_(account: str, metadata: Any) -> str:
        request = pb.OpenAccountRequest(currency="EUR", account=account, request_id=desk.id())
        return (await desk.wallet.OpenAccount(request, metadata=metadata)).account

    assert await open_("", who("cy")) == "cy"
    assert await open_("cy", who("cy")) == "cy"
    assert await open_("dan", CASHIER) == "dan"
    assert await open_("eli", OPERATOR) == "eli"
    await refused("ROLE_NOT_ALLOWED", open_("fay", who("cy")))
    await refused("ROLE_NOT_ALLOWED", open_("", AUDITOR))
    for name in ("", "a" * 65, "a b", "a:b", "-a", "ä"):
        if name:
            assert (await refused("INVALID_FIELD", open_(name, CASHIER))).metadata["field"] == "account"


async def test_an_account_shows_money_at_home_and_at_tables(desk: Desk):
    await seated(desk)
    answer = await desk.account()
    assert (answer.account, answer.balance, answer.frozen) == ("ann", 500, False)
    assert [(e.table, e.sitting_no, e.balance, e.held) for e in answer.escrows] == [(T, 1, 500, False)]
    await desk.floor.say(T, cash_out(1, "ann", 499))
    await desk.floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashOutBlocked)
    assert (await desk.account()).escrows[0].held
    await desk.floor.say(T, cash_out(2, "bob", 500))
    await desk.floor.wrote(ev.CashedOut)
    assert not (await desk.account(metadata=BOB)).escrows


async def test_an_escrow_is_held_while_a_settlement_is_blocked(desk: Desk):
    await seated(desk)
    await desk.floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)))
    await desk.floor.wrote(ev.SettlementBlocked)
    assert (await desk.account()).escrows[0].held


async def test_accounts_are_private(desk: Desk):
    await refused("ROLE_NOT_ALLOWED", desk.account("bob"))
    await refused("ROLE_NOT_ALLOWED", desk.transfers("bob"))
    for metadata in (CASHIER, OPERATOR, AUDITOR):
        assert (await desk.account("bob", metadata)).account == "bob"
        assert await desk.transfers("bob", metadata) == []
    await refused("UNKNOWN_ACCOUNT", desk.account("", who("ghost")))
    await refused("UNKNOWN_ACCOUNT", desk.transfers("", who("ghost")))
    await refused("UNAUTHENTICATED", desk.account(metadata=()))


# ------------------------------------------------------------- money in and out


async def test_a_cashier_books_money_in_and_out(desk: Desk):
    first = await desk.deposit(amount=300)
    second = await desk.withdraw(amount=100)
    assert (first.balance, second.balance) == (300, 200)
    assert second.version == first.version + 1


async def test_a_repeated_booking_answers_the_first_result(desk: Desk):
    first = await desk.deposit(amount=300, request_id="same")
    await desk.deposit(amount=50)
    again = await desk.deposit(amount=300, request_id="same")
    assert (again.balance, again.version) == (first.balance, first.version)
    assert (await desk.account()).balance == 350
    await refused("REQUEST_ID_REUSED", desk.deposit(amount=301, request_id="same"))
    await refused("REQUEST_ID_REUSED", desk.withdraw(amount=300, request_id="same"))
    gone = await desk.withdraw(amount=350, request_id="out")
    assert (await desk.withdraw(amount=350, request_id="out")).version == gone.version


async def test_bookings_are_refused_with_what_would_be_right(desk: Desk):
    await desk.deposit(amount=10)
    for amount in (0, -5, 10**15 + 1, 2**63 - 1, -(2**63)):
        for call in (desk.deposit, desk.withdraw):
            error = await refused("INVALID_FIELD", call(amount=amount))
            assert (error.metadata["field"], error.metadata["min"]) == ("amount", "1")
            assert int(error.metadata["max"]) >= 10**15
    assert (await refused("INSUFFICIENT_FUNDS", desk.withdraw(amount=11))).metadata["balance"] == "10"
    await refused("UNKNOWN_ACCOUNT", desk.deposit("ghost"))
    await refused("INVALID_FIELD", desk.deposit("a b"))
    for reference in ("x" * 129, "a\nb", "\x1b[31mred", "nul\x00", "  "):  # it ends up on somebody's terminal
        await refused("INVALID_FIELD", desk.deposit(reference=reference))
    await refused("REQUEST_ID_REQUIRED", desk.deposit(request_id=""))
    await refused("REQUEST_ID_REQUIRED", desk.withdraw(request_id="x" * 65))
    assert (await refused("UNKNOWN_CURRENCY", desk.deposit(currency="JPY"))).code is grpc.StatusCode.INVALID_ARGUMENT
    assert (await desk.account()).balance == 10


@pytest.mark.parametrize("metadata", [ANN, OPERATOR, AUDITOR])
async def test_only_cashiers_book(desk: Desk, metadata: Any):
    request = pb.DepositRequest(currency="EUR", account="ann", amount=5, request_id="r")
    await refused("ROLE_NOT_ALLOWED", desk.wallet.Deposit(request, metadata=metadata))
    request_out = pb.WithdrawRequest(currency="EUR", account="ann", amount=5, request_id="r")
    await refused("ROLE_NOT_ALLOWED", desk.wallet.Withdraw(request_out, metadata=metadata))


async def test_a_frozen_account_withdraws_nothing(desk: Desk):
    await desk.deposit()
    await desk.freeze()
    assert (await desk.account()).frozen
    await refused("ACCOUNT_FROZEN", desk.withdraw())
    await desk.deposit()
    await desk.unfreeze()
    assert (await desk.withdraw(amount=2000)).balance == 0
    await refused("ACCOUNT_NOT_FROZEN", desk.unfreeze())


async def test_freezing_is_for_operators_with_a_reason(desk: Desk):
    await refused("INVALID_FIELD", desk.freeze(reason=" "))
    await refused("INVALID_FIELD", desk.unfreeze(reason="x" * 501))
    await refused("REQUEST_ID_REQUIRED", desk.freeze(request_id=""))
    await refused("UNKNOWN_ACCOUNT", desk.freeze("ghost"))
    request = pb.FreezeAccountRequest(currency="EUR", account="ann", reason="r", request_id="r")
    await refused("ROLE_NOT_ALLOWED", desk.wallet.FreezeAccount(request, metadata=CASHIER))
    request_back = pb.UnfreezeAccountRequest(currency="EUR", account="ann", reason="r", request_id="r")
    await refused("ROLE_NOT_ALLOWED", desk.wallet.UnfreezeAccount(request_back, metadata=ANN))


# ------------------------------------------------------------------ reading


async def test_transfers_are_listed_oldest_first_with_lines_that_sum_to_zero(desk: Desk):
    await seated(desk)
    await desk.floor.judge(verified(T, 1, (1, "ann", -100), (2, "bob", 95), rake=5))
    await desk.floor.wrote(ev.HandSettled)
    await desk.floor.say(T, cash_out(1, "ann", 400, 1))
    await desk.floor.wrote(ev.CashedOut)
    listed = await desk.transfers()
    assert [transfer.kind for transfer in listed] == ["Deposited", "BuyInFunded", "HandSettled", "CashedOut"]
    assert all(sum(line.amount for line in transfer.postings) == 0 for transfer in listed)
    assert (listed[0].reference, listed[2].table, listed[2].hand_no) == ("card", T, 1)
    assert listed[0].at_ms == desk.office.now_ms
    assert [t.version for t in listed] == sorted(t.version for t in listed)
    later = await desk.transfers(after_version=listed[1].version)
    assert [transfer.kind for transfer in later] == ["HandSettled", "CashedOut"]
    assert len(await desk.transfers(limit=2)) == 2
    assert [t.kind for t in await desk.transfers("bob", AUDITOR)] == ["Deposited", "BuyInFunded", "HandSettled"]


async def test_corrections_are_listed(desk: Desk):
    await desk.adjust(OPERATOR)
    await desk.adjust(SECOND)
    (listed,) = await desk.transfers()
    assert (listed.kind, listed.reference) == ("Adjusted", "ticket")


@pytest.mark.parametrize("wrong", [{"limit": -1}, {"limit": 1001}, {"after_version": -1}])
async def test_a_list_has_limits_and_names_the_field_that_is_outside(desk: Desk, wrong: dict[str, Any]):
    (field,) = wrong
    assert (await refused("INVALID_FIELD", desk.transfers(**wrong))).metadata["field"] == field


async def test_the_trial_balance_is_zero_and_knows_what_is_owed(desk: Desk):
    await seated(desk)
    await desk.floor.judge(verified(T, 1, (1, "ann", -100), (2, "bob", 95), rake=5))
    await desk.floor.wrote(ev.HandSettled)
    request = pb.GetTrialBalanceRequest(currency="EUR")
    for metadata in (OPERATOR, CASHIER, AUDITOR):
        answer = await desk.wallet.GetTrialBalance(request, metadata=metadata)
        assert {line.account: line.balance for line in answer.balances} == {
            "player:ann": 500, "player:bob": 500, f"escrow:{T}:1": 400, f"escrow:{T}:2": 595,
            "house:rake": 5, "house:cashier": -2000,
        }  # fmt: skip
        assert (answer.sum, answer.liabilities) == (0, 1995)
        assert answer.version == (await desk.account()).version
    await refused("ROLE_NOT_ALLOWED", desk.wallet.GetTrialBalance(request, metadata=ANN))
    unknown = pb.GetTrialBalanceRequest(currency="JPY")
    await refused("UNKNOWN_CURRENCY", desk.wallet.GetTrialBalance(unknown, metadata=AUDITOR))


async def test_the_trial_balance_comes_from_the_log_not_from_memory(desk: Desk):
    await desk.deposit()
    desk.office.app.books["EUR"].state.balances["player:ann"] = 7
    answer = await desk.wallet.GetTrialBalance(pb.GetTrialBalanceRequest(currency="EUR"), metadata=AUDITOR)
    assert {line.account: line.balance for line in answer.balances}["player:ann"] == 1000


async def test_an_empty_ledger_is_balanced(desk: Desk):
    answer = await desk.wallet.GetTrialBalance(pb.GetTrialBalanceRequest(currency="XTS"), metadata=AUDITOR)
    assert (answer.sum, answer.liabilities, answer.version, len(answer.balances)) == (0, 0, 0, 0)


# ------------------------------------------------------------- two operators


async def test_a_blocked_cash_out_needs_two_operators(desk: Desk):
    await seated(desk)
    await refused("NOTHING_BLOCKED", desk.resolve(OPERATOR, 450))
    await desk.floor.say(T, cash_out(1, "ann", 450))
    await desk.floor.wrote(ev.CashOutBlocked)
    assert not (await desk.resolve(OPERATOR, 450)).decided
    await refused("SECOND_OPERATOR_REQUIRED", desk.resolve(OPERATOR, 450))
    assert (await desk.resolve(SECOND, 450)).decided
    assert (await desk.account()).balance == 950
    await refused("NOTHING_BLOCKED", desk.resolve(OPERATOR, 450))


async def test_a_resolution_has_limits(desk: Desk):
    for amount in (-1, 10**15 + 1):
        await refused("INVALID_FIELD", desk.resolve(OPERATOR, amount))
    await refused("INVALID_FIELD", desk.resolve(OPERATOR, 5, reason=""))
    await refused("REQUEST_ID_REQUIRED", desk.resolve(OPERATOR, 5, request_id=""))
    for metadata in (ANN, CASHIER, AUDITOR):
        await refused("ROLE_NOT_ALLOWED", desk.resolve(metadata, 5))


async def test_a_correction_needs_two_operators(desk: Desk):
    assert not (await desk.adjust(OPERATOR)).decided
    await refused("SECOND_OPERATOR_REQUIRED", desk.adjust(OPERATOR))
    assert (await desk.account()).balance == 0
    assert (await desk.adjust(SECOND)).decided
    assert (await desk.account()).balance == 5


async def test_a_correction_has_limits(desk: Desk):
    await refused("INVALID_ADJUSTMENT", desk.adjust(OPERATOR, postings=[]))
    one = lpb.Posting(account="house:rake", amount=1)
    await refused("INVALID_ADJUSTMENT", desk.adjust(OPERATOR, postings=[one] * 101))
    await refused("INVALID_FIELD", desk.adjust(OPERATOR, reference=""))
    await refused("REQUEST_ID_REQUIRED", desk.adjust(OPERATOR, request_id=""))
    for metadata in (ANN, CASHIER, AUDITOR):
        await refused("ROLE_NOT_ALLOWED", desk.adjust(metadata))
